"""The job queue: videos are indexed in the background, one at a time, in the order they were added.

The list of jobs may be kept in a small file, rewritten at every change of state, so that a restart resumes where the
last run stopped. Progress is in memory only: the store itself knows which parts of an index are done.
"""

import itertools
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from framesift.errors import FramesiftError
from framesift.library.files import read_json, write_json
from framesift.progress import Progress, Stopped, as_progress, stop_when

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
JobKind = Literal["index", "sample"]
MAX_OPEN_JOBS = 200
MAX_STARTS = 2
STOP_TIMEOUT_S = 8.0  # for the running job to reach its next report
REPORT_INTERVAL_S = 0.2  # progress is published no more often

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """Work on one video. done of total: in the unit of the phase, 0 of 0 where it is unknown."""

    id: str
    kind: JobKind
    video: str
    name: str
    state: JobState = "waiting"
    phase: str = ""
    done: float = 0.0
    total: float = 0.0
    error: str = ""
    added_s: float = 0.0
    started_s: float | None = None
    finished_s: float | None = None
    starts: int = 0  # runs that neither finished nor were stopped
    position: int = 0  # of a waiting job, from 1

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "running")


class QueueFull(FramesiftError):
    """The queue has reached its limit."""


class JobQueue:
    """Jobs in the order they run, at most one per video, run by one thread.

    work: does a job; it ends at its next report once the job is cancelled. path: where the list is kept; None: in
    memory only.
    """

    def __init__(
        self,
        work: Callable[[Job, Progress], object],
        *,
        path: Path | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.work = work
        self._path, self._changed = path, changed
        self._lock = threading.Condition(threading.RLock())
        self._jobs: dict[str, Job] = {}
        if path is not None:
            self._jobs = {job.id: _resumed(job) for job in read_json(path, tuple[Job, ...]) or ()}
        self._thread = threading.Thread(target=self._run_jobs, name="framesift-jobs", daemon=True)
        self._stopping = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop after the running job's current step; the next start resumes it."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        if self._thread.is_alive():
            self._thread.join(STOP_TIMEOUT_S)
        with self._lock:
            for job in self._jobs.values():
                if job.state == "running":  # in a long step; it ends with the process
                    self._update(job.id, state="waiting", starts=0)

    def jobs(self) -> list[Job]:
        """The jobs in their order; waiting ones with their position."""
        with self._lock:
            positions = itertools.count(1)
            return [
                replace(job, position=next(positions)) if job.state == "waiting" else job for job in self._jobs.values()
            ]

    def find(self, video_id: str) -> Job | None:
        """The video's job, finished or not."""
        return next((job for job in self.jobs() if job.video == video_id), None)

    def get(self, job_id: str) -> Job | None:
        return next((job for job in self.jobs() if job.id == job_id), None)

    def wait(self, job_id: str, seconds: float) -> Job | None:
        """The job once it has ended, at its next change or after these seconds; None if it was removed."""
        with self._lock:
            job = self.get(job_id)
            if job is None or not job.is_open:
                return job
            self._lock.wait(seconds)
            return self.get(job_id)

    def add(self, video_id: str, name: str, kind: JobKind = "index") -> Job:
        """Queue a video; one that is queued keeps its place."""
        with self._lock:
            existing = self.find(video_id)
            if existing is not None and existing.is_open:
                return existing
            if sum(job.is_open for job in self.jobs()) >= MAX_OPEN_JOBS:
                raise QueueFull(f"{MAX_OPEN_JOBS} videos are already waiting; try again when some are done")
            if existing is not None:
                del self._jobs[existing.id]
            job = Job(secrets.token_hex(8), kind, video_id, name, added_s=time.time())
            self._jobs[job.id] = job
            self._save()
            return self.get(job.id) or job

    def move_first(self, job_id: str) -> Job | None:
        """Move a waiting job to the front of the queue."""
        with self._lock:
            job = self.get(job_id)
            if job is not None and job.state == "waiting":
                self._jobs = {job_id: self._jobs[job_id], **self._jobs}
                self._save()
        return self.get(job_id)

    def cancel(self, job_id: str) -> Job | None:
        """Cancel a job; a running one stops at its next report. What is indexed so far is kept."""
        with self._lock:
            job = self.get(job_id)
            if job is not None and job.is_open:
                self._update(job_id, state="cancelled", finished_s=time.time())
        return self.get(job_id)

    def remove(self, video_id: str) -> None:
        """Remove a video's job; a running one stops at its next report."""
        with self._lock:
            job = self.find(video_id)
            if job is not None:
                del self._jobs[job.id]
                self._save()

    def _run_jobs(self) -> None:
        while True:
            with self._lock:
                while not self._stopping and not any(job.state == "waiting" for job in self.jobs()):
                    self._lock.wait()
                if self._stopping:
                    return
                job = next(job for job in self.jobs() if job.state == "waiting")
                job = self._update(job.id, state="running", started_s=time.time(), starts=job.starts + 1)
            outcome = self._execute(job)
            with self._lock:
                if self._is_running(job.id):
                    outcome["finished_s"] = time.time()
                    if self._stopping and outcome["state"] != "done":
                        outcome = {"state": "waiting"}
                    self._update(job.id, starts=0, **outcome)

    def _execute(self, job: Job) -> dict[str, Any]:
        """Do a job's work; how it ended."""
        published_s = 0.0

        def report(phase: str, done: float, total: float, /) -> None:
            nonlocal published_s
            with self._lock:
                if self._is_running(job.id):
                    if phase != self._jobs[job.id].phase:
                        self._lock.notify_all()
                    self._jobs[job.id] = replace(self._jobs[job.id], phase=phase, done=done, total=total)
            if time.monotonic() - published_s > REPORT_INTERVAL_S:
                published_s = time.monotonic()
                self._changed()

        stop_when(lambda: self._stopping or not self._is_running(job.id))
        progress = as_progress(report)
        try:
            progress("starting", 0, 0)
            self.work(job, progress)
        except Stopped:
            return {"state": "cancelled"}
        except FramesiftError as error:
            return {"state": "failed", "error": str(error)}
        except Exception as error:  # one video must not stop the queue
            log.exception("%s could not be indexed", job.name)
            reason = f"indexing failed unexpectedly ({type(error).__name__}); see the server's log"
            return {"state": "failed", "error": reason}
        return {"state": "done"}

    def _is_running(self, job_id: str) -> bool:
        return job_id in self._jobs and self._jobs[job_id].state == "running"

    def _update(self, job_id: str, **changes: Any) -> Job:
        """Change a job's state; its progress starts anew."""
        job = replace(self._jobs[job_id], phase="", done=0.0, total=0.0, **changes)
        self._jobs[job_id] = job
        self._save()
        return job

    def _save(self) -> None:
        self._lock.notify_all()
        try:
            if self._path is not None:
                write_json(self._path, [asdict(job) for job in self._jobs.values()])
        except OSError as error:
            log.warning("the queue can't be saved to %s (%s); it will be lost at a restart", self._path, error)
        self._changed()


def _resumed(job: Job) -> Job:
    """A job of the file: waiting again if it was running when the process died, unless it may have caused that."""
    if job.state != "running":
        return job
    job = replace(job, phase="", done=0.0, total=0.0)
    if job.starts < MAX_STARTS:
        return replace(job, state="waiting")
    reason = f"the server ended {job.starts} times while indexing this video; index it again to retry"
    return replace(job, state="failed", error=reason, starts=0)
