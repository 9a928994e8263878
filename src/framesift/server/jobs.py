"""The queue: one video at a time is made ready in the background, and a restart goes on where the last run stopped.

The list of jobs is a small file, rewritten at every change of state; how far a job is lives in memory only, since the
library's own parts say where to go on.
"""

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from framesift.errors import FramesiftError
from framesift.server.files import write_json

State = Literal["waiting", "running", "done", "failed", "cancelled"]
Kind = Literal["index", "sample"]
MOST_WAITING = 200
MOST_STARTS = 2
LEFT_S = 8.0  # for the running job to come to its next step when the server ends
TOLD_EVERY_S = 0.2  # progress is passed on no more often

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """One video on its way to being ready. done of total: in the unit of the phase, 0 of 0 where it can't be told."""

    id: str
    kind: Kind
    video: str
    name: str
    state: State = "waiting"
    phase: str = ""
    done: float = 0.0
    total: float = 0.0
    error: str = ""
    added_s: float = 0.0
    started_s: float | None = None
    finished_s: float | None = None
    folder: str = ""  # the mark of the folder the video lies in; empty for uploads
    starts: int = 0  # how often it was begun and not ended

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "running")


class Stopped(Exception):
    """Raised inside the work by its own progress call: the job was cancelled, or the server goes down."""


class Full(FramesiftError):
    """More waits than this server takes on."""


Report = Callable[[str, float, float], None]  # (phase, done, total); raises Stopped
Work = Callable[[Job, Report], None]


class Queue:
    """Jobs by id, at most one for a video, worked off by one thread in the order they came.

    A library may be served with one folder today and another tomorrow: jobs of folders that are not there now are kept
    for when they are.
    """

    def __init__(self, path: Path, work: Work, changed: Callable[[], None], folder: str = "") -> None:
        self._path, self._work, self._changed, self._folder = path, work, changed, folder
        self._lock = threading.Condition(threading.RLock())
        self._jobs: dict[str, Job] = {job.id: job for job in _read(path)}
        self._cancelled: set[str] = set()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        with self._lock:
            for job in list(self._jobs.values()):
                if job.state == "running":
                    self._jobs[job.id] = _taken_up(job)
        self._thread = threading.Thread(target=self._run, name="framesift-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the running job where it is; the next start takes it up again."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        if self._thread is None:
            return
        self._thread.join(timeout=LEFT_S)
        if self._thread.is_alive():  # in a step that takes long; it ends with the process
            with self._lock:
                for job in self._jobs.values():
                    if job.state == "running":
                        self._jobs[job.id] = self._left(job)
                self._save()

    def jobs(self) -> list[Job]:
        with self._lock:
            return self._here()

    def of(self, video: str) -> Job | None:
        """The video's job, finished or not."""
        with self._lock:
            return next((job for job in self._here() if job.video == video), None)

    def add(self, video: str, name: str, kind: Kind = "index", *, uploaded: bool = True) -> Job:
        """Queue a video; one that is queued already keeps its place, unless it is being cancelled."""
        with self._lock:
            known = self.of(video)
            if known is not None and known.is_open and known.id not in self._cancelled:
                return known
            if sum(job.is_open for job in self._here()) >= MOST_WAITING:
                raise Full(f"{MOST_WAITING} videos are waiting already; try again when some are done")
            if known is not None:
                del self._jobs[known.id]
            folder = "" if uploaded else self._folder
            job = Job(secrets.token_hex(8), kind, video, name, added_s=time.time(), folder=folder)
            self._jobs[job.id] = job
            self._save()
            self._lock.notify_all()
        self._changed()
        return job

    def cancel(self, job_id: str) -> Job | None:
        """Take a waiting job out of the queue, or ask the running one to stop. What is indexed so far is kept."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                return None
            if job.state == "running":
                self._cancelled.add(job_id)
                self._save()
            elif job.state == "waiting":
                job = self._set(job_id, state="cancelled", finished_s=time.time())
        self._changed()
        return job

    def forget(self, video: str) -> None:
        """Drop a removed video's job; one that runs stops at its next step."""
        with self._lock:
            job = self.of(video)
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
                begun = {"state": "running", "started_s": time.time(), "phase": "starting", "starts": job.starts + 1}
                job = self._set(job.id, **begun)
            self._changed()
            self._do(job)
            self._changed()

    def _do(self, job: Job) -> None:
        told = 0.0

        def report(phase: str, done: float, total: float) -> None:
            nonlocal told
            with self._lock:
                if self._stopping or job.id in self._cancelled or job.id not in self._jobs:
                    raise Stopped
                self._jobs[job.id] = replace(self._jobs[job.id], phase=phase, done=done, total=total)
            if time.monotonic() - told > TOLD_EVERY_S:
                told = time.monotonic()
                self._changed()

        outcome: dict[str, Any] = {"state": "done", "error": ""}
        try:
            self._work(job, report)
        except Stopped:
            outcome = {"state": "cancelled"}
        except FramesiftError as error:
            outcome = {"state": "failed", "error": str(error)}
        except Exception as error:  # one video must not stop the queue
            log.exception("%s could not be made ready", job.name)
            outcome = {
                "state": "failed",
                "error": f"something went wrong ({type(error).__name__}); the log says what",
            }
        with self._lock:
            if job.id in self._jobs:
                if self._stopping and outcome["state"] != "done":  # it went wrong because the server is ending
                    self._jobs[job.id] = self._left(self._jobs[job.id])
                else:
                    outcome |= {"phase": "", "done": 0.0, "total": 0.0}
                    self._set(job.id, finished_s=time.time(), starts=0, **outcome)
            self._cancelled.discard(job.id)
            self._save()

    def _left(self, job: Job) -> Job:
        """A job as the next start finds it: it goes on, unless somebody has cancelled it."""
        state: State = "cancelled" if job.id in self._cancelled else "waiting"
        return replace(job, state=state, phase="", done=0.0, total=0.0, starts=0)

    def _next(self) -> Job | None:
        return next((job for job in self._here() if job.state == "waiting"), None)

    def _here(self) -> list[Job]:
        return [job for job in self._jobs.values() if job.folder in ("", self._folder)]

    def _set(self, job_id: str, **changes: Any) -> Job:
        job = self._jobs[job_id] = replace(self._jobs[job_id], **changes)
        self._save()
        return job

    def _save(self) -> None:
        rows = [asdict(self._left(job) if job.id in self._cancelled else job) for job in self._jobs.values()]
        try:
            write_json(self._path, rows)
        except OSError as error:
            log.warning("the queue can't be kept in %s (%s); a restart will not know it", self._path, error)


def _taken_up(job: Job) -> Job:
    """A job that was running when the server ended: it goes on, unless it may be what ended the server."""
    job = replace(job, phase="", done=0.0, total=0.0)
    if job.starts < MOST_STARTS:
        return replace(job, state="waiting")
    why = f"the server ended {job.starts} times while this was being indexed; index it again to try once more"
    return replace(job, state="failed", error=why, starts=0)


def _read(path: Path) -> list[Job]:
    try:
        jobs = [Job(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        log.warning("the queue in %s can't be read (%s); it starts empty", path, error)
        return []
    return [job for job in jobs if job.state in get_args(State) and job.kind in get_args(Kind)]
