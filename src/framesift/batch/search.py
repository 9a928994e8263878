"""Search a whole store for the videos and seconds that best match a text, by frames and by events. Exact."""

import hashlib
import logging
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from framesift.batch.journal import FOLDER
from framesift.batch.vector_store import Segment, VectorSource, VectorStore
from framesift.encoders.base import Encoder, encode_long_texts, fingerprint_of
from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError, InputError, OptionError, StoreError
from framesift.readers.address import public_url
from framesift.store.arrays import unpack_arrays
from framesift.store.manifests import SAMPLING_RULES, manifest_warnings, read_manifest
from framesift.store.store import INDEX, PART, IndexKey, Store, events_from, read_payload
from framesift.store.text_vectors import cached_text_vectors
from framesift.types import Event
from framesift.types.vectors import Array, unit_rows

log = logging.getLogger(__name__)

SearchBy = Literal["both", "frames", "events"]
WINDOW_S = 10.0  # hits this near to a better one of the same video are merged into it
# Reciprocal rank fusion, Cormack, Clarke and Büttcher 2009: the sum of 1 / (60 + rank). Cosines of a text with images
# and with texts lie in different ranges, their ranks do not.
RANK_OFFSET = 60
PROBES = ("a", "a red bus in the rain", "two people talk about their work")


@dataclass(frozen=True)
class Hit:
    """A second of a video. relevance: cosine with the frame; event_relevance: with the event; None if not found by it.

    score: the sort key: the cosine, or the sum over both rankings. warnings: what was lost, guessed or odd in the
    video and its text.
    """

    video: str
    time_s: float
    score: float
    relevance: float | None = None
    event_relevance: float | None = None
    event: Event | None = None
    fingerprint: str = ""
    warnings: tuple[str, ...] = ()

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
    query, columns = _encode_query(model, text)
    frames = corpus.search(corpus.frame_sources(), query, columns, limit, window_s) if by != "events" else []
    events = corpus.search(corpus.event_sources(), query, columns, limit, window_s) if by != "frames" else []
    hits = _fuse(frames, events, window_s)[:limit] if by == "both" and events else frames or events
    return [corpus.with_video(hit) for hit in hits]


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

    def frame_sources(self) -> list[VectorSource]:
        return [
            _FrameVectors.of(self.store.root / video / name)
            for video, inside in self._folders.items()
            for name in inside
            if name.startswith(self._prefix) and not name.endswith(PART)
        ]

    def event_sources(self) -> list[VectorSource]:
        sources: list[VectorSource] = []
        for video, inside in self._folders.items():
            for name in inside:
                if name.startswith("events-"):
                    sources += _EventVectors.read(self.store, video, name, self.model, self._duration_s(video))
        return sources

    def search(
        self, sources: Sequence[VectorSource], query: Array, columns: Array, limit: int, window_s: float
    ) -> list[Hit]:
        if not sources:
            return []
        kind = "frames" if isinstance(sources[0], _FrameVectors) else "events"
        # All sources, whatever is searched: the files of vectors are shared.
        segments = VectorStore(self.store.root / FOLDER, f"search-{self._prefix}{kind}").update(sources, columns)
        ranking = _RowRanking([(s, current & self._is_searched(s)) for s, current in segments], sources, query)
        return [_hit(*ranking.locate(row), score) for row, score in ranking.best(limit, window_s)]

    def _is_searched(self, segment: Segment) -> Any:
        """(N,) bool: the rows of the videos to search."""
        searched = [self.videos is None or owner.partition("/")[0] in self.videos for owner in segment.owners]
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


@dataclass(frozen=True)
class _FrameVectors:
    """The frames of one index that show something, read from its file."""

    owner: str
    file: Path

    @classmethod
    def of(cls, folder: Path) -> "_FrameVectors":
        """The frames of an entry. The owner's name changes when its file is written: it is verified again."""
        try:
            written_ns = (folder / INDEX).stat().st_mtime_ns
        except OSError:  # reported when it is read
            written_ns = 0
        return cls(f"{folder.parent.name}/{folder.name}@{SAMPLING_RULES}-{written_ns}", folder / INDEX)

    def vectors(self) -> tuple[Array, Array]:
        folder = self.file.parent
        tensors = unpack_arrays(read_payload(folder, "index", read_manifest(folder)))
        if "rules" not in tensors or tensors["rules"].tolist() != [SAMPLING_RULES]:
            raise StoreError("made by an earlier version; index the video again")
        shown = _shown(tensors["is_blank"])
        frames, times_s = tensors["frames"][shown], tensors["times_s"][shown]
        if frames.ndim != 2 or times_s.shape != (len(frames),):
            raise StoreError(f"{self.file} is damaged (frames {frames.shape}, times {times_s.shape})")
        return _unit(frames), times_s

    def rows_at(self, positions: Sequence[int]) -> Array:
        with self._opened() as tensors:
            frames, indices = (
                tensors.get_slice("frames"),
                _shown(tensors.get_tensor("is_blank"))[list(positions)].tolist(),
            )
            return _unit(np.concatenate([frames[index : index + 1] for index in indices]))

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(self.file), "numpy") as tensors:
                yield tensors
        except (SafetensorError, OSError, TypeError, ValueError) as error:
            raise StoreError(f"{self.file} is damaged ({error}); index the video again") from None


