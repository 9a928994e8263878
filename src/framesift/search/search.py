"""Search a whole store for the videos and seconds that best match a text, by frames and by events. Exact."""

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np

from framesift._utils.cores import usable_cores
from framesift._utils.credentials import public_url
from framesift.batch.journal import FOLDER
from framesift.encoders.base import Encoder, encode_long_texts, fingerprint_of
from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError, InputError, OptionError, StoreError
from framesift.search.sources import (
    EventVectors,
    FrameVectors,
    SearchSource,
    cosines,
    is_among,
    library_level,
    unrelated_scores,
)
from framesift.selection.chance import word_scores
from framesift.selection.lexical import is_quote
from framesift.store.store import PART, IndexKey, Store, manifest_warnings, read_manifest
from framesift.types import Event
from framesift.types.selection import NOTHING_MATCHES
from framesift.types.vectors import Array

log = logging.getLogger(__name__)

SearchBy = Literal["both", "frames", "events"]
WINDOW_S = 10.0  # hits this near to a better one of the same video are merged into it
# Reciprocal rank fusion, Cormack, Clarke and Büttcher 2009: the sum of 1 / (60 + rank). Cosines of a text with images
# and with texts lie in different ranges, their ranks do not.
RANK_OFFSET = 60
AnySource = TypeVar("AnySource", bound=SearchSource)


