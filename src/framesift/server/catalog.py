"""What the server knows about each video: facts from its container, whether it is ready, its index and its text.

A video is ready when `Pipeline.prepare` has run for it: its index is in the store and its text has been searched for.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from framesift._utils.json import load_json
from framesift._utils.records import read_record
from framesift._utils.text import readable
from framesift.batch.workers import store_subtitles
from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError, InputError
from framesift.pipeline.pipeline import Pipeline, PreparedVideo
from framesift.progress import Progress
from framesift.server.config import ServerConfig
from framesift.server.files import LibraryVideo, VideoFiles, write_json
from framesift.server.jobs import IndexJob
from framesift.server.recent_cache import RecentCache
from framesift.server.unfinished import UnfinishedVideos, describe_progress
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store
from framesift.text.finding import FoundEvents
from framesift.text.subtitles import find_sidecars
from framesift.video.frames import probe

CACHED_VIDEOS = 4  # indexes in memory: an hour at one frame a second and 1152 dimensions is 16 MiB
# Stages reported by the pipeline.
ENCODING_TEXT = "encoding text"
TEXT_STAGES = ("speech recognition", "screen text", ENCODING_TEXT)

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
    def version(self) -> str:
        """Part of the URLs of images, so that no browser shows those of a file that has been replaced."""
        return self.fingerprint[:16]


@dataclass(frozen=True)
class PreparedSummary:
    """How many events a prepared video has, where they came from, and warnings about the video."""

    events: int
    sources: list[dict[str, Any]]
    notes: list[str]
    warnings: list[str] = field(default_factory=list)


class _SubtitlesChanged(Exception):
    """Subtitle files were added or changed during a search."""


class NotReady(FramesiftError):
    """The video is not indexed yet."""


class Catalog:
    """Facts are read once per version of a file and cached on disk; a few indexes and texts are cached in memory."""

    def __init__(self, config: ServerConfig, files: VideoFiles, changed: Callable[[], None]) -> None:
        self.config, self.files, self._changed = config, files, changed
        self.pipeline = Pipeline(config.pipeline)
        self.store = Store(config.pipeline.store)
        self._folder = config.state / "facts"
        self._facts: dict[str, VideoFacts] = {}
        self.unfinished = UnfinishedVideos(self.store)
        self._prepared: RecentCache[PreparedVideo] = RecentCache(CACHED_VIDEOS)
        self._early: RecentCache[tuple[PreparedVideo, str]] = RecentCache(CACHED_VIDEOS)
        self._early_texts: RecentCache[FoundEvents] = RecentCache(CACHED_VIDEOS)
        self._probe_requested = threading.Event()
        self._searched: dict[str, str] = {}  # versions of the store, by video, whose text can't be had without work
        self._stopping = False

    def start(self) -> None:
        threading.Thread(target=self._probe_new_files, name="framesift-probe", daemon=True).start()
        threading.Thread(target=self._warm_up, name="framesift-warm-up", daemon=True).start()

    def stop(self) -> None:
        self._stopping = True
        self._probe_requested.set()

    def facts(self, video: LibraryVideo, *, wait: bool = False) -> VideoFacts | None:
        """The video's facts. Without `wait`, None until the file has been probed in the background."""
        try:
            stamp = video.stamp
        except OSError:
            return VideoFacts(problem=f"{video.name!r} no longer exists")
        facts = self._facts.get(stamp) or self._read_facts(stamp)
        if wait and (facts is None or facts.problem):  # the problem may have been fixed
            facts = self._probe(video, stamp)
        if facts is None:
            self._probe_requested.set()
        return facts

    def index_warnings(self, video: LibraryVideo) -> list[str] | None:
        """The warnings stored with the video's index, whichever process made it; None if there is no index."""
        facts = self.facts(video)
        if facts is None or facts.problem:
            return None
        stored = self.store.index_warnings(replace(self.pipeline.index_key, video=facts.fingerprint))
        return None if stored is None else [public_message(warning, video) for warning in stored]

    def summary(self, video: LibraryVideo) -> PreparedSummary | None:
        """What the last preparation of the video found; None before the first.

        For a video that another process has indexed, one is made in the background from what is stored.
        """
        try:
            content = self._summary_path(video).read_bytes()
            return read_record(PreparedSummary, load_json(content, "the summary", "an object"), "the summary")
        except (OSError, InputError):
            if self._may_summarise(video):
                self._probe_requested.set()
            return None

    def is_ready(self, video: LibraryVideo) -> bool:
        return self.index_warnings(video) is not None and self.summary(video) is not None

    def index_frames(self, job: IndexJob, progress: Progress) -> None:
        """First stage of a job: index the frames, after generating the video if it is the sample video."""
        if job.kind == "sample":
            from framesift.demo.video import sample_video

            self.files.uploads.mkdir(parents=True, exist_ok=True)
            sample_video(self.files.uploads, name=job.name, progress=progress)
            self.files.list_videos()
        video = self._video_of(job)
        self.facts(video, wait=True)

        def report(stage: str, done: float, total: float, /) -> None:
            self.unfinished.note_progress(video, int(done))
            progress(stage, done, total)

        try:
            if self.config.pipeline.language is not None:
                with suppress(NotReady):  # text in other languages only is an error before the long work
                    self.pipeline.find_events(video.path, progress=_refuse_slow_stages)
            if self.index_warnings(video) is None:
                encoder = get_encoder(self.pipeline.index_key.encoder, device=self.config.pipeline.device)
                self.unfinished.make_overview(video, encoder, progress)
            self.unfinished.note_indexed(video, len(self.pipeline.index(video.path, progress=report)))
        except FramesiftError as error:
            raise FramesiftError(public_message(error, video)) from error

    def find_text(self, job: IndexJob, progress: Progress) -> None:
        """Second stage of a job: find the video's text and encode it."""
        video = self._video_of(job)
        self.prepare(video, progress)
        self.unfinished.forget(video)

    def _video_of(self, job: IndexJob) -> LibraryVideo:
        video = self.files.get(job.video)
        if video is None:
            raise FramesiftError(f"{job.name!r} no longer exists")
        return video

    def prepare(self, video: LibraryVideo, progress: Progress) -> None:
        """Index the video, find its text and encode it, and again when subtitles arrive meanwhile."""
        try:
            while True:
                before = self._subtitle_versions(video)

                def checked(stage: str, done: float, total: float, /, before: list[str] = before) -> None:
                    progress(stage, done, total)
                    if stage in TEXT_STAGES and self._subtitle_versions(video) != before:
                        raise _SubtitlesChanged

                with suppress(_SubtitlesChanged):
                    prepared = self.pipeline.prepare(video.path, progress=checked)
                    if self._subtitle_versions(video) == before:
                        break
        except FramesiftError as error:
            raise FramesiftError(public_message(error, video)) from error
        self._write_summary(video, prepared.text, prepared.warnings)

    def prepared(self, video: LibraryVideo) -> PreparedVideo:
        """The index and text of a ready video, from memory or from the store; else NotReady.

        A subtitle file that was added later is used from the next question on.
        """

        def load() -> PreparedVideo:
            if not self.is_ready(video):
                raise NotReady(f"{video.name!r} is not indexed yet; index it first")
            prepared = self.pipeline.prepare(video.path, progress=_refuse_slow_stages)
            self._write_summary(video, prepared.text, prepared.warnings)
            return prepared

        return self._prepared.get("|".join([video.stamp, *self._subtitle_versions(video)]), load)

    def prepared_so_far(self, video: LibraryVideo) -> tuple[PreparedVideo, str]:
        """The video as far as it is indexed, and a sentence that says how far; empty for a ready one."""
        if self.is_ready(video):
            return self.prepared(video), ""
        versions = [video.stamp, *self._subtitle_versions(video)]
        is_indexed = self.index_warnings(video) is not None
        count = -1 if is_indexed else self.unfinished.count(video)

        def load() -> tuple[PreparedVideo, str]:
            complete_s = 0.0
            if is_indexed:
                index = self.pipeline.index(video.path, progress=_refuse_slow_stages)
            else:
                key = replace(self.pipeline.index_key, video=(self.facts(video, wait=True) or VideoFacts()).fingerprint)
                known, complete_s = self.unfinished.index(video, key)
                if known is None:
                    raise NotReady(f"no frame of {video.name!r} is indexed yet; ask again in a moment")
                index = known
            text = self._early_texts.get("|".join(versions), lambda: self._text_so_far(video, index.info.duration_s))
            prepared = PreparedVideo(video.path, index, text, self.pipeline.encode_events(index, text.events))
            return prepared, describe_progress(prepared, is_indexed=is_indexed, complete_s=complete_s)

        return self._early.get("|".join([*versions, str(count)]), load)

    def _text_so_far(self, video: LibraryVideo, duration_s: float) -> FoundEvents:
        """The text that takes only reading; none where it is recognised later."""
        try:
            return self.pipeline.find_events(video.path, progress=_refuse_slow_stages)
        except FramesiftError:
            return FoundEvents((), (), (), duration_s)

    def subtitle_files(self, video: LibraryVideo) -> list[Path]:
        """The subtitle files beside a video; the first one is used."""
        return find_sidecars(video.path, language=self.config.pipeline.language)

    def _subtitle_versions(self, video: LibraryVideo) -> list[str]:
        """The subtitle files with their modification times."""
        rows = []
        for path in self.subtitle_files(video):
            with suppress(FileNotFoundError):  # deleted since it was listed
                rows.append(f"{path}:{path.stat().st_mtime_ns}")
        return rows

    def _write_summary(self, video: LibraryVideo, text: FoundEvents, warnings: Sequence[str]) -> None:
        sources = [asdict(source) | {"name": readable(Path(source.name).name)} for source in text.sources]
        notes = [public_message(note, video) for note in text.notes]
        shown = [public_message(warning, video) for warning in warnings]
        write_json(self._summary_path(video), asdict(PreparedSummary(len(text.events), sources, notes, shown)))
        facts = self.facts(video, wait=True)
        if facts is not None and facts.fingerprint:
            store_subtitles(self.store, facts.fingerprint, text, str(video.path))

    def _summary_path(self, video: LibraryVideo) -> Path:
        return self._folder / f"{video.stamp}.words.json"

    def _read_facts(self, stamp: str) -> VideoFacts | None:
        try:
            content = (self._folder / f"{stamp}.json").read_bytes()
            facts = read_record(VideoFacts, load_json(content, "the facts", "an object"), "the facts")
        except (OSError, InputError):
            return None
        self._facts[stamp] = facts
        return facts

    def _probe(self, video: LibraryVideo, stamp: str) -> VideoFacts:
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
        self._drop_earlier(video, stamp)
        self._facts[stamp] = facts
        if not facts.problem:  # a problem is not cached: permissions may change while the file does not
            try:
                write_json(self._folder / f"{stamp}.json", asdict(facts))
            except OSError as error:
                log.warning("facts of %s can't be cached (%s)", video.name, error)
        return facts

    def _drop_earlier(self, video: LibraryVideo, stamp: str) -> None:
        """Delete the facts of earlier versions of a file; one that is still being written changes all the time."""
        for old in [key for key in self._facts if key.startswith(f"{video.id}-") and key != stamp]:
            self._facts.pop(old, None)
        for path in self._folder.glob(f"{video.id}-*.json"):
            if not path.name.startswith(f"{stamp}."):
                path.unlink(missing_ok=True)

    def _warm_up(self) -> None:
        """Load the encoder before the first video or question needs it."""
        try:
            encoder = get_encoder(self.pipeline.index_key.encoder, device=self.config.pipeline.device)
            encoder.encode_texts(["a question"])
        except (FramesiftError, OSError) as error:
            log.info("the encoder was not loaded ahead of the first question: %s", error)

    def _probe_new_files(self) -> None:
        """Probe the files that a listing had no facts for, one after the other."""
        while not self._stopping:
            self._probe_requested.wait()
            self._probe_requested.clear()
            try:
                for video in self.files.list_videos():
                    if self._stopping:
                        return
                    self._probe_if_new(video)
                    self._summarise_if_indexed(video)
            except Exception:  # one file must not end this thread
                log.exception("the videos could not be probed")

    def _probe_if_new(self, video: LibraryVideo) -> None:
        try:
            stamp = video.stamp
            if stamp not in self._facts and self._read_facts(stamp) is None:
                self._probe(video, stamp)
                self._changed()
        except OSError:
            log.info("%s was deleted after it was listed", video.name)

    def _may_summarise(self, video: LibraryVideo) -> bool:
        """Whether the video was indexed elsewhere, and its text not searched for since the store last changed."""
        try:
            return self.index_warnings(video) is not None and self._searched.get(video.id) != self._store_version(video)
        except OSError:
            return False

    def _store_version(self, video: LibraryVideo) -> str:
        """Changes whenever the file does, or an entry of the store for it is added."""
        facts = self.facts(video) or VideoFacts()
        return f"{video.stamp}-{(self.store.root / facts.fingerprint).stat().st_mtime_ns}"

    def _summarise_if_indexed(self, video: LibraryVideo) -> None:
        """Search for the text of a video that another process has indexed, unless that takes more than reading it."""
        if self._summary_path(video).exists() or not self._may_summarise(video):
            return
        self._searched[video.id] = self._store_version(video)
        try:
            text = self.pipeline.find_events(video.path, progress=_refuse_slow_stages)
            self._write_summary(video, text, (*(self.index_warnings(video) or ()), *text.warnings))
        except (FramesiftError, OSError) as error:
            log.info("%s was indexed by another process and its text is not stored (%s)", video.name, error)
        else:
            self._changed()


def public_message(error: object, video: LibraryVideo) -> str:
    """A message with file names as the page shows them, never with their location on disk."""
    path = str(video.path)
    message = str(error).replace(repr(path), repr(video.name)).replace(path, video.name)
    return readable(message.replace(f"{video.path.parent}/", ""))


def _refuse_slow_stages(stage: str, _done: float, _total: float, /) -> None:
    """Progress callback inside a request: slow work belongs in the queue; encoding some new subtitles does not."""
    if stage != ENCODING_TEXT:
        raise NotReady("part of this video's index is no longer in the store; index it again")
