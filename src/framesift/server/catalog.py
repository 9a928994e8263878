"""What the server knows about each video: facts from its container, whether it is ready, its index and its text.

A video is ready when its index is in the store and its text has been searched for. Both are what `framesift select`
would use, made with the same options.
"""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from framesift._utils.text import readable
from framesift.errors import FramesiftError
from framesift.progress import Progress
from framesift.server.config import ServerConfig
from framesift.server.files import LibraryVideo, VideoFiles, write_json
from framesift.server.jobs import IndexJob
from framesift.store.events import Found, search_events
from framesift.store.fingerprint import fingerprint
from framesift.store.indexing import index, key_of
from framesift.store.store import Key, Store
from framesift.text.subtitles import find_sidecars
from framesift.types import VideoIndex
from framesift.video.frames import probe

CACHED_VIDEOS = 4  # indexes in memory: an hour at one frame a second and 1152 dimensions is 16 MiB
Value = TypeVar("Value")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class VideoFacts:
    """What the container says about a video, or why it can't be read."""

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
class TextSummary:
    """How many events a video has and where they came from."""

    events: int
    sources: list[dict[str, Any]]
    notes: list[str]


class _SubtitlesChanged(Exception):
    """Subtitle files were added or changed during a search."""


class NotReady(FramesiftError):
    """The video is not indexed yet."""


