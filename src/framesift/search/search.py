"""Search a whole store for the videos and seconds that best match a text, by frames and by events. Exact.

    STORE/corpus/chance-<encoder>-<its fingerprint>-<kind>.json    the best score of each unrelated question, by source

A source, the frames of an index or the events of a video, is verified when these scores are computed, once: its name
changes when its content does. Their level is that of the searched videos together: with one for each, every further
video would be a chance for a text that matches nothing.
"""

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from framesift._utils.credentials import public_url
from framesift._utils.files import StrPath, write_text
from framesift._utils.json import check_digest, load_json, with_digest
from framesift._utils.machine import usable_cores
from framesift._utils.records import read_value
from framesift._utils.settings import check_count
from framesift.batch.journal import FOLDER
from framesift.encoders.base import Encoder, encode_long_texts
from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError, InputError, OptionError, StoreError
from framesift.indexing.index import IndexSettings
from framesift.selection.chance import UNRELATED, best_level, word_scores
from framesift.selection.lexical import EventWords, is_quote, quoting
from framesift.store.store import (
    CHANCE_RULES,
    INDEX,
    PART,
    SAMPLING_RULES,
    Store,
    StoredCandidates,
    cached_text_vectors,
    events_from,
    log_unwritable,
    manifest_warnings,
    read_manifest,
    read_payload,
)
from framesift.types import Event
from framesift.types.selection import NOTHING_MATCHES
from framesift.types.vectors import BLOCK_ROWS, TIE_TOLERANCE, Array, small_products

if TYPE_CHECKING:
    from PIL import Image

log = logging.getLogger(__name__)

SearchBy = Literal["both", "frames", "events"]
SearchEngine = Literal["exact", "lancedb"]
CANDIDATES = 64  # of LanceDB for each wanted hit: those near a better one of its video merge
APART_S = 2.5  # between neighbouring frames of one stretch
LIKE_SHARE = 0.5  # of the way from the median cosine of all frames to 1, from which a frame is like an image
WINDOW_S = 10.0  # hits this near to a better one of the same video are merged into it
# Reciprocal rank fusion, Cormack, Clarke and Büttcher 2009: the sum of 1 / (60 + rank). Cosines of a text with images
# and with texts lie in different ranges, their ranks do not.
RANK_OFFSET = 60


@dataclass(frozen=True)
class Hit:
    """A second of a video. relevance: cosine with the frame; event_relevance: with the event; None if not found by it.

    score: the cosine, or the sum over both rankings. warnings: what was lost, guessed or odd in the video and its text.
    stands_out: whether the second matches better than it would unrelated questions, or its event has every word of the
    text. strength: how far it is from that level, 0, towards the best hit, 1. start_s, end_s: the stretch around it
    that matches more than half as well, or the event.
    """

    video: str
    time_s: float
    score: float
    relevance: float | None = None
    event_relevance: float | None = None
    event: Event | None = None
    fingerprint: str = ""
    warnings: tuple[str, ...] = ()
    stands_out: bool = True
    strength: float = 1.0
    start_s: float = 0.0
    end_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def search(
    query: "str | Image.Image",
    *,
    limit: int = 10,
    by: SearchBy = "both",
    encoder: "str | Encoder" = IndexSettings.encoder,
    store: StrPath | None = IndexSettings.store,
    window_s: float = WINDOW_S,
    videos: Collection[str] | None = None,
    engine: SearchEngine = "exact",
) -> list[Hit]:
    """Find the best seconds of all videos in the store for a text, or for an image like them, best first.

    First come events that contain every word of the text, if these are at least two or the event has no others, then
    what stands out, then the rest.

    by: "frames" compares with frames, as is always done with an image, "events" with timestamped text, "both" fuses the
    two rankings. window_s: hits of one video nearer than this to a better one are merged into it. videos: fingerprints
    of those to search, by default all. engine: "exact" compares every stored vector in float64, one video at a time on
    each core; "lancedb" compares the frames that an index of LanceDB finds, which it keeps in the store.
    """
    if isinstance(query, str) and not query.strip():
        raise InputError("the text to search for is empty; expected at least one word")
    check_count("limit", limit)
    if by not in get_args(SearchBy):
        raise OptionError(f"by is {by!r}; expected both, frames or events")
    if engine not in get_args(SearchEngine):
        raise OptionError(f"engine is {engine!r}; expected exact or lancedb")
    by = by if isinstance(query, str) else "frames"
    seek = _Search(query, limit, window_s, Store(store), get_encoder(encoder), videos, engine)
    frames = seek.rank("frames") if by != "events" else []
    events = seek.rank("events") if by != "frames" else []
    hits = seek.fuse(frames, events) if by == "both" and events else frames or events
    return [seek.with_video(hit) for hit in hits[:limit]]


