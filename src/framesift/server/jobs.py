"""The job queue: videos are indexed in the background, and a restart resumes where the last run stopped.

A job runs in stages (frames, then text), and each stage has its turn at one job at a time: while one video's speech is
recognised, the next one is decoded. A job that loses its turn is paused inside its progress callback, so nothing it has
done is lost. The list of jobs is a small file, rewritten at every change of state; progress is in memory only: the
store itself knows which parts of an index are done.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from framesift._utils.credentials import scrub
from framesift._utils.json import load_json
from framesift._utils.records import read_record, read_value
from framesift.errors import FramesiftError, InputError
from framesift.progress import Progress
from framesift.server.files import write_json

JobState = Literal["waiting", "running", "done", "failed", "cancelled"]
JobKind = Literal["index", "sample"]
MAX_OPEN_JOBS = 200
MAX_STARTS = 2
MAX_PAUSED = 3  # of each stage; they keep their decoder and buffers
SHORT = 4  # a job that is so many times shorter than the running one does not wait for it
STOP_TIMEOUT_S = 8.0  # for the running jobs to reach their next progress call
REPORT_INTERVAL_S = 0.2  # progress is published no more often
MEASURED_SHARE = 0.02  # of a phase, before its speed is used

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
    duration_s: float = 0.0  # of the video; 0 where it is unknown
    first_s: float = 0.0  # when it was last moved to the front; 0: never

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "running")

    @property
    def rank(self) -> tuple[float, float]:
        """The order of the queue. A long video goes after short ones that are added soon after it, yet never waits
        for ever: its length counts as a delay.
        """
        return -self.first_s, self.added_s + self.duration_s

    def preempts(self, other: "IndexJob") -> bool:
        """Whether a running job is paused for this one."""
        if self.first_s != other.first_s:
            return self.first_s > other.first_s
        return SHORT * self.duration_s <= other.duration_s and other.duration_s > 0 and self.rank < other.rank


@dataclass(frozen=True)
class JobPlace:
    """A job's place: 0 while it runs, then 1, 2, …; the seconds its phase takes yet, and until a waiting job starts."""

    position: int = 0
    left_s: float | None = None
    starts_in_s: float | None = None


class JobStopped(Exception):
    """Raised inside a job by its progress callback: the job was cancelled, or the server is shutting down."""


class QueueFull(FramesiftError):
    """The queue has reached its limit."""


RunStage = Callable[[IndexJob, Progress], None]  # the progress callback raises JobStopped


