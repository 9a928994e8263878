"""What is known of each video: facts from its container, whether it is ready, its index and its text.

A video is ready when `Catalog.prepare` has run for it: its index is in the store and its text has been searched for.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from framesift._utils.text import clock, counted, readable
from framesift.batch.workers import store_subtitles
from framesift.encoders.base import Encoder
from framesift.encoders.registry import check_device, get_encoder
from framesift.errors import FramesiftError, NotStored
from framesift.indexing.index import PART_SIZE, build_index
from framesift.indexing.partial import overview, partial_index
from framesift.library.files import LibraryVideo, public_message, read_json, write_json
from framesift.pipeline.chapters import suggested_questions, text_questions
from framesift.pipeline.config import PipelineConfig
from framesift.pipeline.data import join_videos
from framesift.pipeline.inputs import Encoders
from framesift.pipeline.video import Video
from framesift.pipeline.video import open as open_video
from framesift.progress import Progress
from framesift.store.fingerprint import fingerprint
from framesift.store.store import IndexKey, Store, StoredCandidates
from framesift.text.finding import FoundEvents, search_events
from framesift.text.subtitles import find_sidecars
from framesift.types import VideoIndex
from framesift.video.frames import probe

Cached = TypeVar("Cached")
CACHED_VIDEOS = 4  # indexes in memory: an hour at one frame a second and 1152 dimensions is 16 MiB

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class VideoFacts:
    """Metadata of a video's container, or why it can't be read."""

    fingerprint: str = ""
    duration_s: float = 0.0
    width: int = 0
    height: int = 0
    fps: float = 0.0
    codec: str = ""
    has_audio: bool = False
    problem: str = ""

    @property
    def image_version(self) -> str:
        """Part of the URLs of images, so that no browser shows those of a file that has been replaced."""
        return self.fingerprint[:16]


@dataclass(frozen=True)
class PreparedSummary:
    """How many events a prepared video has, where they came from, warnings about the video, and questions to try."""

    events: int
    sources: list[dict[str, Any]]
    notes: list[str]
    warnings: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class KnownVideo:
    """What is kept of the version of a file that has this stamp."""

    stamp: str
    facts: VideoFacts
    summary: PreparedSummary | None = None


class RecentCache(Generic[Cached]):
    """A small LRU cache. Each value is made once, and the others can be read meanwhile."""

    def __init__(self, size: int) -> None:
        self._entry = lru_cache(size)(self._new_entry)
        self._lock = threading.Lock()

    def _new_entry(self, _: str) -> tuple[threading.Lock, list[Cached]]:
        return threading.Lock(), []

    def get(self, key: str, make: Callable[[], Cached]) -> Cached:
        with self._lock:
            lock, made = self._entry(key)
        with lock:
            if not made:
                made.append(make())
            return made[0]


@dataclass
class _Unfinished:
    """The candidates of one version of a video. count: those that a question can use."""

    keyframes: StoredCandidates | None = None
    parts: list[StoredCandidates] = field(default_factory=list)
    count: int = 0


class UnfinishedVideos:
    """Keyframes of each video being indexed, and the parts of its index, which are read from the store once each."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._videos: OrderedDict[str, _Unfinished] = OrderedDict()
        self._lock = threading.Lock()

    def make_overview(self, video: LibraryVideo, encoder: Encoder, progress: Progress) -> None:
        """Decode and encode keyframes of the whole video, which can be asked about from the first few on."""
        known = self._of(video)
        for keyframes in overview(str(video.path), encoder, progress):
            known.keyframes, known.count = keyframes, max(known.count, len(keyframes))

    def note_progress(self, video: LibraryVideo, done: int) -> None:
        """Record that so many candidates are encoded; those of complete parts are stored."""
        known = self._of(video)
        stored = done - done % PART_SIZE
        if stored:
            known.count = max(known.count, stored + (0 if known.keyframes is None else len(known.keyframes)))

    def note_indexed(self, video: LibraryVideo, candidates: int) -> None:
        """Record that the index is complete; its text may not be."""
        known = self._of(video)
        known.count = max(known.count + 1, candidates)

    def count(self, video: LibraryVideo) -> int:
        """How many candidates can be used: rises whenever a question would be answered from more."""
        with self._lock:
            known = self._videos.get(video.stamp)
        return 0 if known is None else known.count

    def index(self, video: LibraryVideo, key: IndexKey) -> tuple[VideoIndex | None, float]:
        """The index so far, and up to which time it is complete; None without any candidate."""
        known = self._of(video)
        with self._lock:
            known.parts += self._store.load_parts(key, sum(map(len, known.parts)))
            parts = list(known.parts)
        complete_s = float(parts[-1].times_s[-1]) if parts else 0.0
        return partial_index(parts, known.keyframes, probe(video.path), key.encoder), complete_s

    def forget(self, video: LibraryVideo) -> None:
        """Drop what is known of a video that is ready."""
        with self._lock:
            self._videos.pop(video.stamp, None)

    def _of(self, video: LibraryVideo) -> _Unfinished:
        with self._lock:
            known = self._videos.setdefault(video.stamp, _Unfinished())
            self._videos.move_to_end(video.stamp)
            while len(self._videos) > CACHED_VIDEOS:
                self._videos.popitem(last=False)
        return known


