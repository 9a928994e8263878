"""What all calls of the tools share: the library, the pipeline, background jobs, and what was prepared and replied."""

import hashlib
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from framesift._utils.credentials import public_url
from framesift._utils.text import readable
from framesift.batch.workers import store_subtitles
from framesift.errors import FramesiftError, InputError, OptionError
from framesift.mcp.config import AgentConfig
from framesift.mcp.downloads import Downloads, is_web_address
from framesift.mcp.jobs import BackgroundJobs, Call, CallCancelled
from framesift.mcp.library import AgentLibrary, AgentVideo
from framesift.mcp.replies import Reply, data, plain
from framesift.pipeline.pipeline import Pipeline, PreparedVideo
from framesift.progress import Progress
from framesift.rendering.exhibit import exhibit
from framesift.rendering.report.page import render_report
from framesift.rendering.report.view import view_of
from framesift.rendering.thumbnails import collect_images
from framesift.server.catalog import ENCODING_TEXT
from framesift.server.recent_cache import RecentCache
from framesift.store.store import Store
from framesift.text.finding import FoundEvents
from framesift.types import Selection

CACHED_VIDEOS = 4  # an hour at one frame a second and 1152 dimensions is 16 MiB
CACHED_REPLIES = 32
CACHED_REPORTS = 64
MAX_CONCURRENT = 2  # selections and decoding: each uses a whole core
Made = TypeVar("Made")
_MARK = re.compile("<data>(.*?)</data>", re.DOTALL)


class _NotStored(Exception):
    """Raised by a progress callback: the work is not done yet and takes long."""


@dataclass(frozen=True)
class WatchedSelection:
    """A selection that a call has returned, for its report."""

    video: AgentVideo
    question: str
    selection: Selection


