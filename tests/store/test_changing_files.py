"""Files that change while they are read: a result is stored under the fingerprint of the content it is from."""

import os
import shutil
from pathlib import Path

import pytest

import framesift as fs
from framesift.store.events import search_events
from framesift.store.fingerprint import fingerprint
from framesift.store.store import INDEX, Store
from framesift.text import ocr, speech
from framesift.video.timeline import read_timeline
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.sounds import noise, write_sound

SECONDS = 150  # one part is stored before the end


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Two videos of the same length; Matroska can be read when it is cut or still written."""
    folder = tmp_path_factory.mktemp("originals")
    return [make_clip(folder / f"{seed}.mkv", seconds=SECONDS, seed=seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def fresh_payload(tmp_path_factory):
    """The index of a file's content, made where nothing changes; None if there can be none."""
    made = {}

    def payload(path):
        content = fingerprint(path)
        if content not in made:
            folder = tmp_path_factory.mktemp("fresh")
            copy = shutil.copy(path, folder / path.name)
            try:
                fs.index(copy, GridEncoder(), 1.0, store=folder / "store")
                made[content] = next((folder / "store").rglob(INDEX)).read_bytes()
            except fs.FramesiftError:
                made[content] = None
        return made[content]

    return payload


def replace(clip, other):
    os.replace(shutil.copy(other, clip.with_suffix(".new")), clip)


def overwrite(clip, other):
    clip.write_bytes(other.read_bytes())


def overwrite_keeping_times(clip, other):
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
    os.utime(clip)


def replace_and_put_back(clip, other):
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
    def picture_side(self):
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


def stored_payloads(store):
    return {path.parents[1].name: path.read_bytes() for path in Path(store).rglob(INDEX)}


@pytest.mark.parametrize("change", CHANGES)
def test_index_is_that_of_the_file_after_the_change(originals, fresh_payload, tmp_path, caplog, change):
    for batch in (-1, 0, 4, 8, 9):
        folder = tmp_path / str(batch)
        folder.mkdir()
        clip = Path(shutil.copy(originals[0], folder / "clip.mkv"))
        encoder = ChangingEncoder(lambda clip=clip: change(clip, originals[1]), [batch])
        caplog.clear()
        fs.index(clip, encoder, 1.0, store=folder / "store")
        assert stored_payloads(folder / "store") == {fingerprint(clip): fresh_payload(clip)}, batch
        assert caplog.messages == [
            f"{clip} changed while it was read; what was computed from it is discarded and computed again"
        ]


def test_file_swapped_only_while_it_is_opened_is_noticed(originals, fresh_payload, tmp_path):
    clip = Path(shutil.copy(originals[0], tmp_path / "clip.mkv"))
    aside = tmp_path / "aside.mkv"

    def swap():
        if aside.exists():
            aside.replace(clip)
        else:
            clip.rename(aside)
            shutil.copy(originals[1], clip)

    fs.index(clip, ChangingEncoder(swap, [-1, 0]), 1.0, store=tmp_path / "store")
    assert stored_payloads(tmp_path / "store") == {fingerprint(clip): fresh_payload(originals[0])}


def test_file_that_changes_twice_is_one_error_and_nothing_is_stored(originals, tmp_path):
    for change in (replace, overwrite, cut, grow, touch):
        clip = Path(shutil.copy(originals[0], tmp_path / f"{change.__name__}.mkv"))
        others = iter([originals[1], originals[0]])
        encoder = ChangingEncoder(lambda clip=clip, change=change, o=others: change(clip, next(o)), [8, 12])
        with pytest.raises(fs.InputError, match="is being written: it changed again while it was read; try again when"):
            fs.index(clip, encoder, 1.0, store=tmp_path / "store")
        assert list(Store(tmp_path / "store").entries()) == []


def test_file_that_is_removed_while_it_is_read_is_one_error(originals, tmp_path):
    clip = Path(shutil.copy(originals[0], tmp_path / "clip.mkv"))
    with pytest.raises(fs.InputError, match="does not exist"):
        fs.index(clip, ChangingEncoder(clip.unlink, [3]), 1.0, store=tmp_path / "store")
    assert list(Store(tmp_path / "store").entries()) == []