class Catalog:
    """Facts are read once per version of a file and cached on disk; a few indexes and texts are cached in memory."""

    def __init__(self, config: PipelineConfig, state: Path, changed: Callable[[], None] = lambda: None) -> None:
        self.config, self._changed = config.replace(quick=False), changed
        if isinstance(config.index.encoder, str):
            check_device(config.index.encoder, config.index.device)
        self.store = Store(config.index.store)
        self._folder = state / "facts"
        self._known: dict[str, KnownVideo] = {}
        self.unfinished = UnfinishedVideos(self.store)
        self._prepared: RecentCache[Video] = RecentCache(CACHED_VIDEOS)
        self._joined: RecentCache[Video] = RecentCache(1)
        self._early: RecentCache[tuple[Video, str]] = RecentCache(CACHED_VIDEOS)
        self._texts: RecentCache[FoundEvents] = RecentCache(CACHED_VIDEOS)
        self._probe_requested = threading.Event()
        self._stopping = False

    @cached_property
    def index_key(self) -> IndexKey:
        """The key of any video's index but for its fingerprint; identifying an encoder reads its weights once."""
        return self.config.index.key("")

    def start(self, list_videos: Callable[[], Iterable[LibraryVideo]]) -> None:
        """Probe in the background what a listing finds new, and load the encoder."""
        threading.Thread(target=self._probe_new_files, args=(list_videos,), name="framesift-probe", daemon=True).start()
        threading.Thread(target=self._warm_up, name="framesift-warm-up", daemon=True).start()

    def stop(self) -> None:
        self._stopping = True
        self._probe_requested.set()

    def facts(self, video: LibraryVideo) -> VideoFacts:
        """The video's facts; the file is probed if it is new, or had a problem, which may have been fixed."""
        known = self._find(video)
        if known is None or (known.facts.problem and known.stamp):
            return self._probe(video)
        return known.facts

    def known_facts(self, video: LibraryVideo) -> VideoFacts | None:
        """The video's facts; None until the file has been probed in the background."""
        known = self._find(video)
        if known is None:
            self._probe_requested.set()
        return None if known is None else known.facts

    def index_warnings(self, video: LibraryVideo) -> list[str] | None:
        """The warnings stored with the video's index, whichever process made it; None if there is no index.

        None also for a video without known facts.
        """
        facts = self.known_facts(video)
        if facts is None or facts.problem:
            return None
        stored = self.store.index_warnings(replace(self.index_key, video=facts.fingerprint))
        return None if stored is None else [public_message(warning, video) for warning in stored]

    def is_indexed(self, video: LibraryVideo) -> bool:
        """Whether the store has the video's index; the file is probed if it is new."""
        if self.known_facts(video) is None:
            self.facts(video)
        return self.index_warnings(video) is not None

    def indexed(self, videos: Iterable[LibraryVideo]) -> dict[str, LibraryVideo]:
        """Those of the videos that are indexed, by fingerprint; of equal files the first."""
        found: dict[str, LibraryVideo] = {}
        for video in videos:
            if self.is_indexed(video):
                found.setdefault(self.facts(video).fingerprint, video)
        return found

    def summary(self, video: LibraryVideo) -> PreparedSummary | None:
        """What the last preparation of the video found; None before the first.

        For a video that another process has indexed, one is made in the background from what is stored.
        """
        known = self._find(video)
        if known is None or known.summary is not None:
            return None if known is None else known.summary
        if self.index_warnings(video) is not None:
            self._probe_requested.set()
        return None

    def is_ready(self, video: LibraryVideo) -> bool:
        return self.index_warnings(video) is not None and self.summary(video) is not None

    def index(self, video: LibraryVideo, progress: Progress) -> None:
        """Index a video and find its text; questions can be answered from its first keyframes on."""

        def report(stage: str, done: float, total: float, /) -> None:
            self.unfinished.note_progress(video, int(done))
            progress(stage, done, total)

        if not self.is_indexed(video):
            encoder = get_encoder(self.index_key.encoder, device=self.config.index.device)
            self.unfinished.make_overview(video, encoder, progress)
        self.unfinished.note_indexed(video, len(build_index(video.path, self.config.index, progress=report)))
        self.prepare(video, progress)
        self.unfinished.forget(video)

    def prepare(self, video: LibraryVideo, progress: Progress) -> None:
        """Index a video, find its text and encode it."""
        version = video.version
        prepared = open_video(video.path, self.config, source=video.url or None, progress=progress)
        self._write_summary(video, prepared.text, prepared.warnings, suggested_questions(prepared))
        self._prepared.get(version, lambda: prepared)

    def prepared(self, *videos: LibraryVideo) -> Video:
        """The index and text of a ready video, from memory or from the store; else NotStored. Several are joined.

        A subtitle file that was added later is used from the next question on.
        """
        if len(videos) > 1:
            key = "|".join(video.version for video in videos)
            return self._joined.get(key, lambda: join_videos([self.prepared(video) for video in videos]))
        (video,) = videos

        def load() -> Video:
            try:
                prepared = open_video(video.path, self.config, source=video.url or None, stored_only=True)
            except NotStored:
                raise NotStored(f"{video.name!r} is not indexed yet; index it first") from None
            self._write_summary(video, prepared.text, prepared.warnings, suggested_questions(prepared))
            return prepared

        return self._prepared.get(video.version, load)

    def find_text(self, video: LibraryVideo, progress: Progress) -> None:
        """Find a video's text, which may take long."""
        version = video.version
        text = search_events(video.path, self.config.text, self.store, progress=progress)
        self._texts.get(version, lambda: text)

    def text(self, video: LibraryVideo) -> FoundEvents:
        """The video's text, from memory, its subtitles or the store; else NotStored."""
        return self._texts.get(video.version, lambda: self._stored_text(video))

    def prepared_so_far(self, video: LibraryVideo) -> tuple[Video, str]:
        """The video as far as it is indexed, and a sentence that says how far; empty for a ready one."""
        if self.is_ready(video):
            return self.prepared(video), ""
        is_indexed = self.is_indexed(video)
        count = -1 if is_indexed else self.unfinished.count(video)

        def load() -> tuple[Video, str]:
            complete_s = 0.0
            if is_indexed:
                index = build_index(video.path, self.config.index, stored_only=True)
            else:
                key = replace(self.index_key, video=self.facts(video).fingerprint)
                known, complete_s = self.unfinished.index(video, key)
                if known is None:
                    raise NotStored(f"no frame of {video.name!r} is indexed yet; ask again in a moment")
                index = known
            try:
                text = self.text(video)
            except FramesiftError:  # what takes only reading; none where it is recognised later
                text = FoundEvents((), (), (), index.info.duration_s)
            vectors = Encoders(index, self.config).encode_events(text.events)
            known_so_far = Video(video.path, self.config, index, text, vectors)
            return known_so_far, describe_progress(known_so_far, is_indexed=is_indexed, complete_s=complete_s)

        return self._early.get(f"{video.version}|{count}", load)

    def _stored_text(self, video: LibraryVideo) -> FoundEvents:
        """The video's text as far as nothing has to be recognised; else NotStored."""
        return search_events(video.path, self.config.text, Store(self.store.root, stored_only=True))

    def subtitle_files(self, video: LibraryVideo) -> list[Path]:
        """The subtitle files beside a video; the first one is used."""
        return find_sidecars(video.path, self.config.text.language)

    def _write_summary(
        self, video: LibraryVideo, text: FoundEvents, warnings: Sequence[str], questions: list[str]
    ) -> None:
        sources = [asdict(source) | {"name": readable(Path(source.name).name)} for source in text.sources]
        notes = [public_message(note, video) for note in text.notes]
        shown = [public_message(warning, video) for warning in warnings]
        facts = self.facts(video)
        if facts.fingerprint:
            summary = PreparedSummary(len(text.events), sources, notes, shown, questions)
            self._keep(video, KnownVideo(video.stamp, facts, summary))
            store_subtitles(self.store, facts.fingerprint, text, video.url or str(video.path))

    def _find(self, video: LibraryVideo) -> KnownVideo | None:
        """What is known of the file as it is now."""
        stamp = video.stamp
        if not stamp:
            return KnownVideo("", VideoFacts(problem=f"{video.name!r} no longer exists"))
        known = self._known.get(video.id) or read_json(self._path(video), KnownVideo)
        if known is None or known.stamp != stamp:
            return None
        self._known[video.id] = known
        return known

    def _keep(self, video: LibraryVideo, known: KnownVideo) -> None:
        self._known[video.id] = known
        if known.facts.problem:  # permissions may change while the file does not
            return
        try:
            write_json(self._path(video), asdict(known))
        except OSError as error:
            log.warning("%s can't be written (%s)", self._path(video), error)

    def _path(self, video: LibraryVideo) -> Path:
        return self._folder / f"{video.id}.json"

    def _probe(self, video: LibraryVideo) -> VideoFacts:
        stamp = video.stamp
        try:
            info = probe(video.path)
            facts = VideoFacts(
                fingerprint(video.path),
                info.duration_s,
                info.width,
                info.height,
                info.fps,
                info.codec,
                info.has_audio,
            )
        except (FramesiftError, OSError) as error:
            facts = VideoFacts(problem=public_message(error, video))
        self._keep(video, KnownVideo(stamp, facts))
        return facts

    def _warm_up(self) -> None:
        """Load the encoder before the first video or question needs it."""
        try:
            encoder = get_encoder(self.index_key.encoder, device=self.config.index.device)
            encoder.encode_texts(["a question"])
        except (FramesiftError, OSError) as error:
            log.info("the encoder was not loaded ahead of the first question: %s", error)

    def _probe_new_files(self, list_videos: Callable[[], Iterable[LibraryVideo]]) -> None:
        """Probe the files that a listing had no facts for, one after the other."""
        while not self._stopping:
            self._probe_requested.wait()
            self._probe_requested.clear()
            try:
                for video in list_videos():
                    if self._stopping:
                        return
                    if self._find(video) is None:
                        self._probe(video)
                        self._changed()
                    self.summarise_if_indexed(video)
            except Exception:  # one file must not end this thread
                log.exception("the videos could not be probed")

    def summarise_if_indexed(self, video: LibraryVideo) -> None:
        """Search for the text of a video that another process has indexed, unless that takes more than reading it."""
        known, warnings = self._find(video), self.index_warnings(video)
        if known is None or known.summary is not None or warnings is None:
            return
        try:
            text = self._stored_text(video)
            self._write_summary(video, text, (*warnings, *text.warnings), text_questions(text.events))
        except (FramesiftError, OSError) as error:
            log.info("%s was indexed by another process and its text is not stored (%s)", video.name, error)
        else:
            self._changed()


def describe_progress(video: Video, *, is_indexed: bool, complete_s: float) -> str:
    """A sentence on what a selection was made from. complete_s: up to where all candidates are known."""
    text = video.text
    words = "" if text.sources or text.notes else ", without the words, which follow"
    if is_indexed:
        return f"Selected from all frames{words}."
    frames = counted(len(video.index), "frame")
    if complete_s:
        return f"Selected from {frames} so far: all up to {clock(complete_s)[:-4]}, keyframes of the rest{words}."
    return f"Selected from {frames} so far: keyframes spread over the video{words}."