class AgentSession:
    """The state behind the tools. All methods may be called from several threads."""

    def __init__(self, config: AgentConfig) -> None:
        self.config = config
        self.pipeline = Pipeline(config.pipeline)
        self.store = Store(config.pipeline.store)
        self.library = AgentLibrary(config.folders)
        self.downloads = Downloads(self.store.root.absolute() / ".mcp" / "downloads", config)
        self.jobs = BackgroundJobs()
        self.work_slots = threading.BoundedSemaphore(MAX_CONCURRENT)
        self.used: dict[str, AgentVideo] = {}  # prepared in this process, by name
        self._prepared: RecentCache[PreparedVideo] = RecentCache(CACHED_VIDEOS)
        self._texts: RecentCache[FoundEvents] = RecentCache(CACHED_VIDEOS)
        self._replies: RecentCache[Reply] = RecentCache(CACHED_REPLIES)
        self._reports: OrderedDict[str, WatchedSelection] = OrderedDict()

    def video(self, name: str, call: Call) -> AgentVideo:
        """The video of a name, a path inside the folders or a URL, which is downloaded once."""
        if not is_web_address(name):
            video = self.library.find(name)
            self.library.check_sidecars(video)
            return video
        self.downloads.check_allowed(name)
        path = self.downloads.find(name) or self._listed_download(name)
        if path is None:
            path = self.jobs.run(name, lambda progress: self.downloads.fetch(name, progress), call)
        return AgentVideo(public_url(name), path, url=name)

    def downloaded(self) -> list[AgentVideo]:
        """The videos downloaded before; none where URLs are not accepted."""
        if self.config.urls == "none":
            return []
        return [AgentVideo(public_url(url), path, url=url) for url, path in self.downloads.items()]

    def is_indexed(self, video: AgentVideo) -> bool:
        return self._is_stored(self.library.fingerprint(video))

    def indexed_videos(self) -> dict[str, AgentVideo]:
        """The indexed videos of the folders and the downloaded ones, by fingerprint."""
        found = {}
        for video in [*self.downloaded(), *self.library.videos()]:
            try:
                digest = self.library.fingerprint(video)
            except InputError:  # deleted or not readable
                continue
            if self._is_stored(digest):
                found[digest] = video
        return found

    def prepared(self, video: AgentVideo, call: Call) -> PreparedVideo:
        """The video's index and text: from memory, from the store, or made in a background job."""

        def make(progress: Progress) -> PreparedVideo:
            made = self.pipeline.prepare(video.path, source=video.url or None, progress=progress)
            # Recognised speech is stored already.
            if all(source.kind in ("subtitles", "track") for source in made.text.sources):
                store_subtitles(self.store, self.library.fingerprint(video), made.text, video.url or str(video.path))
            return made

        quick = self.is_indexed(video)
        prepared = self._made(self._prepared, video, make, call, quick=quick)
        self.used[video.name] = video
        return prepared

    def text(self, video: AgentVideo, call: Call) -> FoundEvents:
        """The video's timestamped text, from its subtitles or, in a background job, from speech."""

        def make(progress: Progress) -> FoundEvents:
            return self.pipeline.find_events(video.path, progress=progress)

        text = self._made(self._texts, video, make, call, quick=True)
        self.used[video.name] = video
        return text

    def reply(self, video: AgentVideo, arguments: dict[str, Any], make: Callable[[], Reply]) -> Reply:
        """The reply to a call with these arguments, made once per version of the video."""
        return self._replies.get(f"{video.version}|{sorted(arguments.items())}", make)

    def pipeline_with(self, **settings: Any) -> Pipeline:
        """The pipeline with the settings of one call, which PipelineConfig checks."""
        return Pipeline(replace(self.config.pipeline, **settings))

    def keep_report(self, watched: WatchedSelection) -> str:
        """Remember a selection for its report, and return the report's id."""
        content = watched.video.version + watched.selection.to_json()
        report = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        self._reports[report] = watched
        while len(self._reports) > CACHED_REPORTS:
            self._reports.popitem(last=False)
        return report

    @property
    def reports(self) -> dict[str, WatchedSelection]:
        return dict(self._reports)

    def report(self, report: str, call: Call) -> str:
        """The report of a selection as HTML with all its images."""
        watched = self._reports.get(report)
        if watched is None:
            raise InputError(f"there is no report {report[:40]!r} any more; call watch again, which makes it")
        video = self.video(watched.video.url or watched.video.name, call)  # it may have been replaced by a link
        with self.work_slots:
            shown = exhibit(video.path, watched.selection)
            return render_report(view_of([shown], [collect_images(shown)], json_text=""))

    def public_message(self, error: object, video: AgentVideo, *, as_data: bool = False) -> str:
        """A message with file names as the tools show them, not with their location on disk.

        as_data: mark the video's name.
        """
        path, quoted, name = str(video.path), repr(video.name), video.name
        if as_data:
            quoted = name = data(video.name)
        message = str(error).replace(repr(path), quoted).replace(path, name)
        return readable(message.replace(f"{video.path.parent}{os.sep}", ""))

    def _listed_download(self, name: str) -> Path | None:
        """The copy of a URL by its name in a list, which has no credentials."""
        return next((video.path for video in self.downloaded() if video.name == name), None)

    def _made(
        self,
        cache: "RecentCache[Made]",
        video: AgentVideo,
        make: Callable[[Progress], Made],
        call: Call,
        *,
        quick: bool,
    ) -> Made:
        """A cached value, else made now if all that takes long is stored, else made in a background job."""
        key = f"{type(self).__name__}|{video.version}"

        def make_quickly() -> Made:
            if not quick:
                raise _NotStored
            return make(_refuse_slow_stages)

        try:
            return cache.get(key, make_quickly)
        except _NotStored:
            made = self.jobs.run(f"{id(cache)}|{video.path}", make, call)
            return cache.get(key, lambda: made)

    def _is_stored(self, fingerprint: str) -> bool:
        return self.store.index_warnings(replace(self.pipeline.index_key, video=fingerprint)) is not None


def _refuse_slow_stages(stage: str, _done: float, _total: float, /) -> None:
    if stage != ENCODING_TEXT:
        raise _NotStored


def error_reply(error: Exception) -> Reply:
    """An error as a reply that the model can act on."""
    if isinstance(error, OptionError | InputError | FramesiftError):
        return Reply((f"Error: {plain_message(error)}",), is_error=True)
    return Reply(
        (f"Error: framesift failed unexpectedly ({type(error).__name__}); see the server's log",), is_error=True
    )


def plain_message(error: object) -> str:
    """An error's message on one line, with the marks of data that it holds, and no others."""
    parts = _MARK.split(str(error))  # every second one is from inside a mark
    return "".join(data(part) if number % 2 else _outside(part) for number, part in enumerate(parts))


def _outside(part: str) -> str:
    """A part of a message between two marks, with a space where it begins or ends with one."""
    first, last = " " * part[:1].isspace(), " " * (part[-1:].isspace() and not part.isspace())
    return f"{first}{plain(part, 600)}{last}"


__all__ = ["AgentSession", "CallCancelled", "WatchedSelection", "error_reply"]
