"""The files of a store, and what is done with them: a damaged one is rebuilt or reported, and never used."""

import contextlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator
from logging.handlers import BufferingHandler
from pathlib import Path

import framesift as fs
from framesift.indexing.index import PART_SIZE
from framesift.search.search import search
from framesift.store.fingerprint import fingerprint
from framesift.store.maintenance import describe, prune
from framesift.store.store import Store, cached_text_vectors
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.fault_tries import Fault

EVENTS = [fs.Event(2.0, 4.0, "The coffee is cold"), fs.Event(6.0, 7.5, "So is the tea")]


class SmallStore:
    """A store of one clip, its events and their text vectors, and what can be got from it, as sets of values."""

    def __init__(self, root: Path, clip: Path) -> None:
        self.root, self.clip, self.model = root, clip, GridEncoder()
        fs.index(clip, self.model, store=root)
        Store(root).save_events(fingerprint(clip), "subtitles", EVENTS, str(clip))

    def search(self) -> set[object]:
        hits = search("cold milk", encoder=self.model, store=self.root)
        frames = {(hit.video, hit.time_s, hit.relevance) for hit in hits if hit.relevance is not None}
        return frames | {(hit.video, hit.event, hit.event_relevance) for hit in hits if hit.event is not None}

    def events(self) -> set[object]:
        events, _ = Store(self.root).load_events(fingerprint(self.clip), "subtitles") or ((), ())
        return set(events)

    def vectors(self) -> set[object]:
        index = fs.index(self.clip, self.model, store=self.root)
        texts = cached_text_vectors(self.model, [event.text for event in EVENTS], self.root)
        arrays = (index.times_s, index.frames, index.is_blank, index.is_damaged, texts)
        return {index.info, index.warnings, index.encoder, *(array.tobytes() for array in arrays)}

    def maintained(self) -> set[object]:
        """The same after the store was listed and pruned."""
        json.dumps([describe(entry) for entry in Store(self.root).entries()], allow_nan=False)
        prune(Store(self.root), max_bytes=10**9)
        return self.vectors()


def store_files(folder: Path, clip: Path) -> Iterator[tuple[str, Path, Callable[[Path], None]]]:
    """The name, path and use of each file."""
    store = SmallStore(folder / "store", clip)
    expected = {name: getattr(store, name)() for name in ("search", "events", "vectors", "maintained")}
    root, whole = store.root, folder / "store-copy"
    shutil.copytree(root, whole)

    def restore() -> None:
        shutil.rmtree(root)
        shutil.copytree(whole, root)

    def use(path: Path) -> None:
        data = path.read_bytes()
        try:
            for name, values in expected.items():
                with logged_warnings() as warnings:
                    found = getattr(store, name)()
                # Events are not computed again, and a search goes on without what is damaged.
                is_reported = name in ("search", "events") and bool(warnings)
                if found != values and not (is_reported and found < values):
                    raise Fault("poisoned", f"{name}: other values than before the file was changed")
                restore()
                path.write_bytes(data)
        finally:
            restore()

    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = f"store {path.parent.name.partition('-')[0]} {path.name.partition('-')[0]}{path.suffix}"
        yield name, path, use
    yield _unfinished_index(folder)


def _unfinished_index(folder: Path) -> tuple[str, Path, Callable[[Path], None]]:
    """The stored part of an interrupted run; the next run uses it, or starts over."""
    clip = make_clip(folder / "long.mkv", seconds=PART_SIZE + 12, fps=1)
    root = folder / "unfinished"
    expected = fs.index(clip, GridEncoder(), 1.0, store=folder / "finished").frames.tobytes()

    def interrupt(stage: str, done: float, total: float) -> None:
        if done == PART_SIZE:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        fs.index(clip, GridEncoder(), 1.0, store=root, progress=interrupt)
    (part,) = root.rglob("*.safetensors")

    def use(path: Path) -> None:
        try:
            if fs.index(clip, GridEncoder(), 1.0, store=root).frames.tobytes() != expected:
                raise Fault("poisoned", "other vectors than those of a run without an interruption")
        finally:
            shutil.rmtree(root)
            path.parent.mkdir(parents=True)

    return "store part", part, use


@contextlib.contextmanager
def logged_warnings() -> Iterator[list[logging.LogRecord]]:
    """The warnings that are logged, also where log lines are discarded."""
    handler = BufferingHandler(10**6)
    handler.setLevel(logging.WARNING)
    log, disabled = logging.getLogger("framesift"), logging.root.manager.disable
    propagates, log.propagate = log.propagate, False
    log.addHandler(handler)
    logging.disable(logging.NOTSET)
    try:
        yield handler.buffer
    finally:
        logging.disable(disabled)
        log.removeHandler(handler)
        log.propagate = propagates