def match_note(hits: Sequence[Hit]) -> str:
    """What to tell the user when nothing that was found stands out; else empty."""
    return NOTHING_MATCHES if hits and not any(hit.stands_out for hit in hits) else ""


def encoder_indexes(store: Store, encoder: "str | Encoder") -> tuple[str, list[Path]]:
    """How the names of an encoder's indexes begin, of any sampling, and their folders; an error if there are none."""
    key = IndexSettings(encoder).key("")
    folders = sorted(store.root.glob(f"{'?' * 32}/{key.encoder_prefix}*"))
    if not folders:
        raise InputError(
            f"{store.root} has no video indexed with {key.encoder}; index some with "
            "`framesift corpus index`, or give another --store or --encoder"
        )
    return key.encoder_prefix, folders


class _Search:
    """What is searched for and how, and the indexes and events of a store that one encoder can search."""

    def __init__(
        self,
        query: "str | Image.Image",
        limit: int,
        window_s: float,
        store: Store,
        model: Encoder,
        videos: Collection[str] | None,
        engine: SearchEngine,
    ) -> None:
        self.text = query if isinstance(query, str) else ""
        self.limit, self.window_s, self.engine = limit, window_s, engine
        self.store, self.model, self.videos = store, model, videos
        self._prefix, self._indexes = encoder_indexes(store, model)
        self._vector = encode_long_texts(model, [query]) if isinstance(query, str) else model.encode_images([query])

    def rank(self, kind: str) -> list[Hit]:
        """The best frames or events by cosine, and the best of the events that contain every word of the text."""
        sources = list(self._sources(kind))
        scores = unrelated_scores(self.store.root / FOLDER / f"chance-{self._prefix}{kind}.json", sources, self.model)
        sources = [
            each for each in sources if each.owner in scores and (self.videos is None or each.video in self.videos)
        ]
        level = best_level(np.array([scores[source.owner] for source in sources]))
        if kind == "frames" and self.engine == "lancedb":
            sources = self._nearest(sources)
        # Encoders may not be used by several threads, and vectors of events that can't be stored are encoded here.
        rows = _ScannedRows.of(sources, self._vector, threads=usable_cores() if kind == "frames" else 1)
        if not self.text and len(rows.cosines):
            median = float(np.median(rows.cosines))
            level = median + LIKE_SHARE * (1.0 - median)
        quoting = [rows.starts[number] + k for number, source in enumerate(sources) for k in source.quoting(self.text)]
        found = rows.best(self.limit, self.window_s, quoting)
        near = {row for k in found for row in rows.near(k, self.window_s).tolist()}
        found += [k for k in rows.best(self.limit, self.window_s) if k not in near]
        scores_of = {
            number: sources[number].scores(rows.cosines[rows.part(number), None], [self.text])
            for number in {rows[k][0] for k in found}
        }
        above = {k: float(scores_of[rows[k][0]][rows[k][1]].item()) - level for k in found}
        best = max(above.values(), default=0.0)
        hits = []
        for k in found:
            number, position, time_s, cosine = rows[k]
            strength = 1.0 if k in quoting else max(0.0, above[k]) / max(best, TIE_TOLERANCE)
            source = sources[number]
            hit = Hit("", time_s, cosine, fingerprint=source.video, stands_out=strength > 0, strength=strength)
            if isinstance(source, EventVectors):
                event = source.events[position]
                hit = replace(hit, event_relevance=cosine, event=event, start_s=event.start_s, end_s=event.end_s)
            else:
                start_s, end_s = rows.stretch(k, floor=(level + cosine) / 2)
                hit = replace(hit, relevance=cosine, start_s=start_s, end_s=end_s)
            hits.append(hit)
        return self._in_order(hits)[: self.limit]

    def _nearest(self, sources: "Sequence[Source]") -> "list[Source]":
        """The same sources, each with those of its frames that are among the nearest of all."""
        from framesift.search.lance import LanceFrames

        folders = (folder for folder in self._indexes if not folder.name.endswith(PART))
        readers = {source.owner: source.read for source in map(FrameVectors, folders)}
        table = LanceFrames(self.store.root / FOLDER / f"lance-{self._prefix[:-1]}", readers, self.model.dim)
        numbers = {table.numbers[source.owner]: source for source in sources}
        asked = None if self.videos is None else list(numbers)
        found = table.nearest(self._vector[0], CANDIDATES * self.limit, asked)
        return [NearestFrames(numbers[k].folder, rows) for k, rows in found.items() if k in numbers]

    def _sources(self, kind: str) -> "Iterator[Source]":
        if kind == "frames":
            yield from (FrameVectors(folder) for folder in self._indexes if not folder.name.endswith(PART))
            return
        for video in dict.fromkeys(folder.parent for folder in self._indexes):
            for folder in sorted(video.glob("events-*")):
                manifests = self._manifests(video.name, self._prefix)
                durations = (manifest.get("video", {}).get("duration_s") for manifest in manifests)
                duration_s = float(next(filter(None, durations), np.inf))
                yield from EventVectors.of(folder, self.model, duration_s)

    def with_video(self, hit: Hit) -> Hit:
        """The hit with the path its video had when it was indexed, or its fingerprint, and with the warnings."""
        manifests = list(self._manifests(hit.fingerprint, self._prefix, "events-"))
        paths = (str(manifest.get("video", {}).get("path", "")) for manifest in manifests)
        warnings = dict.fromkeys(warning for manifest in manifests for warning in manifest_warnings(manifest))
        path = next(filter(None, paths), "")
        return replace(hit, video=public_url(path) or hit.fingerprint, warnings=tuple(warnings))

    def _manifests(self, video: str, *prefixes: str) -> Iterator[dict[str, Any]]:
        """The readable manifests of a video's entries whose folder names begin so."""
        for folder in sorted((self.store.root / video).iterdir()):
            if folder.name.startswith(prefixes):
                with suppress(StoreError, OSError):
                    yield read_manifest(folder)

    def fuse(self, frames: Sequence[Hit], events: Sequence[Hit]) -> list[Hit]:
        """One ranking from both; a frame and an event near the same second of a video become one hit.

        The hit has the frame's time, or that of the event if this is a quote of the text.
        """
        quotes = [hit for hit in events if self._is_quote(hit)]
        fused = [
            replace(hit, score=1 / (RANK_OFFSET + rank))
            for rank, hit in enumerate(frames, 1)
            if not any(self._is_near(hit, quote) for quote in quotes)
        ]
        for rank, hit in enumerate(events, 1):
            share = 1 / (RANK_OFFSET + rank)
            near = (k for k, other in enumerate(fused) if other.event is None and self._is_near(other, hit))
            k = next(near, None)
            if k is None:
                fused.append(replace(hit, score=share))
            else:
                fused[k] = replace(
                    fused[k],
                    score=fused[k].score + share,
                    event=hit.event,
                    event_relevance=hit.event_relevance,
                    stands_out=fused[k].stands_out or hit.stands_out,
                    strength=max(fused[k].strength, hit.strength),
                    start_s=min(fused[k].start_s, hit.start_s),
                    end_s=max(fused[k].end_s, hit.end_s),
                )
        return self._in_order(fused)

    def _in_order(self, hits: Iterable[Hit]) -> list[Hit]:
        """Quotes of the text first, then what stands out; of equal scores, an event before a frame."""
        return sorted(
            hits, key=lambda hit: (not self._is_quote(hit), not hit.stands_out, -hit.score, hit.event is None)
        )

    def _is_quote(self, hit: Hit) -> bool:
        return hit.event is not None and is_quote(hit.event.text, self.text)

    def _is_near(self, frame: Hit, text: Hit) -> bool:
        if frame.fingerprint != text.fingerprint or text.event is None:
            return False
        return text.event.start_s - self.window_s <= frame.time_s <= text.event.end_s + self.window_s