class RecentCache(Generic[Value]):
    """A small LRU cache. Each value is made once, and the others can be read meanwhile."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()
        self._making = [threading.Lock() for _ in range(16)]

    def get(self, key: str, make: Callable[[], Value]) -> Value:
        value = self._find(key)
        if value is not None:
            return value
        with self._making[hash(key) % len(self._making)]:
            value = self._find(key)  # another thread may have made it meanwhile
            if value is None:
                value = make()
                with self._lock:
                    self._values[key] = value
                    while len(self._values) > self._size:
                        self._values.popitem(last=False)
            return value

    def _find(self, key: str) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)


class Catalog:
    """Facts are read once per version of a file and cached on disk; a few indexes and texts are cached in memory."""

    def __init__(self, config: ServerConfig, files: VideoFiles, changed: Callable[[], None]) -> None:
        self.config, self.files, self._changed = config, files, changed
        self.store = Store(config.store)
        self._folder = config.state / "facts"
        self._facts: dict[str, VideoFacts] = {}
        self._indexes: RecentCache[VideoIndex] = RecentCache(CACHED_VIDEOS)
        self._texts: RecentCache[Found] = RecentCache(CACHED_VIDEOS)
        self._probe_requested = threading.Event()
        self._stopping = False

    def start(self) -> None:
        threading.Thread(target=self._probe_new_files, name="framesift-probe", daemon=True).start()
        threading.Thread(target=self._warm_up, name="framesift-warm-up", daemon=True).start()

    def stop(self) -> None:
        self._stopping = True
        self._probe_requested.set()

    @cached_property
    def _key(self) -> Key:
        """The index key of any video but for its fingerprint; identifying an encoder reads its weights once."""
        return key_of("", self.config.encoder, self.config.fps, self.config.mode)

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

    def is_indexed(self, video: LibraryVideo) -> bool:
        facts = self.facts(video)
        if facts is None or facts.problem:
            return False
        return self.store.has(replace(self._key, video=facts.fingerprint))

    def text_summary(self, video: LibraryVideo) -> TextSummary | None:
        """The result of the last search for the video's text; None before the first."""
        try:
            return TextSummary(**json.loads(self._summary_path(video).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def is_ready(self, video: LibraryVideo) -> bool:
        return self.is_indexed(video) and self.text_summary(video) is not None

    def run_job(self, job: IndexJob, progress: Progress) -> None:
        """Index a job's video, after generating it if it is the sample video."""
        if job.kind == "sample":
            from framesift.store.sample_video import sample_video

            self.files.uploads.mkdir(parents=True, exist_ok=True)
            path = sample_video(
                self.files.uploads, progress=lambda _, done, total: progress("making the video", done, total)
            )
            video = next((one for one in self.files.list_videos() if one.path == path), None)
        else:
            video = self.files.get(job.video)
        if video is None:
            raise FramesiftError(f"{job.name!r} no longer exists")
        self.prepare(video, progress)

    def prepare(self, video: LibraryVideo, progress: Progress) -> None:
        """Index the video, search for its text and encode it, so that questions need no further preparation."""
        config = self.config
        try:
            made = index(
                video.path,
                config.encoder,
                config.fps,
                config.mode,
                progress=progress,
                store=self.store,
                device=config.device,
            )
            while True:
                before = self._subtitle_versions(video)
                progress("looking for words", 0, 0)
                found = self._search_until_stable(video, progress)
                self._encode_text(made, found, lambda _, done, total: progress("reading the words", done, total))
                if self._subtitle_versions(video) == before:
                    break
        except FramesiftError as error:
            raise FramesiftError(public_message(error, video)) from error
        self._write_summary(video, found)

    def index(self, video: LibraryVideo) -> VideoIndex:
        """The video's index, from memory or from the store; NotReady where there is none."""
        return self._indexes.get(video.stamp, lambda: self._load_index(video))

    def _load_index(self, video: LibraryVideo) -> VideoIndex:
        if not self.is_ready(video):
            raise NotReady(f"{video.name!r} is not indexed yet; index it first")
        config = self.config
        return index(
            video.path,
            config.encoder,
            config.fps,
            config.mode,
            progress=_refuse_work,
            store=self.store,
            device=config.device,
        )

    def text(self, video: LibraryVideo) -> Found:
        """The video's text; a subtitle file that was added later is found at the next question."""

        def search() -> Found:
            found = self._search(video, _refuse_work)
            self._write_summary(video, found)
            return found

        return self._texts.get("|".join([video.stamp, *self._subtitle_versions(video)]), search)

    def subtitle_files(self, video: LibraryVideo) -> list[Path]:
        """The subtitle files beside a video; the first one is used."""
        return find_sidecars(video.path, language=self.config.language)

    def _subtitle_versions(self, video: LibraryVideo) -> list[str]:
        """The subtitle files with their modification times."""
        rows = []
        for path in self.subtitle_files(video):
            with suppress(FileNotFoundError):  # deleted since it was listed
                rows.append(f"{path}:{path.stat().st_mtime_ns}")
        return rows

    def _search_until_stable(self, video: LibraryVideo, progress: Progress) -> Found:
        """Search for text, and again when subtitles arrive meanwhile: an upload's replace slow speech recognition."""
        while True:
            before = self._subtitle_versions(video)

            def checked(stage: str, done: float, total: float, /, before: list[str] = before) -> None:
                progress(stage, done, total)
                if self._subtitle_versions(video) != before:
                    raise _SubtitlesChanged

            with suppress(_SubtitlesChanged):
                return self._search(video, checked)

    def _search(self, video: LibraryVideo, progress: Progress) -> Found:
        config = self.config
        return search_events(
            video.path,
            language=config.language,
            recognise_speech=config.speech,
            screen_text=config.screen_text,
            store=self.store,
            progress=progress,
        )

    def _encode_text(self, made: VideoIndex, found: Found, progress: Progress) -> None:
        from framesift.encoders.base import get_encoder, get_text_encoder
        from framesift.store.text_vectors import kept_vectors

        if found.events:
            name = self.config.event_encoder
            encoder = get_encoder(made.encoder) if name is None else get_text_encoder(name)
            kept_vectors(encoder, [event.text for event in found.events], self.store.root, progress=progress)

    def _write_summary(self, video: LibraryVideo, found: Found) -> None:
        sources = [asdict(source) | {"name": readable(Path(source.name).name)} for source in found.sources]
        notes = [public_message(note, video) for note in found.notes]
        write_json(self._summary_path(video), asdict(TextSummary(len(found.events), sources, notes)))

    def _summary_path(self, video: LibraryVideo) -> Path:
        return self._folder / f"{video.stamp}.words.json"

    def _read_facts(self, stamp: str) -> VideoFacts | None:
        try:
            facts = VideoFacts(**json.loads((self._folder / f"{stamp}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
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
        """Load the text encoder before the first question, if any video is ready."""
        from framesift.encoders.base import get_encoder

        try:
            if any(self.is_ready(video) for video in self.files.list_videos()):
                get_encoder(self._key.encoder).encode_texts(["a question"])
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


def public_message(error: object, video: LibraryVideo) -> str:
    """A message with file names as the page shows them, never with their location on disk."""
    path = str(video.path)
    message = str(error).replace(repr(path), repr(video.name)).replace(path, video.name)
    return readable(message.replace(f"{video.path.parent}/", ""))


def _refuse_work(*_: object) -> None:
    """Progress callback inside a request: slow work belongs in the queue."""
    raise NotReady("part of this video's index is no longer in the store; index it again")
