"""Which videos and seconds of a whole store best match a text, by their frames and by their words. Exact."""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from framesift.batch.journal import FOLDER
from framesift.batch.vector_store import Matrix, Segment, Source
from framesift.encoders.base import Encoder, encode_long_texts, fingerprint_of, get_encoder
from framesift.errors import InputError, OptionError, StoreError
from framesift.store.store import INDEX, PART, PAYLOADS, IndexKey, Store, read_manifest
from framesift.store.text_vectors import cached_text_vectors
from framesift.types import Event
from framesift.types.vectors import Array, unit_rows

By = Literal["both", "frames", "events"]
# What is this near to a better second of the same video is the same find.
WINDOW_S = 10.0
# Cormack, Clarke and Büttcher 2009: the sum of 1 / (60 + rank). Cosines of a text with pictures and with texts lie in
# different ranges, their ranks do not.
RANK_OFFSET = 60
PROBES = ("a", "a red bus in the rain", "two people talk about their work")


@dataclass(frozen=True)
class Hit:
    """A second of a video. relevance: of the picture, event_relevance: of the words; None where not found by it.

    score: what the list is ordered by: the cosine, or the sum over both rankings.
    """

    video: str
    time_s: float
    score: float
    relevance: float | None = None
    event_relevance: float | None = None
    event: Event | None = None
    fingerprint: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def search(
    text: str,
    *,
    limit: int = 10,
    by: By = "both",
    encoder: "str | Encoder" = "auto",
    store: str | os.PathLike[str] | None = None,
    window_s: float = WINDOW_S,
) -> list[Hit]:
    """The best seconds of all videos in the store for a text, best first.

    by: "frames" compares the text with pictures, "events" with what is said or written, "both" joins the two rankings.
    window_s: seconds of one video nearer than this to a better one are part of it. The first search of a store writes
    its vectors into one file; later ones add what is new and scan it.
    """
    if not text.strip():
        raise InputError("there is nothing to search for; expected some words")
    if isinstance(limit, bool) or limit < 1:
        raise OptionError(f"limit is {limit}; expected a whole number of at least 1")
    if by not in get_args(By):
        raise OptionError(f"by is {by!r}; expected both, frames or events")
    model = get_encoder(encoder) if isinstance(encoder, str) else encoder
    shelf = _Shelf(Store(store), model)
    query, columns = _query(model, text)
    frames = shelf.best(shelf.frames(), query, columns, limit, window_s) if by != "events" else []
    words = shelf.best(shelf.events(), query, columns, limit, window_s) if by != "frames" else []
    found = _joined(frames, words, window_s)[:limit] if by == "both" and words else frames or words
    return [replace(hit, video=shelf.path_of(hit.fingerprint)) for hit in found]


class _Shelf:
    """What a store holds for one encoder: where vectors come from, and what a hit in them is."""

    def __init__(self, store: Store, model: Encoder) -> None:
        self.store, self.model = store, model
        self.mark = fingerprint_of(model)
        # The folder's name up to the sampling: any of them will do.
        self._prefix = IndexKey("x", model.name, self.mark, "", "").folder.name.removesuffix("fps-")
        self._folders = self._look()

    def _look(self) -> dict[str, list[str]]:
        """The folders of each video, by its fingerprint."""
        found: dict[str, list[str]] = {}
        try:
            videos = sorted(entry.path for entry in os.scandir(self.store.root) if len(entry.name) == 32)
        except OSError:
            videos = []
        for path in videos:
            inside = sorted(os.listdir(path))
            if any(name.startswith(self._prefix) for name in inside):
                found[os.path.basename(path)] = inside
        if not found:
            raise InputError(
                f"{self.store.root} holds no video indexed with {self.model.name}; make some with "
                "`framesift corpus index`, or name another --store or --encoder"
            )
        return found

    def frames(self) -> list[Source]:
        return [
            _Frames(f"{video}/{name}", self.store.root / video / name / INDEX)
            for video, inside in self._folders.items()
            for name in inside
            if name.startswith(self._prefix) and not name.endswith(PART)
        ]

    def events(self) -> list[Source]:
        found: list[Source] = []
        for video, inside in self._folders.items():
            for name in inside:
                if name.startswith("events-"):
                    found += _Events.of(self.store, video, name, self.model)
        return found

    def best(self, sources: Sequence[Source], query: Array, columns: Array, limit: int, window_s: float) -> list[Hit]:
        if not sources:
            return []
        kind = "frames" if isinstance(sources[0], _Frames) else "events"
        parts = Matrix(self.store.root / FOLDER, f"search-{self._prefix}{kind}").update(sources, columns)
        rows = _Rows(parts, sources, query)
        return [_hit(*rows.find(row), score) for row, score in rows.best(limit, window_s)]

    def path_of(self, video: str) -> str:
        """Where the video was when it was indexed; its fingerprint if nothing says so."""
        for name in self._folders[video]:
            if name.startswith(self._prefix):
                try:
                    return str(read_manifest(self.store.root / video / name)["video"]["path"])
                except (StoreError, OSError, KeyError):
                    continue
        return video