@dataclass(frozen=True)
class _ScannedRows:
    """All rows of some sources: times and cosines with the query (N,) float64.

    videos: of each source. starts: the first row of each source, and the number of rows.
    """

    videos: list[str]
    starts: Array
    times_s: Array
    cosines: Array

    @classmethod
    def of(cls, sources: "Sequence[Source]", query: Array, threads: int) -> "_ScannedRows":
        """Read and compare one source at a time in each thread; one that can't be read has none, with a warning."""
        with ThreadPoolExecutor(threads) as pool:
            parts = [_NO_ROWS, *pool.map(partial(_compare, query), sources)]
        starts = np.cumsum([len(times_s) for times_s, _ in parts])
        times_s, found = map(np.concatenate, zip(*parts, strict=True))
        return cls([source.video for source in sources], starts, times_s, found)

    def __getitem__(self, k: int) -> tuple[int, int, float, float]:
        """The number of a row's source, the position in it, the time and the cosine."""
        number = int(np.searchsorted(self.starts, k, side="right")) - 1
        return number, int(k - self.starts[number]), float(self.times_s[k]), float(self.cosines[k])

    def best(self, limit: int, window_s: float, among: Sequence[int] | slice = slice(None)) -> list[int]:
        """The best of these rows, each farther than the window from better ones of its video; of equals the first."""
        scores = np.full(len(self.cosines), -np.inf)
        scores[among] = self.cosines[among]
        found: list[int] = []
        while len(found) < limit and scores.max(initial=-np.inf) > -np.inf:
            found.append(int(scores.argmax()))
            scores[self.near(found[-1], window_s)] = -np.inf
        return found

    def part(self, number: int) -> slice:
        """The rows of a source."""
        return slice(self.starts[number], self.starts[number + 1])

    def stretch(self, k: int, floor: float) -> tuple[float, float]:
        """The first and the last time of the rows around one of a source, each near the next and above the floor."""
        own = self.part(self[k][0])
        times_s, k = self.times_s[own], k - own.start
        ends = np.flatnonzero((np.diff(times_s) > APART_S) | (self.cosines[own][1:] < floor)) + 1
        starts = np.flatnonzero((np.diff(times_s) > APART_S) | (self.cosines[own][:-1] < floor)) + 1
        first, last = starts[starts <= k], ends[ends > k]
        return float(times_s[first[-1] if len(first) else 0]), float(times_s[last[0] - 1 if len(last) else -1])

    def near(self, k: int, window_s: float) -> Array:
        """The rows of the same video that are no farther than the window from a row, with the row itself."""
        video = self.videos[self[k][0]]
        numbers = (number for number, name in enumerate(self.videos) if name == video)
        rows = np.r_[tuple(map(self.part, numbers))]
        near: Array = rows[np.abs(self.times_s[rows] - self.times_s[k]) <= window_s]
        return near


