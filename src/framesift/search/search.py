"""Search a whole store for the videos and seconds that best match a text, by frames and by events. Exact."""

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from framesift._utils.credentials import public_url
from framesift.batch.journal import FOLDER
from framesift.encoders.base import Encoder, encode_long_texts, fingerprint_of
from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError, InputError, OptionError, StoreError
from framesift.search.levels import is_among, library_level
from framesift.search.sources import EventVectors, FrameVectors
from framesift.search.vectors import Segment, VectorSource, VectorStore
from framesift.selection.chance import above_chance, word_scores
from framesift.selection.lexical import is_quote
from framesift.store.manifests import manifest_warnings, read_manifest
from framesift.store.store import PART, IndexKey, Store
from framesift.types import Event
from framesift.types.selection import NOTHING_MATCHES
from framesift.types.vectors import Array

log = logging.getLogger(__name__)

SearchBy = Literal["both", "frames", "events"]
WINDOW_S = 10.0  # hits this near to a better one of the same video are merged into it
# Reciprocal rank fusion, Cormack, Clarke and Büttcher 2009: the sum of 1 / (60 + rank). Cosines of a text with images
# and with texts lie in different ranges, their ranks do not.
RANK_OFFSET = 60
Segments = Sequence[tuple[Segment, Array]]  # each with a mask of the rows to search
PROBES = ("a", "a red bus in the rain", "two people talk about their work")


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
    default all. The first search of a store writes its vectors into one file; later ones append new ones and scan it.
    """
    if not text.strip():
        raise InputError("the text to search for is empty; expected at least one word")
    if isinstance(limit, bool) or limit < 1:
        raise OptionError(f"limit is {limit}; expected a whole number of at least 1")
    if by not in get_args(SearchBy):
        raise OptionError(f"by is {by!r}; expected both, frames or events")
    model = get_encoder(encoder) if isinstance(encoder, str) else encoder
    corpus = _Corpus(Store(store), model, videos)
    query = _Query(text, *_encode_query(model, text), limit, window_s)
    frames = corpus.search_frames(query) if by != "events" else []
    events = corpus.search_events(query) if by != "frames" else []
    hits = _fuse(frames, events, query)[:limit] if by == "both" and events else frames or events
    return [corpus.with_video(hit) for hit in hits]


def match_note(hits: Sequence[Hit]) -> str:
    """What to tell the user when nothing that was found stands out; else empty."""
    return NOTHING_MATCHES if hits and not any(hit.stands_out for hit in hits) else ""


@dataclass(frozen=True)
class _Query:
    """A text, its vector, the columns to compare, and the arguments of the search."""

    text: str
    vector: Array
    columns: Array
    limit: int
    window_s: float


class _Corpus:
    """The indexes and events of a store that one encoder can search."""

    def __init__(self, store: Store, model: Encoder, videos: Collection[str] | None = None) -> None:
        self.store, self.model, self.videos = store, model, videos
        # The folder's name up to the sampling: an index of any sampling can be searched.
        self._prefix = IndexKey("", model.name, fingerprint_of(model), "", "").encoder_prefix
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

    def frame_sources(self) -> list[FrameVectors]:
        return [
            FrameVectors.of(self.store.root / video / name)
            for video, inside in self._folders.items()
            for name in inside
            if name.startswith(self._prefix) and not name.endswith(PART)
        ]

    def event_sources(self) -> list[EventVectors]:
        sources: list[EventVectors] = []
        for video, inside in self._folders.items():
            for name in inside:
                if name.startswith("events-"):
                    sources += EventVectors.read(self.store, video, name, self.model, self._duration_s(video))
        return sources

    def search_frames(self, query: _Query) -> list[Hit]:
        sources = self.frame_sources()
        found = _best_rows(self._segments("frames", sources, query), sources, query)
        above = above_chance(np.array([row.cosine for row in found]), self._level("frames", sources))
        return _in_order(
            [
                Hit("", row.time_s, row.cosine, row.cosine, fingerprint=row.video, stands_out=bool(is_above))
                for row, is_above in zip(found, above, strict=True)
            ],
            query.text,
        )

    def search_events(self, query: _Query) -> list[Hit]:
        """The best events by cosine, and the best of those that contain every word of the text."""
        listed = self.event_sources()
        if not listed:
            return []
        segments = self._segments("events", listed, query)
        sources = {source.owner: source for source in listed}
        quoting = {source.owner: source.quoting(query.text) for source in listed}
        quoted = [(segment, current & _rows_of(segment, quoting)) for segment, current in segments]
        found = _best_rows(quoted, listed, query)
        found += [row for row in _best_rows(segments, listed, query) if not row.is_near(found, query.window_s)]
        lexical = {owner: sources[owner].words.scores(query.text) for owner in {row.owner for row in found}}
        shared = np.array([lexical[row.owner][row.position] for row in found])
        scores = word_scores(np.array([row.cosine for row in found]), shared)
        is_quoting = [k for k, row in enumerate(found) if row.position in quoting[row.owner]]
        above = above_chance(scores, self._level("events", listed), is_quoting)
        hits = []
        for row, is_above in zip(found, above, strict=True):
            event = sources[row.owner].events[row.position]
            hits.append(Hit("", row.time_s, row.cosine, None, row.cosine, event, row.video, stands_out=bool(is_above)))
        return _in_order(hits, query.text)[: query.limit]

    def _segments(self, kind: str, sources: Sequence[VectorSource], query: _Query) -> Segments:
        # All sources, whatever is searched: the files of vectors are shared.
        vectors = VectorStore(self.store.root / FOLDER, f"search-{self._prefix}{kind}")
        return [(s, current & self._is_searched(s)) for s, current in vectors.update(sources, query.columns)]

    def _level(self, kind: str, sources: Sequence[FrameVectors] | Sequence[EventVectors]) -> float:
        file = self.store.root / FOLDER / f"chance-{self._prefix}{kind}.json"
        return library_level(file, sources, self.model, self.videos)

    def _is_searched(self, segment: Segment) -> Any:
        """(N,) bool: the rows of the videos to search."""
        searched = [is_among(owner, self.videos) for owner in segment.owners]
        return np.repeat(searched, np.diff([*segment.starts, len(segment)]))

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


class _RowRanking:
    """The rows of all segments under one numbering, and the best of them without reading each."""

    def __init__(
        self,
        segments: Sequence[tuple[Segment, Array]],
        sources: Sequence[VectorSource],
        query: Array,
    ) -> None:
        self.segments = segments
        self.sources = {source.owner: source for source in sources}
        self.query = query.astype(np.float64)
        self.offsets = np.cumsum([0, *(len(segment) for segment, _ in segments)])
        scanned = [(segment.scan(query), current) for segment, current in segments]
        bounds = [np.where(current, products + errors, np.float32(-np.inf)) for (products, errors), current in scanned]
        self.upper_bounds: Array = np.concatenate(bounds) if bounds else np.zeros(0, np.float32)
        self._exact: dict[int, float] = {}

    def best(self, limit: int, window_s: float) -> list[tuple[int, float]]:
        """(row, exact score) of the best `limit` rows, each farther than `window_s` from better ones of its video.

        Rows are read until no other row can rank before the last of the result.
        """
        count = max(256, 8 * limit)
        wanted = self._highest(count)
        while True:
            self._read_exact(int(row) for row in wanted if int(row) not in self._exact)
            best = self._separated(limit, window_s)
            if len(best) < limit and len(self._exact) < np.isfinite(self.upper_bounds).sum():
                count *= 4
                wanted = self._highest(count)
                continue
            floor = best[-1][1] if len(best) == limit else -np.inf
            wanted = np.flatnonzero(self.upper_bounds >= floor)
            wanted = wanted[np.isfinite(self.upper_bounds[wanted])]
            if all(int(row) in self._exact for row in wanted):
                return best

    def _highest(self, count: int) -> Array:
        """The `count` current rows with the highest bounds, or all of them."""
        count = min(int(np.isfinite(self.upper_bounds).sum()), count)
        highest: Array = np.argpartition(self.upper_bounds, -count)[-count:] if count else np.zeros(0, int)
        return highest

    def owner_of(self, row: int) -> tuple[str, int]:
        number = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return self.segments[number][0].owner_of(row - int(self.offsets[number]))

    def time_of(self, row: int) -> float:
        number = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return float(self.segments[number][0].rows["time_s"][row - self.offsets[number]])

    def _read_exact(self, rows: Iterable[int]) -> None:
        by_owner: dict[str, list[tuple[int, int]]] = {}
        for row in rows:
            owner, position = self.owner_of(row)
            by_owner.setdefault(owner, []).append((row, position))
        for owner, pairs in by_owner.items():
            try:
                exact = self.sources[owner].rows_at([position for _, position in pairs]).astype(np.float64) @ self.query
            except (FramesiftError, OSError, ValueError, LookupError) as error:
                log.warning("%s can't be searched (%s)", owner.partition("@")[0], error)
                self._leave_out(owner)
                continue
            self._exact |= {row: float(score) for (row, _), score in zip(pairs, exact, strict=True)}

    def _leave_out(self, owner: str) -> None:
        """Exclude the rows of a source that can't be read any more."""
        for (segment, _), offset in zip(self.segments, self.offsets, strict=False):
            bounds = [*segment.starts, len(segment)]
            for number, name in enumerate(segment.owners):
                if name == owner:
                    self.upper_bounds[offset + bounds[number] : offset + bounds[number + 1]] = -np.inf
        self._exact = {row: score for row, score in self._exact.items() if np.isfinite(self.upper_bounds[row])}

    def _separated(self, limit: int, window_s: float) -> list[tuple[int, float]]:
        """The best of the rows read so far, without those near a better one of the same video."""
        times_by_video: dict[str, list[float]] = {}
        best: list[tuple[int, float]] = []
        for row, score in sorted(self._exact.items(), key=lambda item: (-item[1], item[0])):
            if len(best) == limit:
                break
            video, time_s = self.owner_of(row)[0].partition("/")[0], self.time_of(row)
            if all(abs(time_s - other) > window_s for other in times_by_video.get(video, ())):
                times_by_video.setdefault(video, []).append(time_s)
                best.append((row, score))
        return best


