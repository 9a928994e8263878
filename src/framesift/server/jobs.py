"""The job queue: one video at a time is indexed in the background, and a restart resumes where the last run stopped.

The list of jobs is a small file, rewritten at every change of state. Progress is in memory only: the store itself knows
which parts of an index are done.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from framesift._utils.json import load_json
from framesift._utils.records import read_record, read_value
from framesift.errors import FramesiftError, InputError
from framesift.progress import Progress
from framesift.readers.address import scrub
from framesift.server.files import write_json

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
JobKind = Literal["index", "sample"]
MAX_OPEN_JOBS = 200
MAX_STARTS = 2
STOP_TIMEOUT_S = 8.0  # for the running job to reach its next progress call
REPORT_INTERVAL_S = 0.2  # progress is published no more often

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IndexJob:
    """Indexing of one video. done of total: in the unit of the phase, 0 of 0 where it is unknown."""

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
    folder: str = ""  # id of the directory the video is in; empty for uploads
    starts: int = 0  # runs that neither finished nor were stopped

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "running")


class JobStopped(Exception):
    """Raised inside a job by its progress callback: the job was cancelled, or the server is shutting down."""


class QueueFull(FramesiftError):
    """The queue has reached its limit."""


RunJob = Callable[[IndexJob, Progress], None]  # the progress callback raises JobStopped


class JobQueue:
    """Jobs by id, at most one per video, run by one thread in the order they were added.

    A library may be served with different directories: jobs of a directory that is not served now are kept until it is.
    """

    def __init__(self, path: Path, run_job: RunJob, changed: Callable[[], None], folder_id: str = "") -> None:
        self._path, self._run_job, self._changed, self._folder_id = path, run_job, changed, folder_id
        self._lock = threading.Condition(threading.RLock())
        self._jobs: dict[str, IndexJob] = {job.id: job for job in _read_jobs(path)}
        self._cancelled: set[str] = set()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        with self._lock:
            for job in list(self._jobs.values()):
                if job.state == "running":
                    self._jobs[job.id] = _resumed(job)
        self._thread = threading.Thread(target=self._run, name="framesift-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the running job's current step; the next start resumes it."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        if self._thread is None:
            return
        self._thread.join(timeout=STOP_TIMEOUT_S)
        if self._thread.is_alive():  # in a long step; it ends with the process
            with self._lock:
                for job in self._jobs.values():
                    if job.state == "running":
                        self._jobs[job.id] = self._interrupted(job)
                self._save()

    def jobs(self) -> list[IndexJob]:
        with self._lock:
            return self._served()

    def find(self, video_id: str) -> IndexJob | None:
        """The video's job, finished or not."""
        with self._lock:
            return next((job for job in self._served() if job.video == video_id), None)

    def add(self, video_id: str, name: str, kind: JobKind = "index", *, uploaded: bool = True) -> IndexJob:
        """Queue a video. One that is queued keeps its place, unless it is being cancelled."""
        with self._lock:
            existing = self.find(video_id)
            if existing is not None and existing.is_open and existing.id not in self._cancelled:
                return existing
            if sum(job.is_open for job in self._served()) >= MAX_OPEN_JOBS:
                raise QueueFull(f"{MAX_OPEN_JOBS} videos are already waiting; try again when some are done")
            if existing is not None:
                del self._jobs[existing.id]
            folder = "" if uploaded else self._folder_id
            job = IndexJob(secrets.token_hex(8), kind, video_id, name, added_s=time.time(), folder=folder)
            self._jobs[job.id] = job
            self._save()
            self._lock.notify_all()
        self._changed()
        return job

    def cancel(self, job_id: str) -> IndexJob | None:
        """Cancel a waiting job, or stop the running one at its next progress call. What is indexed so far is kept."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                return None
            if job.state == "running":
                self._cancelled.add(job_id)
                self._save()
            elif job.state == "waiting":
                job = self._update(job_id, state="cancelled", finished_s=time.time())
        self._changed()
        return job

    def remove(self, video_id: str) -> None:
        """Remove a deleted video's job; a running one stops at its next progress call."""
        with self._lock:
            job = self.find(video_id)
            if job is None:
                return
            del self._jobs[job.id]
            self._save()
        self._changed()

    def _run(self) -> None:
        while True:
            with self._lock:
                job = self._next()
                while job is None and not self._stopping:
                    self._lock.wait()
                    job = self._next()
                if self._stopping or job is None:
                    return
                job = self._update(
                    job.id, state="running", started_s=time.time(), phase="starting", starts=job.starts + 1
                )
            self._changed()
            self._execute(job)
            self._changed()

    def _execute(self, job: IndexJob) -> None:
        published_s = 0.0

        def report(stage: str, done: float, total: float, /) -> None:
            nonlocal published_s
            with self._lock:
                if self._stopping or job.id in self._cancelled or job.id not in self._jobs:
                    raise JobStopped
                self._jobs[job.id] = replace(self._jobs[job.id], phase=stage, done=done, total=total)
            if time.monotonic() - published_s > REPORT_INTERVAL_S:
                published_s = time.monotonic()
                self._changed()

        outcome: dict[str, Any] = {"state": "done", "error": ""}
        try:
            self._run_job(job, report)
        except JobStopped:
            outcome = {"state": "cancelled"}
        except FramesiftError as error:
            outcome = {"state": "failed", "error": scrub(str(error))}
        except Exception as error:  # one video must not stop the queue
            log.exception("%s could not be indexed", job.name)
            outcome = {
                "state": "failed",
                "error": f"indexing failed unexpectedly ({type(error).__name__}); see the server's log",
            }
        with self._lock:
            if job.id in self._jobs:
                if self._stopping and outcome["state"] != "done":  # stopped or failed because of the shutdown
                    self._jobs[job.id] = self._interrupted(self._jobs[job.id])
                else:
                    outcome |= {"phase": "", "done": 0.0, "total": 0.0}
                    self._update(job.id, finished_s=time.time(), starts=0, **outcome)
            self._cancelled.discard(job.id)
            self._save()

    def _interrupted(self, job: IndexJob) -> IndexJob:
        """A running job as it is saved at shutdown: waiting again, unless it was being cancelled."""
        state: JobState = "cancelled" if job.id in self._cancelled else "waiting"
        return replace(job, state=state, phase="", done=0.0, total=0.0, starts=0)

    def _next(self) -> IndexJob | None:
        return next((job for job in self._served() if job.state == "waiting"), None)

    def _served(self) -> list[IndexJob]:
        """The jobs of the directory served now and of the uploads."""
        return [job for job in self._jobs.values() if job.folder in ("", self._folder_id)]

    def _update(self, job_id: str, **changes: Any) -> IndexJob:
        job = self._jobs[job_id] = replace(self._jobs[job_id], **changes)
        self._save()
        return job

    def _save(self) -> None:
        rows = [asdict(self._interrupted(job) if job.id in self._cancelled else job) for job in self._jobs.values()]
        try:
            write_json(self._path, rows)
        except OSError as error:
            log.warning("the queue can't be saved to %s (%s); it will be lost at a restart", self._path, error)


def _resumed(job: IndexJob) -> IndexJob:
    """A job that was running when the process died: waiting again, unless it may have caused that."""
    job = replace(job, phase="", done=0.0, total=0.0)
    if job.starts < MAX_STARTS:
        return replace(job, state="waiting")
    reason = f"the server ended {job.starts} times while indexing this video; index it again to retry"
    return replace(job, state="failed", error=reason, starts=0)


def _read_jobs(path: Path) -> list[IndexJob]:
    try:
        rows = read_value(list[Any], load_json(path.read_bytes(), path.name, "a list of jobs"), path.name)
    except FileNotFoundError:
        return []
    except (OSError, InputError) as error:
        log.warning("the queue %s can't be read (%s); starting with an empty one", path, error)
        return []
    jobs = []
    for number, row in enumerate(rows, 1):
        try:
            jobs.append(read_record(IndexJob, row, f"job {number}"))
        except InputError as error:
            log.warning("the queue %s has a job that can't be read: %s", path, error)
    return jobs