@dataclass(frozen=True)
class Hit:
    """A second of a video. relevance: cosine with the frame; event_relevance: with the event; None if not found by it.

    score: the cosine, or the sum over both rankings. warnings: what was lost, guessed or odd in the video and its text.
    stands_out: whether the second matches better than it would unrelated questions, or its event has every word of the
    text.
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

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def search(
    text: str,
    *,
    limit: int = 10,
    by: SearchBy = "both",
    encoder: "str | Encoder" = "auto",
    store: str | os.PathLike[str] | None = None,
    window_s: float = WINDOW_S,
    videos: Collection[str] | None = None,
) -> list[Hit]:
    """Find the best seconds of all videos in the store for a text, best first.

    First come events that contain every word of the text, if these are at least two or the event has no others, then
    what stands out, then the rest.

    by: "frames" compares the text with frames, "events" with timestamped text, "both" fuses the two rankings. window_s:
    hits of one video nearer than this to a better one are merged into it. videos: fingerprints of those to search, by
    default all. Every stored vector is compared in float64, one video at a time on each core.
    """
    if not text.strip():
        raise InputError("the text to search for is empty; expected at least one word")
    if isinstance(limit, bool) or limit < 1:
        raise OptionError(f"limit is {limit}; expected a whole number of at least 1")
    if by not in get_args(SearchBy):
        raise OptionError(f"by is {by!r}; expected both, frames or events")
    model = get_encoder(encoder) if isinstance(encoder, str) else encoder
    corpus = _Corpus(Store(store), model, videos)
    query = _Query(text, encode_long_texts(model, [text])[0], limit, window_s)
    frames = corpus.search_frames(query) if by != "events" else []
    events = corpus.search_events(query) if by != "frames" else []
    hits = _fuse(frames, events, query)[:limit] if by == "both" and events else frames or events
    return [corpus.with_video(hit) for hit in hits]


def match_note(hits: Sequence[Hit]) -> str:
    """What to tell the user when nothing that was found stands out; else empty."""
    return NOTHING_MATCHES if hits and not any(hit.stands_out for hit in hits) else ""


@dataclass(frozen=True)
class _Query:
    """A text, its vector, and the arguments of the search."""

    text: str
    vector: Array
    limit: int
    window_s: float


class _Corpus:
    """The indexes and events of a store that one encoder can search."""

    def __init__(self, store: Store, model: Encoder, videos: Collection[str] | None = None) -> None:
        self.store, self.model, self.videos = store, model, videos
        # The folder's name up to the sampling: an index of any sampling can be searched.
        self._prefix = IndexKey("", model.name, fingerprint_of(model), "", "", "").encoder_prefix
        self._folders = self._list_folders()

    def _list_folders(self) -> dict[str, list[str]]:
        """The folders of each video, by its fingerprint."""
        folders: dict[str, list[str]] = {}
        try:
            videos = sorted(entry.path for entry in os.scandir(self.store.root) if len(entry.name) == 32)
        except OSError:
            videos = []
        for path in videos:
            inside = sorted(os.listdir(path))
            if any(name.startswith(self._prefix) for name in inside):
                folders[os.path.basename(path)] = inside
        if not folders:
            raise InputError(
                f"{self.store.root} has no video indexed with {self.model.name}; index some with "
                "`framesift corpus index`, or give another --store or --encoder"
            )
        return folders

    def search_frames(self, query: _Query) -> list[Hit]:
        sources = [
            FrameVectors.of(self.store.root / video / name)
            for video, inside in self._folders.items()
            for name in inside
            if name.startswith(self._prefix) and not name.endswith(PART)
        ]
        scan, level = self._scan("frames", sources, query, usable_cores())
        return _in_order(
            [
                Hit("", row.time_s, row.cosine, row.cosine, fingerprint=row.video, stands_out=row.cosine > level)
                for row in scan.best(np.arange(len(scan.cosines)), query)
            ],
            query.text,
        )

    def search_events(self, query: _Query) -> list[Hit]:
        """The best events by cosine, and the best of those that contain every word of the text."""
        sources = [
            source
            for video, inside in self._folders.items()
            for name in inside
            if name.startswith("events-")
            for source in EventVectors.of(self.store, video, name, self.model, self._duration_s(video))
        ]
        # Encoders may not be used by several threads, and vectors that can't be stored are encoded here.
        scan, level = self._scan("events", sources, query, threads=1)
        quoting = {source.owner: source.quoting(query.text) for source in scan.sources}
        starts = zip(scan.starts, scan.sources, strict=True)
        quoted = np.array([start + position for start, source in starts for position in quoting[source.owner]], int)
        found = scan.best(quoted, query)
        others = scan.best(np.arange(len(scan.cosines)), query)
        found += [row for row in others if not row.is_near(found, query.window_s)]
        lexical = {row.source.owner: row.source.words.scores(query.text) for row in found}
        hits = []
        for row in found:
            score = word_scores(np.array(row.cosine), lexical[row.source.owner][row.position])
            is_above = bool(score > level) or row.position in quoting[row.source.owner]
            event = row.source.events[row.position]
            hits.append(Hit("", row.time_s, row.cosine, None, row.cosine, event, row.video, stands_out=is_above))
        return _in_order(hits, query.text)[: query.limit]

    def _scan(
        self, kind: str, sources: Sequence[AnySource], query: _Query, threads: int
    ) -> "tuple[_ScannedRows[AnySource], float]":
        """The cosines of the searched videos' rows, and the level that unrelated questions reach in them."""
        file = self.store.root / FOLDER / f"chance-{self._prefix}{kind}.json"
        scores = unrelated_scores(file, sources, self.model)
        readable = [source for source in sources if source.owner in scores and is_among(source.owner, self.videos)]
        return _ScannedRows.of(readable, query.vector, threads), library_level(scores, self.videos)

    def with_video(self, hit: Hit) -> Hit:
        """The hit with the path its video had when it was indexed, or its fingerprint, and with the warnings."""
        path = ""
        warnings: dict[str, None] = {}
        for manifest in self._manifests(hit.fingerprint, self._prefix, "events-"):
            path = path or str(manifest.get("video", {}).get("path", ""))
            warnings |= dict.fromkeys(manifest_warnings(manifest))
        return replace(hit, video=public_url(path) or hit.fingerprint, warnings=tuple(warnings))

    def _duration_s(self, video: str) -> float:
        durations = (manifest.get("video", {}).get("duration_s") for manifest in self._manifests(video, self._prefix))
        return next((float(duration_s) for duration_s in durations if duration_s), np.inf)

    def _manifests(self, video: str, *prefixes: str) -> Iterator[dict[str, Any]]:
        """The readable manifests of a video's entries whose folder names begin so."""
        for name in self._folders[video]:
            if name.startswith(prefixes):
                with suppress(StoreError, OSError):
                    yield read_manifest(self.store.root / video / name)


@dataclass(frozen=True)
class _FoundRow(Generic[AnySource]):
    """A row of a source that was found, and its cosine with the query."""

    source: AnySource
    position: int
    time_s: float
    cosine: float

    @property
    def video(self) -> str:
        return self.source.owner.partition("/")[0]

    def is_near(self, others: "Iterable[_FoundRow[AnySource]]", window_s: float) -> bool:
        return any(self.video == other.video and abs(self.time_s - other.time_s) <= window_s for other in others)