@dataclass(frozen=True)
class _EventVectors:
    """The events of one video from one source, and their stored vectors."""

    owner: str
    events: tuple[Event, ...]
    texts: tuple[str, ...]  # of all stored events, whose vectors are stored together
    inside: tuple[int, ...]  # positions of `events` among these
    model: Encoder
    root: Path

    @classmethod
    def read(cls, store: Store, video: str, name: str, model: Encoder, duration_s: float) -> "list[_EventVectors]":
        """The events inside the video, or no source if they can't be read. The owner's name changes with the text."""
        try:
            folder = store.root / video / name
            payload = read_payload(folder, "events", read_manifest(folder))
            listed = events_from(payload)
        except (OSError, InputError, StoreError) as error:
            log.warning("%s/%s can't be searched (%s)", video, name, error)
            return []
        inside = [k for k, event in enumerate(listed) if event.end_s >= 0 and event.start_s <= duration_s]
        events = tuple(_clipped(listed[k], duration_s) for k in inside)
        if len(inside) < len(listed):
            payload += str(inside).encode()
        digest = hashlib.blake2b(payload, digest_size=8).hexdigest()
        texts = tuple(event.text for event in listed)
        return [cls(f"{video}/{name}@{digest}", events, texts, tuple(inside), model, store.root)] if events else []

    def vectors(self) -> tuple[Array, Array]:
        vectors = cached_text_vectors(self.model, self.texts, self.root)[list(self.inside)]
        return vectors, np.array([event.start_s for event in self.events])

    def rows_at(self, positions: Sequence[int]) -> Array:
        return self.vectors()[0][list(positions)]


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

    def locate(self, row: int) -> tuple[VectorSource, int, float]:
        """The source of a row, its position there, and its time."""
        owner, position = self.owner_of(row)
        return self.sources[owner], position, self.time_of(row)

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


def _shown(is_blank: Array) -> Array:
    """The indices of an index's frames that are not blank; all of them if every one is."""
    return np.flatnonzero(~is_blank | is_blank.all())


def _unit(frames: Array) -> Array:
    rows: Array = unit_rows(frames, "frames").astype(np.float32)
    return rows


def _clipped(event: Event, duration_s: float) -> Event:
    return replace(event, start_s=max(0.0, event.start_s), end_s=min(duration_s, event.end_s))


def _hit(source: VectorSource, position: int, time_s: float, score: float) -> Hit:
    video = source.owner.partition("/")[0]
    if isinstance(source, _EventVectors):
        event = source.events[position]
        return Hit("", time_s, score, event_relevance=score, event=event, fingerprint=video)
    return Hit("", time_s, score, relevance=score, fingerprint=video)


def _fuse(frames: Sequence[Hit], events: Sequence[Hit], window_s: float) -> list[Hit]:
    """One ranking from both; a frame and an event near the same second of a video become one hit."""
    fused = [replace(hit, score=1 / (RANK_OFFSET + rank)) for rank, hit in enumerate(frames, 1)]
    for rank, hit in enumerate(events, 1):
        share = 1 / (RANK_OFFSET + rank)
        near = (k for k, other in enumerate(fused) if _is_near(other, hit, window_s) and other.event is None)
        position = next(near, None)
        if position is None:
            fused.append(replace(hit, score=share))
        else:
            score = fused[position].score + share
            fused[position] = replace(
                fused[position], score=score, event=hit.event, event_relevance=hit.event_relevance
            )
    return sorted(fused, key=lambda hit: -hit.score)


def _is_near(frame: Hit, text: Hit, window_s: float) -> bool:
    if frame.fingerprint != text.fingerprint or text.event is None:
        return False
    return text.event.start_s - window_s <= frame.time_s <= text.event.end_s + window_s