def _encode_query(model: Encoder, text: str) -> tuple[Array, Array]:
    """The text's vector, and the columns in which this encoder's text vectors are not zero.

    Those of the offline encoder are zero in the columns of visual appearance, so products can skip them.
    """
    vectors = encode_long_texts(model, [*PROBES, text])
    patterns = vectors != 0
    same = bool((patterns == patterns[0]).all())
    columns = np.flatnonzero(patterns[0]) if same else np.arange(vectors.shape[1])
    return vectors[-1], columns


@dataclass(frozen=True)
class _FoundRow:
    """A row of a source that was found, and its cosine with the query."""

    owner: str
    position: int
    time_s: float
    cosine: float

    @property
    def video(self) -> str:
        return self.owner.partition("/")[0]

    def is_near(self, others: "Iterable[_FoundRow]", window_s: float) -> bool:
        return any(self.video == other.video and abs(self.time_s - other.time_s) <= window_s for other in others)


def _best_rows(segments: Segments, sources: Sequence[VectorSource], query: _Query) -> list[_FoundRow]:
    if not any(mask.any() for _, mask in segments):
        return []
    ranking = _RowRanking(segments, sources, query.vector)
    best = ranking.best(query.limit, query.window_s)
    return [_FoundRow(*ranking.owner_of(row), ranking.time_of(row), cosine) for row, cosine in best]


def _rows_of(segment: Segment, positions: Mapping[str, Sequence[int]]) -> Array:
    """(N,) bool: the rows at these positions of each source."""
    rows: Array = np.zeros(len(segment), bool)
    for owner, start in zip(segment.owners, segment.starts, strict=True):
        rows[start + np.array(positions.get(owner, ()), int)] = True
    return rows


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