@dataclass(frozen=True)
class _Frames:
    """The frames of one index, read where they lie."""

    owner: str
    file: Path

    def vectors(self) -> tuple[Array, Array]:
        with self._open() as tensors:
            return _unit(tensors.get_tensor("frames")), tensors.get_tensor("times_s")

    def some(self, places: Sequence[int]) -> Array:
        with self._open() as tensors:
            frames = tensors.get_slice("frames")
            return _unit(np.concatenate([frames[place : place + 1] for place in places]))

    def _open(self) -> Any:
        from safetensors import SafetensorError, safe_open

        try:
            return safe_open(str(self.file), "numpy")
        except SafetensorError as error:
            raise StoreError(f"{self.file} is damaged ({error})") from None


@dataclass(frozen=True)
class _Events:
    """The events of one video from one source, and their kept vectors."""

    owner: str
    events: tuple[Event, ...]
    model: Encoder
    root: Path

    @classmethod
    def of(cls, store: Store, video: str, name: str, model: Encoder) -> "list[_Events]":
        """None where there is nothing to be read. Another text in its place is another owner."""
        try:
            payload = (store.root / video / name / PAYLOADS["events"]).read_bytes()
            events = tuple(Event(**event) for event in json.loads(payload))
        except (OSError, ValueError, TypeError):
            return []
        mark = hashlib.blake2b(payload, digest_size=8).hexdigest()
        return [cls(f"{video}/{name}@{mark}", events, model, store.root)] if events else []

    def vectors(self) -> tuple[Array, Array]:
        vectors = cached_text_vectors(self.model, [event.text for event in self.events], self.root)
        return vectors, np.array([event.start_s for event in self.events])

    def some(self, places: Sequence[int]) -> Array:
        return self.vectors()[0][list(places)]


