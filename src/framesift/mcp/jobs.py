"""Long work in the background: a call waits for it for a while, and a later call for the same video continues to wait.

One job runs at a time, as each uses all cores. The store keeps the parts of an index, so a job that was stopped, by a
cancelled call or with the process, resumes where it was.
"""

import hashlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from framesift.errors import FramesiftError
from framesift.progress import Progress, ignore_progress
from framesift.server.jobs import JobStopped, QueueFull

MAX_JOBS = 100
REPORT_INTERVAL_S = 0.5
JobValue = TypeVar("JobValue")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Call:
    """One call of a tool: where its progress goes, whether the client has cancelled it, and until when it waits."""

    progress: Progress = ignore_progress
    cancelled: threading.Event = field(default_factory=threading.Event)
    deadline_s: float = float("inf")  # of time.monotonic()


class CallCancelled(Exception):
    """The client has cancelled the call; nobody reads its reply."""


@dataclass(eq=False)
class BackgroundJob:
    """Work on one video. stage, done, total: its latest progress; waiting: calls that wait for it."""

    key: str
    work: Callable[[Progress], object]
    stage: str = "waiting"
    done: float = 0.0
    total: float = 0.0
    waiting: int = 0
    added_s: float = field(default_factory=time.monotonic)
    stop: bool = False
    finished: bool = False
    result: object = None
    error: Exception | None = None

    @property
    def id(self) -> str:
        return hashlib.blake2b(self.key.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


class StillRunning(Exception):
    """The work takes longer than the call may wait; it continues in the background."""

    def __init__(self, job: BackgroundJob, ahead: int) -> None:
        super().__init__(job.id)
        self.job, self.ahead = job, ahead


class BackgroundJobs:
    """Jobs by key, at most one per key, run by one thread in the order they were added."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._jobs: dict[str, BackgroundJob] = {}
        self._queue: deque[BackgroundJob] = deque()
        self._thread: threading.Thread | None = None

    def run(self, key: str, work: Callable[[Progress], JobValue], call: Call) -> JobValue:
        """Start the work, or join that of an earlier call, and return its result; StillRunning at the deadline.

        A cancelled call stops the work unless another call waits for it.
        """
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.stop:
                job = self._add(BackgroundJob(key, work))
            job.waiting += 1
        try:
            self._wait(job, call)
        finally:
            with self._lock:
                job.waiting -= 1
                if call.cancelled.is_set() and not job.waiting:
                    job.stop = True
                if job.finished:
                    self._forget(job)
        if job.error is not None:
            raise job.error
        return cast(JobValue, job.result)

    def _add(self, job: BackgroundJob) -> BackgroundJob:
        if len(self._queue) >= MAX_JOBS:
            raise QueueFull(f"{MAX_JOBS} videos are waiting already; call again when some are done")
        self._jobs[job.key] = job
        self._queue.append(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="framesift-agent-jobs", daemon=True)
            self._thread.start()
        self._lock.notify_all()
        return job

    def _wait(self, job: BackgroundJob, call: Call) -> None:
        reported: tuple[Any, ...] = ()
        while True:
            with self._lock:
                left_s = call.deadline_s - time.monotonic()
                if not job.finished and left_s > 0:
                    self._lock.wait(min(REPORT_INTERVAL_S, left_s))
                finished, latest = job.finished, (job.stage, job.done, job.total)
                ahead = self._queue.index(job) + 1 if job in self._queue else 0
            if call.cancelled.is_set():
                raise CallCancelled
            if latest != reported:
                call.progress(*latest)
                reported = latest
            if finished:
                return
            if time.monotonic() >= call.deadline_s:
                raise StillRunning(job, ahead)

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._queue:
                    self._lock.wait()
                job = self._queue.popleft()
            try:
                self._run(job)
            finally:
                with self._lock:
                    job.finished = True
                    # A failure that no call waits for is reported by the next one.
                    if job.stop or (job.error is None and not job.waiting):
                        self._forget(job)
                    self._lock.notify_all()

    def _forget(self, job: BackgroundJob) -> None:
        if self._jobs.get(job.key) is job:
            del self._jobs[job.key]

    def _run(self, job: BackgroundJob) -> None:
        def progress(stage: str, done: float, total: float, /) -> None:
            if job.stop:
                raise JobStopped
            with self._lock:
                if stage != job.stage:
                    self._lock.notify_all()
                job.stage, job.done, job.total = stage, done, total

        try:
            progress("starting", 0, 0)
            job.result = job.work(progress)
        except JobStopped:
            job.error = FramesiftError("the work on this video was cancelled; call the tool again to resume it")
        except FramesiftError as error:
            job.error = error
        except Exception as error:
            log.exception("a job failed")
            job.error = FramesiftError(
                f"the video could not be prepared ({type(error).__name__}); see the server's log"
            )