_NO_ROWS = (np.zeros(0), np.zeros(0))


def _compare(query: Array, source: "Source") -> tuple[Array, Array]:
    """The times of a source's rows and their cosines with the query (1, D)."""
    try:
        rows, times_s = source.read()
        found = cosines(rows, query)[:, 0]
        if found.shape != times_s.shape or not np.isfinite(found).all():
            raise StoreError("damaged")
    except (FramesiftError, OSError, ValueError, LookupError) as error:
        log.warning("%s can't be searched (%s)", source.owner.partition("@")[0], error)
        return _NO_ROWS
    return times_s, found


@dataclass(frozen=True)
class FrameVectors:
    """The frames of one index that show something."""

    folder: Path

    @property
    def video(self) -> str:
        return self.folder.parent.name

    @cached_property
    def owner(self) -> str:
        """The video, the index, and when it was written."""
        try:
            written_ns = (self.folder / INDEX).stat().st_mtime_ns
        except OSError:  # reported when it is read
            written_ns = 0
        return f"{self.video}/{self.folder.name}@{SAMPLING_RULES}-{written_ns}"

    def read(self) -> tuple[Array, Array]:
        """(n, D) float16 rows and their times, without verifying the checksum."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(self.folder / INDEX), "numpy") as tensors:
                frames, times_s, is_blank = map(tensors.get_tensor, ("frames", "times_s", "is_blank"))
        except (SafetensorError, TypeError) as error:
            raise StoreError(f"{INDEX} is damaged ({error})") from None
        if is_blank.any() and not is_blank.all():
            frames, times_s = frames[~is_blank], times_s[~is_blank]
        return frames, times_s

    def verify(self) -> None:
        """Raise StoreError if the file is not the one that was written."""
        StoredCandidates.unpack(read_payload(self.folder, "index", read_manifest(self.folder)))

    def quoting(self, _text: str) -> list[int]:
        return []

    def scores(self, cosines: Array, _texts: Sequence[str]) -> Array:
        return cosines


@dataclass(frozen=True)
class NearestFrames(FrameVectors):
    """Some frames of an index: their vectors and times."""

    found: tuple[Array, Array]

    def read(self) -> tuple[Array, Array]:
        return self.found


@dataclass(frozen=True)
class EventVectors:
    """The events of one video from one source, and their stored vectors. owner: ends in a digest of the events."""

    folder: Path
    owner: str
    events: tuple[Event, ...]
    texts: tuple[str, ...]  # of all stored events, whose vectors are stored together
    inside: tuple[int, ...]  # positions of `events` among these
    model: Encoder

    @property
    def video(self) -> str:
        return self.folder.parent.name

    @classmethod
    def of(cls, folder: Path, model: Encoder, duration_s: float) -> "list[EventVectors]":
        """The events inside the video, or no source if there are none or they can't be read."""
        name = f"{folder.parent.name}/{folder.name}"
        try:
            payload = read_payload(folder, "events", read_manifest(folder))
            listed = events_from(payload)
        except (OSError, InputError, StoreError) as error:
            log.warning("%s can't be searched (%s)", name, error)
            return []
        inside = tuple(k for k, event in enumerate(listed) if event.end_s >= 0 and event.start_s <= duration_s)
        events = tuple(
            replace(listed[k], start_s=max(0.0, listed[k].start_s), end_s=min(duration_s, listed[k].end_s))
            for k in inside
        )
        digest = hashlib.blake2b(payload + str(inside).encode(), digest_size=8).hexdigest()
        texts = tuple(event.text for event in listed)
        return [cls(folder, f"{name}@{digest}", events, texts, inside, model)] if events else []

    def read(self) -> tuple[Array, Array]:
        vectors = cached_text_vectors(self.model, self.texts, self.folder.parent.parent)[list(self.inside)]
        return vectors, np.array([event.start_s for event in self.events])

    def quoting(self, text: str) -> list[int]:
        """The positions of the events that contain every word of the text."""
        return quoting([event.text for event in self.events], text)

    def scores(self, cosines: Array, texts: Sequence[str]) -> Array:
        """(n, K) scores of the events for K texts, from their cosines (n, K)."""
        words = EventWords([event.text for event in self.events])
        return word_scores(cosines, np.stack([words.scores(text) for text in texts], axis=1))

    def verify(self) -> None:
        """Do nothing: the events were verified when they were read."""


