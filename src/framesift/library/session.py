"""What all calls for videos share, of agents and of chat clients: the videos and background jobs.

A call waits for long work for a while, and a later call for the same video continues to wait. The store keeps the parts
of an index, so work that was stopped, by a cancelled call or with the process, resumes where it was.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from framesift._utils.credentials import public_url
from framesift.errors import FramesiftError, NotStored
from framesift.library.catalog import Catalog
from framesift.library.downloads import Downloads, SourceConfig, is_web_address
from framesift.library.files import LibraryVideo, SharedFolders
from framesift.library.jobs import Job, JobQueue
from framesift.pipeline.video import Video
from framesift.progress import Progress, ignore_progress
from framesift.store.store import Store
from framesift.text.finding import FoundEvents

MAX_CONCURRENT = 2  # selections and decoding: each uses a whole core
REPORT_INTERVAL_S = 0.5


@dataclass(frozen=True)
class Call:
    """One call: where its progress goes, whether the client has cancelled it, and until when it waits."""

    progress: Progress = ignore_progress
    cancelled: threading.Event = field(default_factory=threading.Event)
    deadline_s: float = float("inf")  # of time.monotonic()


class CallCancelled(Exception):
    """The client has cancelled the call; nobody reads its reply."""


class StillRunning(Exception):
    """The work takes longer than the call may wait; it continues in the background."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.id)
        self.job = job


class VideoSession:
    """The videos of folders and copies of others. All methods may be called from several threads.

    name: of the folder of its state in the store. mark: of the names of files in messages.
    """

    def __init__(self, config: SourceConfig, name: str, mark: Callable[[str], str] = repr) -> None:
        self._lock = threading.Lock()
        state = Store(config.pipeline.index.store).root.absolute() / name
        self.catalog = Catalog(config.pipeline, state)
        self.folders = SharedFolders(config.folders, mark)
        self.downloads = Downloads(state / "downloads", config)
        self.queue = JobQueue(lambda job, progress: self._work[job.video](progress))
        self.queue.start()
        self._work: dict[str, Callable[[Progress], object]] = {}  # of the queue's jobs
        self._waiting: Counter[str] = Counter()  # calls by job
        self.work_slots = threading.BoundedSemaphore(MAX_CONCURRENT)

    def video(self, name: str, call: Call) -> LibraryVideo:
        """The video of a name, a path inside the folders or a URL, which is downloaded once."""
        if not is_web_address(name):
            video = self.folders.find(name)
            self.folders.check_sidecars(video)
            return video
        self.downloads.check_allowed(name)
        copy = self.downloads.find(name)
        if copy is None:
            self.run(name, lambda progress: self.downloads.fetch(name, progress), call)
            copy = self.downloads.find(name)
        if copy is None:
            raise FramesiftError(f"the copy of {public_url(name)} was removed; try again")
        return copy

    def videos(self) -> list[LibraryVideo]:
        """The videos of the folders and those downloaded before."""
        return [*self.folders.videos(), *self.downloads.videos()]

    def prepared(self, video: LibraryVideo, call: Call) -> Video:
        """The video's index and text: from memory, from the store, or made in a background job."""
        try:
            return self.catalog.prepared(video)
        except NotStored:
            self.run(str(video.path), lambda progress: self.catalog.prepare(video, progress), call)
            return self.catalog.prepared(video)

    def text(self, video: LibraryVideo, call: Call) -> FoundEvents:
        """The video's timestamped text, from its subtitles or, in a background job, from speech."""
        try:
            return self.catalog.text(video)
        except NotStored:
            self.run(f"{video.path} text", lambda progress: self.catalog.find_text(video, progress), call)
            return self.catalog.text(video)

    def run(self, key: str, work: Callable[[Progress], object], call: Call) -> None:
        """Start the work, or join that of an earlier call, and wait until it is done; StillRunning at the deadline.

        A cancelled call stops the work unless another call waits for it.
        """
        with self._lock:
            job = self.queue.find(key)
            if job is None or job.state != "failed":  # a failure that no call waited for is reported by the next one
                self._work[key] = work
                job = self.queue.add(key, key)
            self._waiting[job.id] += 1
        try:
            ended = self._wait(job, call)
        finally:
            with self._lock:
                self._waiting[job.id] -= 1
                if not self._waiting[job.id]:
                    del self._waiting[job.id]
                    self._leave(job.id, call)
        if ended.state != "done":
            reason = "the work on this video was cancelled; try again to resume it"
            raise FramesiftError(ended.error or reason)

    def _leave(self, job_id: str, call: Call) -> None:
        """The last call that waited for a job stops to do so."""
        if call.cancelled.is_set():
            self.queue.cancel(job_id)
        job = self.queue.get(job_id)
        if job is not None and not job.is_open:
            self.queue.remove(job.video)
            self._work.pop(job.video, None)

    def _wait(self, job: Job, call: Call) -> Job:
        """The job once it has ended; its progress goes to the call."""
        reported: tuple[Any, ...] = ()
        while True:
            left_s = call.deadline_s - time.monotonic()
            current = self.queue.wait(job.id, min(REPORT_INTERVAL_S, left_s))
            job = replace(job, state="cancelled") if current is None else current
            if call.cancelled.is_set():
                raise CallCancelled
            latest = (job.phase or job.state, job.done, job.total)
            if latest != reported and job.is_open:
                call.progress(*latest)
                reported = latest
            if not job.is_open:
                return job
            if time.monotonic() >= call.deadline_s:
                raise StillRunning(job)
