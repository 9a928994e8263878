"""Ways in which a file changes while it is read, and an encoder that makes it change at a chosen batch."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import framesift as fs
from framesift.store.fingerprint import fingerprint
from framesift.store.store import INDEX
from framesift.video.timeline import read_timeline
from helpers.encoders import GridEncoder


def let_clock_advance(clip):
    """Wait until a change of the file has another time than its last one: file systems have clocks of milliseconds."""
    while True:
        with tempfile.NamedTemporaryFile(dir=clip.parent) as new:
            if os.stat(new.name).st_ctime_ns > clip.stat().st_ctime_ns:
                return


def replace(clip, other):
    os.replace(shutil.copy(other, clip.with_suffix(".new")), clip)


def overwrite(clip, other):
    let_clock_advance(clip)
    clip.write_bytes(other.read_bytes())


def overwrite_keeping_times(clip, other):
    let_clock_advance(clip)
    before = clip.stat()
    data = other.read_bytes()[: before.st_size]
    with clip.open("r+b") as file:
        file.write(data)
    os.utime(clip, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut(clip, other):
    os.truncate(clip, clip.stat().st_size // 2)


def grow(clip, other):
    with clip.open("ab") as file:
        file.write(other.read_bytes()[:5000])


def touch(clip, other):
    let_clock_advance(clip)
    os.utime(clip)


def replace_and_put_back(clip, other):
    let_clock_advance(clip)
    aside = clip.rename(clip.with_suffix(".aside"))
    shutil.copy(other, clip)
    read_timeline(clip)
    aside.replace(clip)


CHANGES = (replace, overwrite, overwrite_keeping_times, cut, grow, touch, replace_and_put_back)


class ChangingEncoder(GridEncoder):
    """Changes the file when the given batches are encoded; batch -1 is before the file is opened for decoding."""

    def __init__(self, change, batches):
        super().__init__()
        self.change, self.batches, self.count = change, set(batches), 0

    @property
    def image_side(self):
        self.change_at(-1)
        return None

    def encode_images(self, images):
        vectors = super().encode_images(images)
        self.change_at(self.count)
        self.count += 1
        return vectors

    def change_at(self, batch):
        if batch in self.batches:
            self.batches.remove(batch)
            self.change()


def fresh_payload(path, folder):
    """The index of a file's content, made once in a folder where nothing changes; None if there can be none."""
    store = Path(folder) / fingerprint(path)
    if not store.exists():
        store.mkdir(parents=True)
        with suppress(fs.FramesiftError):
            fs.index(path, GridEncoder(), 1.0, store=store)
    return next(iter(stored_payloads(store).values()), None)


def stored_payloads(store):
    return {path.parents[1].name: path.read_bytes() for path in Path(store).rglob(INDEX)}