def test_unreadable_replacement_is_the_error_of_that_file(originals, tmp_path):
    clip = Path(shutil.copy(originals[0], tmp_path / "clip.mkv"))
    with pytest.raises(fs.InputError, match="expected a video"):
        fs.index(clip, ChangingEncoder(lambda: clip.write_text("no video"), [-1]), 1.0, store=tmp_path / "store")
    assert list(Store(tmp_path / "store").entries()) == []


@pytest.fixture
def recognisers(monkeypatch):
    """Speech and screen text without models: the event names the content that was read."""

    def set_change(change):
        def recognise(path, **options):
            event = fs.Event(1.0, 2.0, fingerprint(path))
            change()
            return [event]

        monkeypatch.setattr(speech, "available", lambda: (True, ""))
        monkeypatch.setattr(speech, "engine_name", lambda engine="auto": "fake")
        monkeypatch.setattr(speech, "recognise", recognise)
        monkeypatch.setattr(ocr, "available", lambda: (True, ""))
        monkeypatch.setattr(
            ocr, "read_screen", lambda frames, **options: (list(frames), recognise(frames.info.path))[1]
        )

    return set_change


@pytest.fixture(scope="module")
def with_sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    return [write_sound(folder / f"{k}.mkv", noise(2.0, level), pictures_s=2.0) for k, level in enumerate((0.1, 0.2))]


KINDS = ({"recognise_speech": True}, {"recognise_speech": False, "screen_text": True})


@pytest.mark.parametrize("kind", KINDS)
def test_recognised_text_is_that_of_the_file_after_the_change(with_sound, tmp_path, recognisers, caplog, kind):
    for change in CHANGES:
        folder = tmp_path / change.__name__
        folder.mkdir()
        clip = Path(shutil.copy(with_sound[0], folder / "clip.mkv"))
        pending = [change]
        recognisers(lambda clip=clip, pending=pending: pending and pending.pop()(clip, with_sound[1]))
        found = search_events(clip, store=folder / "store", **kind)
        assert [event.text for event in found.events] == [fingerprint(clip)]
        (entry,) = Store(folder / "store").entries()
        assert entry.folder.parent.name == fingerprint(clip)
        assert Store(folder / "store").load_events(fingerprint(clip), entry.manifest["made_by"]) == list(found.events)
    assert len(caplog.messages) == len(CHANGES)


@pytest.mark.parametrize("kind", KINDS)
def test_text_of_a_file_that_changes_twice_is_not_stored(with_sound, tmp_path, recognisers, kind):
    clip = Path(shutil.copy(with_sound[0], tmp_path / "clip.mkv"))
    recognisers(lambda: touch(clip, None))
    with pytest.raises(fs.InputError, match="is being written"):
        search_events(clip, store=tmp_path / "store", **kind)
    assert list(Store(tmp_path / "store").entries()) == []


def test_timeline_of_an_earlier_file_at_the_same_path_is_not_used(originals, tmp_path):
    clip = Path(shutil.copy(originals[0], tmp_path / "clip.mkv"))
    before = read_timeline(clip)
    overwrite_keeping_times(clip, originals[1])
    assert read_timeline(clip) is not before


def test_pictures_of_a_subtitle_file_that_changes_are_read_again(with_sound, tmp_path, monkeypatch):
    clip = Path(shutil.copy(with_sound[0], tmp_path / "clip.mkv"))
    pictures = tmp_path / "clip.sup"
    pictures.write_bytes(b"first")

    def read(path, **options):
        event = fs.Event(1.0, 2.0, path.read_text())
        if event.text == "first":
            path.write_bytes(b"second")
        return [event], ()

    monkeypatch.setattr(ocr, "available", lambda: (True, ""))
    monkeypatch.setattr("framesift.store.events.picture_languages", lambda path: ())
    monkeypatch.setattr("framesift.store.events.read_picture_file", read)
    found = search_events(clip, subtitles=pictures, store=tmp_path / "store")
    assert [event.text for event in found.events] == ["second"]
    (entry,) = Store(tmp_path / "store").entries()
    assert entry.folder.parent.name == fingerprint(pictures)