Source = FrameVectors | EventVectors


def cosines(rows: Array, queries: Array) -> Array:
    """(n, K) float64: the cosine of each row (n, D), of any length and type, with unit queries (K, D); by blocks."""
    out = np.empty((len(rows), len(queries)))
    queries = queries.astype(np.float64)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS].astype(np.float64)
        lengths = np.sqrt(np.einsum("nd,nd->n", block, block))
        out[start : start + BLOCK_ROWS] = small_products(block, queries) / lengths[:, None]
    return out


def unrelated_scores(file: Path, sources: Sequence[Source], model: Encoder) -> dict[str, tuple[float, ...]]:
    """The best score of each unrelated question by source, as stored in the file, which gets what it lacks.

    A source that can't be read is left out with a warning.
    """
    stored = _load(file)
    scores = {source.owner: stored[source.owner] for source in sources if source.owner in stored}
    missing = [source for source in sources if source.owner not in scores]
    queries = cached_text_vectors(model, UNRELATED, file.parent.parent) if missing else np.zeros(0)
    for source in missing:
        try:
            source.verify()
            best = source.scores(cosines(source.read()[0], queries), UNRELATED).max(axis=0)
        except (FramesiftError, OSError, ValueError, KeyError) as error:
            log.warning("%s can't be searched (%s)", source.owner.partition("@")[0], error)
        else:
            scores[source.owner] = tuple(round(float(score), 6) for score in best)
    if scores.keys() != stored.keys():
        record = {"rules": CHANCE_RULES, "questions": UNRELATED, "scores": scores}
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps(with_digest(record)))
        except OSError as error:
            log_unwritable(file.parent.parent, error)
    return scores


def _load(file: Path) -> dict[str, tuple[float, ...]]:
    """The stored scores; none if the file is missing, damaged or computed by other rules."""
    try:
        content = load_json(file.read_bytes(), file.name, "the scores of unrelated questions")
        record = read_value(Mapping[str, Any], content, file.name)
        check_digest(record, file.name)
    except (InputError, OSError):
        return {}
    is_current = (record["rules"], tuple(record["questions"])) == (CHANCE_RULES, UNRELATED)
    return {owner: tuple(row) for owner, row in record["scores"].items()} if is_current else {}