@dataclass(frozen=True)
class _ScannedRows(Generic[AnySource]):
    """All rows of some sources: times and cosines with the query (N,) float64, and the first row of each source."""

    sources: Sequence[AnySource]
    starts: Array
    times_s: Array
    cosines: Array

    @classmethod
    def of(cls, sources: Sequence[AnySource], query: Array, threads: int) -> "_ScannedRows[AnySource]":
        """Read and compare one source at a time in each thread; one that can't be read has none, with a warning."""
        with ThreadPoolExecutor(threads) as pool:
            parts: list[tuple[Array, Array]] = [
                (np.zeros(0), np.zeros(0)),
                *pool.map(partial(_compare, query[None]), sources),
            ]
        starts = np.cumsum([len(times_s) for times_s, _ in parts])[:-1]
        times_s, found = map(np.concatenate, zip(*parts, strict=True))
        return cls(sources, starts, times_s, found)

    def best(self, rows: Array, query: _Query) -> "list[_FoundRow[AnySource]]":
        """The best of these rows, each farther than the window from better ones of its video; of equals the first."""
        found: list[_FoundRow[AnySource]] = []
        count = query.limit
        while len(rows) and len(found) < query.limit:
            count = min(8 * count, len(rows))
            scores = self.cosines[rows]
            top = rows[scores >= np.partition(scores, -count)[-count]]
            found = self._separated(top[np.argsort(-self.cosines[top], kind="stable")], query)
            if count == len(rows):
                break
        return found

    def _separated(self, rows: Array, query: _Query) -> "list[_FoundRow[AnySource]]":
        found: list[_FoundRow[AnySource]] = []
        for k in rows:
            number = int(np.searchsorted(self.starts, k, side="right")) - 1
            position = int(k - self.starts[number])
            row = _FoundRow(self.sources[number], position, float(self.times_s[k]), float(self.cosines[k]))
            if not row.is_near(found, query.window_s):
                found.append(row)
            if len(found) == query.limit:
                break
        return found


def _compare(queries: Array, source: SearchSource) -> tuple[Array, Array]:
    """The times of a source's rows and their cosines with the only query."""
    try:
        rows, times_s = source.read()
        found = cosines(rows, queries)[:, 0]
        if found.shape != times_s.shape or not np.isfinite(found).all():
            raise StoreError("damaged")
    except (FramesiftError, OSError, ValueError, LookupError) as error:
        log.warning("%s can't be searched (%s)", source.owner.partition("@")[0], error)
        return np.zeros(0), np.zeros(0)
    return times_s, found


def _in_order(hits: Iterable[Hit], text: str) -> list[Hit]:
    """Quotes of the text first, then what stands out; of equal scores, an event before a frame."""
    return sorted(hits, key=lambda hit: (not _is_literal(hit, text), not hit.stands_out, -hit.score, hit.event is None))


def _is_literal(hit: Hit, text: str) -> bool:
    return hit.event is not None and is_quote(hit.event.text, text)


def _fuse(frames: Sequence[Hit], events: Sequence[Hit], query: _Query) -> list[Hit]:
    """One ranking from both; a frame and an event near the same second of a video become one hit.

    The hit has the frame's time, or that of the event if this is a quote of the text.
    """
    literal = [hit for hit in events if _is_literal(hit, query.text)]
    fused = [
        replace(hit, score=1 / (RANK_OFFSET + rank))
        for rank, hit in enumerate(frames, 1)
        if not any(_is_near(hit, other, query.window_s) for other in literal)
    ]
    for rank, hit in enumerate(events, 1):
        share = 1 / (RANK_OFFSET + rank)
        near = (k for k, other in enumerate(fused) if _is_near(other, hit, query.window_s) and other.event is None)
        position = next(near, None)
        if position is None:
            fused.append(replace(hit, score=share))
        else:
            frame = fused[position]
            fused[position] = replace(
                frame,
                score=frame.score + share,
                event=hit.event,
                event_relevance=hit.event_relevance,
                stands_out=frame.stands_out or hit.stands_out,
            )
    return _in_order(fused, query.text)


def _is_near(frame: Hit, text: Hit, window_s: float) -> bool:
    if frame.fingerprint != text.fingerprint or text.event is None:
        return False
    return text.event.start_s - window_s <= frame.time_s <= text.event.end_s + window_s