class _Rows:
    """The rows of all segments under one numbering, and the best of them without looking at each."""

    def __init__(
        self,
        parts: Sequence[tuple[Segment, Array]],
        sources: Sequence[Source],
        query: Array,
    ) -> None:
        self.parts = parts
        self.sources = {source.owner: source for source in sources}
        self.query = query.astype(np.float64)
        self.offsets = np.cumsum([0, *(len(segment) for segment, _ in parts)])
        scanned = [(segment.scan(query), alive) for segment, alive in parts]
        limits = [np.where(alive, products + errors, np.float32(-np.inf)) for (products, errors), alive in scanned]
        self.upper: Array = np.concatenate(limits) if limits else np.zeros(0, np.float32)
        self._exact: dict[int, float] = {}

    def best(self, limit: int, window_s: float) -> list[tuple[int, float]]:
        """(row, exact score) of the best `limit` rows that lie no nearer to a better one of the same video.

        Rows are looked up until none that was not can still come before the last one found.
        """
        alive = int(np.isfinite(self.upper).sum())
        look = min(alive, max(256, 8 * limit))
        wanted: Array = np.argpartition(self.upper, -look)[-look:] if look else np.zeros(0, int)
        while True:
            self._look_up(int(row) for row in wanted if int(row) not in self._exact)
            found = self._apart(limit, window_s)
            if len(found) < limit and len(self._exact) < alive:
                look = min(alive, 4 * look)
                wanted = np.argpartition(self.upper, -look)[-look:]
                continue
            floor = found[-1][1] if len(found) == limit else -np.inf
            wanted = np.flatnonzero(self.upper >= floor)
            wanted = wanted[np.isfinite(self.upper[wanted])]
            if all(int(row) in self._exact for row in wanted):
                return found

    def find(self, row: int) -> tuple[Source, int, float]:
        """Whose row it is, which of theirs, and its time."""
        owner, place = self.owner_of(row)
        return self.sources[owner], place, self.time_of(row)

    def owner_of(self, row: int) -> tuple[str, int]:
        part = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return self.parts[part][0].owner_of(row - int(self.offsets[part]))

    def time_of(self, row: int) -> float:
        part = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return float(self.parts[part][0].rows["time_s"][row - self.offsets[part]])

    def _look_up(self, rows: Iterable[int]) -> None:
        by_owner: dict[str, list[tuple[int, int]]] = {}
        for row in rows:
            owner, place = self.owner_of(row)
            by_owner.setdefault(owner, []).append((row, place))
        for owner, places in by_owner.items():
            exact = self.sources[owner].some([place for _, place in places]).astype(np.float64) @ self.query
            self._exact |= {row: float(score) for (row, _), score in zip(places, exact, strict=True)}

    def _apart(self, limit: int, window_s: float) -> list[tuple[int, float]]:
        taken: dict[str, list[float]] = {}
        found: list[tuple[int, float]] = []
        for row, score in sorted(self._exact.items(), key=lambda item: (-item[1], item[0])):
            if len(found) == limit:
                break
            video, time_s = self.owner_of(row)[0].partition("/")[0], self.time_of(row)
            if all(abs(time_s - other) > window_s for other in taken.get(video, ())):
                taken.setdefault(video, []).append(time_s)
                found.append((row, score))
        return found


def _query(model: Encoder, text: str) -> tuple[Array, Array]:
    """The text's vector, and the columns in which this encoder's texts differ from zero.

    The offline encoder leaves those of a picture's looks at zero: a product with them is no work worth doing.
    """
    vectors = encode_long_texts(model, [*PROBES, text])
    patterns = vectors != 0
    same = bool((patterns == patterns[0]).all())
    columns = np.flatnonzero(patterns[0]) if same else np.arange(vectors.shape[1])
    return vectors[-1], columns


def _unit(frames: Array) -> Array:
    rows: Array = unit_rows(frames, "frames").astype(np.float32)
    return rows


def _hit(source: Source, place: int, time_s: float, score: float) -> Hit:
    video = source.owner.partition("/")[0]
    if isinstance(source, _Events):
        event = source.events[place]
        return Hit("", time_s, score, event_relevance=score, event=event, fingerprint=video)
    return Hit("", time_s, score, relevance=score, fingerprint=video)


def _joined(frames: Sequence[Hit], words: Sequence[Hit], window_s: float) -> list[Hit]:
    """Both rankings as one: what is found by both ways, near the same second of a video, is one hit."""
    joined = [replace(hit, score=1 / (RANK_OFFSET + rank)) for rank, hit in enumerate(frames, 1)]
    for rank, hit in enumerate(words, 1):
        share = 1 / (RANK_OFFSET + rank)
        near = (k for k, other in enumerate(joined) if _near(other, hit, window_s) and other.event is None)
        place = next(near, None)
        if place is None:
            joined.append(replace(hit, score=share))
        else:
            score = joined[place].score + share
            joined[place] = replace(joined[place], score=score, event=hit.event, event_relevance=hit.event_relevance)
    return sorted(joined, key=lambda hit: -hit.score)


def _near(frame: Hit, word: Hit, window_s: float) -> bool:
    if frame.fingerprint != word.fingerprint or word.event is None:
        return False
    return word.event.start_s - window_s <= frame.time_s <= word.event.end_s + window_s