class JobQueue:
    """Jobs by id, at most one per video, each run through the stages by a thread of its own.

    A library may be served with different directories: jobs of a directory that is not served now are kept until it is.
    """

    def __init__(
        self, path: Path, stages: Sequence[RunStage], changed: Callable[[], None], folder_id: str = ""
    ) -> None:
        self._path, self._stages, self._changed, self._folder_id = path, tuple(stages), changed, folder_id
        self._lock = threading.Condition(threading.RLock())
        self._jobs: dict[str, IndexJob] = {job.id: job for job in _read_jobs(path)}
        self._cancelled: set[str] = set()
        self._evicted: set[str] = set()  # paused jobs that start again later
        self._stage: dict[str, int] = {}  # of jobs that have passed their first
        self._turns: list[str] = [""] * len(self._stages)  # the job of each stage
        self._threads: dict[str, threading.Thread] = {}
        self._paces: dict[str, tuple[str, float, float]] = {}  # by job: phase, done and clock when it (re)started
        self._speeds: dict[str, float] = {}  # by phase: seconds per second of video
        self._started = self._stopping = False

    def start(self) -> None:
        with self._lock:
            for job in list(self._jobs.values()):
                if job.state == "running":
                    self._jobs[job.id] = _resumed(job)
            self._started = True
            self._schedule()

    def stop(self) -> None:
        """Stop after the running jobs' current steps; the next start resumes them."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
            threads = list(self._threads.values())
        deadline = time.monotonic() + STOP_TIMEOUT_S
        for thread in threads:
            thread.join(timeout=max(0.0, deadline - time.monotonic()))
        with self._lock:
            if self._threads:  # in a long step; they end with the process
                for job in list(self._jobs.values()):
                    if job.id in self._threads and job.is_open:
                        self._jobs[job.id] = self._interrupted(job)
                self._save()

    def jobs(self) -> list[IndexJob]:
        with self._lock:
            return self._served()

    def find(self, video_id: str) -> IndexJob | None:
        """The video's job, finished or not."""
        with self._lock:
            return next((job for job in self._served() if job.video == video_id), None)

    def get(self, job_id: str) -> IndexJob | None:
        with self._lock:
            return next((job for job in self._served() if job.id == job_id), None)

    def places(self) -> dict[str, JobPlace]:
        """The places of the open jobs, by id."""
        with self._lock:
            places = {}
            for stage, holder in enumerate(self._turns):
                ahead_s: float | None = 0.0
                for position, job in enumerate(self._rivals(stage), 0 if holder else 1):
                    left_s = self._left_s(job)
                    places[job.id] = JobPlace(position, left_s, ahead_s if position else None)
                    own_s = left_s if left_s is not None else self._expected_s(job)
                    ahead_s = None if ahead_s is None or own_s is None else ahead_s + own_s
            return places

    def add(
        self, video_id: str, name: str, kind: JobKind = "index", *, uploaded: bool = True, duration_s: float = 0.0
    ) -> IndexJob:
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
            job = IndexJob(
                secrets.token_hex(8), kind, video_id, name, added_s=time.time(), folder=folder, duration_s=duration_s
            )
            self._jobs[job.id] = job
            self._save()
            self._schedule()
        self._changed()
        return job

    def move_first(self, job_id: str) -> IndexJob | None:
        """Move an open job to the front; the running one is paused for it."""
        with self._lock:
            job = self.get(job_id)
            if job is None or not job.is_open:
                return job
            if job.first_s == 0 or job.rank != min(other.rank for other in self._served() if other.is_open):
                self._update(job_id, first_s=time.time())
                self._schedule()
            job = self._jobs[job_id]
        self._changed()
        return job

    def cancel(self, job_id: str) -> IndexJob | None:
        """Cancel a waiting job, or stop a started one at its next progress call. What is indexed so far is kept."""
        with self._lock:
            job = self.get(job_id)
            if job is None:
                return None
            if job_id in self._threads:
                self._cancelled.add(job_id)
                self._save()
                self._lock.notify_all()  # it may be paused
            elif job.is_open:
                job = self._update(job_id, state="cancelled", finished_s=time.time())
                self._schedule()
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
            self._schedule()
        self._changed()

    def _rivals(self, stage: int) -> list[IndexJob]:
        """The open jobs of a stage, the one whose turn it is first."""
        open_jobs = [job for job in self._served() if job.is_open and job.id not in self._cancelled]
        own = [job for job in open_jobs if self._stage.get(job.id, 0) == stage]
        return sorted(own, key=lambda job: (job.id != self._turns[stage], job.rank))

    def _schedule(self) -> None:
        """Give each stage's turn to the job that should have it, and start the jobs that have not started."""
        for stage in range(len(self._stages)):
            if not self._started or self._stopping:
                break
            rivals, holder = self._rivals(stage), self._turns[stage]
            if not rivals or (holder and rivals[0].id != holder):  # one that was cancelled is waited for
                continue
            chosen = min(rivals, key=lambda job: job.rank)
            begun = next((job for job in rivals if job.id in self._threads), chosen)
            if not chosen.preempts(begun):
                chosen = begun
            if chosen.id == holder:
                continue
            if holder:
                self._jobs[holder] = replace(self._jobs[holder], state="waiting")
            self._turns[stage] = chosen.id
            self._paces.pop(chosen.id, None)
            self._jobs[chosen.id] = replace(self._jobs[chosen.id], state="running")
            if chosen.id not in self._threads:
                self._start_thread(chosen, stage)
            paused = [job.id for job in rivals if job.id in self._threads and job.id != chosen.id]
            self._evicted.update(paused[MAX_PAUSED:])
        self._lock.notify_all()

    def _start_thread(self, job: IndexJob, stage: int) -> None:
        changes: dict[str, Any] = {"phase": "starting", "done": 0.0, "total": 0.0}
        if stage == 0:
            changes |= {"started_s": time.time(), "starts": job.starts + 1}
        started = self._update(job.id, **changes)
        thread = threading.Thread(target=self._execute, args=(started, stage), name="framesift-jobs", daemon=True)
        self._threads[job.id] = thread
        thread.start()

    def _execute(self, job: IndexJob, stage: int) -> None:
        published_s = 0.0

        def report(phase: str, done: float, total: float, /) -> None:
            nonlocal published_s
            with self._lock:
                while True:
                    is_current = job.id in self._jobs and job.id not in self._cancelled | self._evicted
                    if self._stopping or not is_current:
                        raise JobStopped
                    if self._turns[stage] == job.id:
                        break
                    self._lock.wait()
                self._jobs[job.id] = replace(self._jobs[job.id], phase=phase, done=done, total=total)
                self._measure(self._jobs[job.id])
            if time.monotonic() - published_s > REPORT_INTERVAL_S:
                published_s = time.monotonic()
                self._changed()

        self._changed()
        outcome: dict[str, Any] = {"state": "done", "error": ""}
        try:
            self._stages[stage](job, report)
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
            self._finish(job.id, stage, outcome)
            self._schedule()
        self._changed()

    def _finish(self, job_id: str, stage: int, outcome: dict[str, Any]) -> None:
        """Record how a stage of a job ended, and free its turn."""
        self._threads.pop(job_id, None)
        self._paces.pop(job_id, None)
        if self._turns[stage] == job_id:
            self._turns[stage] = ""
        has_next = outcome["state"] == "done" and stage + 1 < len(self._stages) and job_id not in self._cancelled
        if job_id in self._jobs:
            if self._stopping and (has_next or outcome["state"] != "done"):
                self._jobs[job_id] = self._interrupted(self._jobs[job_id])
            elif has_next:
                self._stage[job_id] = stage + 1
                self._jobs[job_id] = replace(self._jobs[job_id], state="waiting", done=0.0, total=0.0)
            elif job_id in self._evicted and outcome["state"] == "cancelled" and job_id not in self._cancelled:
                self._jobs[job_id] = self._interrupted(self._jobs[job_id])
            else:
                outcome |= {"phase": "", "done": 0.0, "total": 0.0}
                self._update(job_id, finished_s=time.time(), starts=0, **outcome)
        if not has_next:
            self._stage.pop(job_id, None)
        self._cancelled.discard(job_id)
        self._evicted.discard(job_id)
        self._save()

    def _measure(self, job: IndexJob) -> None:
        """Note the speed of the job's phase, for the jobs that wait."""
        phase, done, since = self._paces.setdefault(job.id, (job.phase, job.done, time.monotonic()))
        if phase != job.phase:
            self._paces[job.id] = job.phase, job.done, time.monotonic()
        elif job.duration_s and job.done - done > MEASURED_SHARE * job.total:
            self._speeds[phase] = (time.monotonic() - since) / ((job.done - done) / job.total * job.duration_s)

    def _left_s(self, job: IndexJob) -> float | None:
        """The seconds that the phase of a started job takes yet."""
        phase, done, since = self._paces.get(job.id, ("", 0.0, 0.0))
        if job.total and phase == job.phase and job.done - done > MEASURED_SHARE * job.total:
            return (job.total - job.done) * (time.monotonic() - since) / (job.done - done)
        return None

    def _expected_s(self, job: IndexJob) -> float | None:
        """The seconds that the longest phase of this job's stage takes; None before one was measured."""
        phase = "speech recognition" if self._stage.get(job.id) else "indexing"
        return job.duration_s * self._speeds[phase] if phase in self._speeds and job.duration_s else None

    def _interrupted(self, job: IndexJob) -> IndexJob:
        """A started job as it is saved at shutdown: waiting again, unless it was being cancelled."""
        state: JobState = "cancelled" if job.id in self._cancelled else "waiting"
        return replace(job, state=state, phase="", done=0.0, total=0.0, starts=0)

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
