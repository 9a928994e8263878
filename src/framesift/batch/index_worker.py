"""One video of many, inside a worker: fetched if it is elsewhere, indexed by the same call as any other."""

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from framesift.batch.executors.base import Task, Tell
from framesift.batch.listing import is_url
from framesift.batch.remote_files import local_copy
from framesift.encoders.base import get_encoder, identify
from framesift.errors import FramesiftError
from framesift.store.events import AUTO, search_events
from framesift.store.fingerprint import fingerprint
from framesift.store.indexing import Fps, Mode, index
from framesift.store.store import INDEX, Key, Store
from framesift.store.text_vectors import kept_vectors
from framesift.types import VideoIndex

EVENTS = "corpus"  # the name under which a corpus keeps its videos' text


@dataclass(frozen=True)
class Settings:
    """How every video of a run is indexed. events: keep the text beside or inside videos, for `search`."""

    store: str
    encoder: str
    encoder_fingerprint: str
    fps: Fps
    mode: Mode
    device: str = "auto"
    events: bool = True

    def key(self, video: str) -> Key:
        rate = "auto" if self.fps == "auto" else f"{float(self.fps):g}"
        return Key(video, self.encoder, self.encoder_fingerprint, rate, self.mode)


class IndexWork:
    """Indexes videos; the encoder is loaded at the first that needs it, and stays."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = Settings(**settings)
        self.store = Store(self.settings.store)
        name, mark = identify(self.settings.encoder)
        if mark != self.settings.encoder_fingerprint:
            raise FramesiftError(
                f"the weights of {name} on this machine are others than on the one that started the run; "
                "install the same everywhere"
            )

    def __call__(self, task: Task, tell: Tell) -> dict[str, Any]:
        path = task.name
        with at_hand(path, tell) as file:
            mark = stamp(path)
            video = fingerprint(file)
            moved = False

            def watch(done: int, expected: int) -> None:
                nonlocal moved
                moved = True
                tell(done, expected)

            made = self._index(file, path, watch)
            if self.settings.events:
                self._keep_events(file, task, made, video, tell)
        kept = self.store.root / self.settings.key(video).folder / INDEX
        return {
            "fingerprint": video,
            "frames": len(made),
            "duration_s": made.info.duration_s,
            "bytes": kept.stat().st_size,
            "status": "indexed" if moved else "kept",
            "stamp": mark,
        }

    def _index(self, file: Path, path: str, watch: Tell) -> VideoIndex:
        said = self.settings
        source = path if is_url(path) else None
        return index(
            file, said.encoder, said.fps, said.mode, progress=watch, store=self.store, device=said.device, source=source
        )

    def _keep_events(self, file: Path, task: Task, made: VideoIndex, video: str, tell: Tell) -> None:
        """The text that lies beside or inside the video, and its vectors; nothing is recognised here."""
        subtitles = str(task.data.get("subtitles", ""))
        words: AbstractContextManager[str | Path] = nullcontext(subtitles or AUTO)
        if is_url(subtitles):
            words = local_copy(subtitles, tell)
        with words as file_of_words:
            found = search_events(file, subtitles=file_of_words, recognise_speech=False, store=self.store)
        kept = self.store.load_events(video, EVENTS)
        if kept is not None and kept != list(found.events):
            shutil.rmtree(self.store.root / video / f"events-{EVENTS}", ignore_errors=True)
        if found.events:
            self.store.save_events(video, EVENTS, found.events, task.name)
            kept_vectors(get_encoder(made.encoder), [event.text for event in found.events], self.store.root)


@contextmanager
def at_hand(path: str, tell: Tell) -> Iterator[Path]:
    """The file itself, or a copy for the time being of what lies elsewhere."""
    if is_url(path):
        with local_copy(path, tell) as copy:
            yield copy
    else:
        yield Path(path)


def stamp(path: str) -> list[int] | None:
    """What tells, without opening it, that a file is still the one it was: size, time of change, inode.

    None for a URL, as what lies behind it is taken to stay the same, and for what is not there.
    """
    if is_url(path) or not os.path.exists(path):
        return None
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns, status.st_ino]
