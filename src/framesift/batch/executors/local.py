"""Executors on this machine: in this process, or a pool of supervised worker processes.

A process that dies or hangs costs an attempt of its task, and is replaced.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar

from framesift._utils.machine import free_memory, usable_cores
from framesift.batch.executors.base import (
    Executor,
    Limits,
    OnEvent,
    RunAborted,
    Task,
    TaskEvent,
    TaskKind,
    Worker,
    WorkerSpec,
)
from framesift.batch.executors.worker import create_worker
from framesift.errors import FramesiftError, MissingExtra

START_S = 120.0  # the longest a worker may take to start
MAX_FAILED_STARTS = 3  # in a row: the cause is then not a video
STDERR_TAIL_CHARS = 200
# Peak memory of a worker with the offline encoder on 1080p was 0.6 GiB; this leaves room for 4K and long videos. Larger
# models need --workers.
WORKER_BYTES = 1.5 * 2**30
WorkerMessage = dict[str, Any] | None  # None: the process has exited


class LocalExecutor(Executor):
    """Runs tasks in processes of this machine. workers: None for as many as cores and memory allow."""

    def __init__(self, workers: int | None) -> None:
        self.workers = workers

    def run(
        self, spec: WorkerSpec, tasks: Sequence[Task], watch: OnEvent, *, limits: Limits, tries: Mapping[str, int]
    ) -> None:
        workers = min(self.workers or default_workers(), max(1, len(tasks)))
        with WorkerPool(spec, workers, limits, "worker") as pool:
            pool.run(tasks, watch, tries)


class InlineExecutor(Executor):
    """Runs the worker in this thread, each task once: what fails in this process would fail again."""

    isolated: ClassVar[bool] = False

    def run(
        self,
        spec: WorkerSpec,
        tasks: Sequence[Task],
        watch: OnEvent,
        *,
        limits: Limits,  # noqa: ARG002 (a process can not limit itself)
        tries: Mapping[str, int],  # noqa: ARG002 (nothing is repeated here)
    ) -> None:
        if not tasks:
            return
        worker = create_worker(spec)
        for task in tasks:
            _run_task(worker, task, watch)


def _run_task(worker: Worker, task: Task, watch: OnEvent) -> None:
    started_s = time.monotonic()

    def report(kind: TaskKind, **fields: Any) -> None:
        watch(TaskEvent(kind, task, "inline", seconds=time.monotonic() - started_s, **fields))

    def progress(stage: str, done: float, total: float) -> None:
        report("moved", stage=stage, done=done, expected=total)

    report("started")
    try:
        row = worker(task, progress)
    except (RunAborted, MissingExtra):
        raise
    except FramesiftError as error:
        report("failed", error=str(error))
    else:
        report("done", row=row)


class WorkerPool:
    """Worker processes of one kind; a context manager. The processes stay between calls of `run`."""

    def __init__(self, spec: WorkerSpec, size: int, limits: Limits, prefix: str) -> None:
        self.spec, self.size, self.limits, self._prefix = spec, size, limits, prefix
        self._inbox: queue.Queue[tuple[_Process, WorkerMessage]] = queue.Queue()
        self._workers: list[_Process] = []
        self._failed_starts = 0

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.kill()

    def run(self, tasks: Iterable[Task], watch: OnEvent, tries: Mapping[str, int]) -> None:
        """Run every task to its end; a failed attempt is queued again behind the others.

        tries: attempts that some tasks had already.
        """
        attempts = Counter(tries)
        pending = deque(tasks)
        while running := len(pending) + sum(worker.task is not None for worker in self._workers):
            self._start_workers(running)
            for worker in self._workers:
                if pending and worker.task is None and worker.ready:
                    task = pending.popleft()
                    attempts[task.name] += 1
                    # What ends the process is blamed on its task, so that none that failed is run beside another.
                    is_first = self.size == 1 and attempts[task.name] == 1
                    is_early = is_first and bool(pending) and not attempts[pending[0].name]
                    worker.assign(task, attempts[task.name], pending[0] if is_early else None)
                    watch(worker.event("started", task))
            event = self._next_event()
            if event is not None:
                if event.kind == "retried":
                    pending.append(event.task)
                watch(event)

    def _start_workers(self, wanted: int) -> None:
        numbers = iter(sorted(set(range(self.size)) - {worker.number for worker in self._workers}))
        while len(self._workers) < min(self.size, wanted):
            self._workers.append(_Process(next(numbers), self._prefix, self.spec, self._inbox, self.size))

    def _next_event(self) -> TaskEvent | None:
        """The event that follows from the next message, if one arrives soon."""
        for worker in self._workers:
            worker.enforce(self.limits)
        try:
            worker, message = self._inbox.get(timeout=0.2)
        except queue.Empty:
            return None
        task = worker.task
        if message is None:
            self._workers.remove(worker)
            error = worker.describe_exit()
            self._failed_starts += not worker.ready
            if self._failed_starts >= MAX_FAILED_STARTS:
                raise FramesiftError(f"no worker can start: {error}")
            return None if task is None else self._failure(task, worker, f"{task.title}: {error}")
        if "fatal" in message:
            raise (RunAborted if message.get("aborted") else FramesiftError)(message["fatal"])
        worker.receive(message)
        if "ready" in message:
            self._failed_starts = 0
        if task is None:
            return None
        if "row" in message:
            return worker.event("done", task, row=message["row"])
        if "error" in message:
            return self._failure(task, worker, message["error"])
        return worker.event("moved", task, **message)

    def _failure(self, task: Task, worker: "_Process", error: str) -> TaskEvent:
        return worker.event("retried" if worker.tries < self.limits.tries else "failed", task, error=error)


class _Process:
    """One worker process, its current task, and the time of its last message."""

    def __init__(
        self,
        number: int,
        prefix: str,
        spec: WorkerSpec,
        inbox: "queue.Queue[tuple[_Process, WorkerMessage]]",
        workers: int,
    ) -> None:
        self.number, self.name = number, f"{prefix} {number + 1}"
        self.task: Task | None = None
        self.tries = 0  # attempts of its task
        self.ready = False
        self._stop_reason = ""
        self._last_message_s = self._task_start_s = time.monotonic()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "framesift.batch.executors.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=worker_environment(number, workers),
        )
        self._send({"name": spec.name, "settings": dict(spec.settings)})
        threading.Thread(target=self._read_messages, args=(inbox,), daemon=True).start()

    @property
    def busy_s(self) -> float:
        return time.monotonic() - self._task_start_s

    def event(self, kind: TaskKind, task: Task, **fields: Any) -> TaskEvent:
        return TaskEvent(kind, task, self.name, self.tries, seconds=self.busy_s, **fields)

    def assign(self, task: Task, tries: int, following: Task | None = None) -> None:
        self.task, self.tries = task, tries
        self._last_message_s = self._task_start_s = time.monotonic()
        self._send(asdict(replace(task, following=following)))

    def receive(self, message: dict[str, Any]) -> None:
        """Update the state of this worker from one of its messages."""
        self._last_message_s = time.monotonic()
        self.ready = self.ready or "ready" in message
        if "row" in message or "error" in message:
            self.task = None

    def enforce(self, limits: Limits) -> None:
        """Kill the process if it exceeds a limit; `describe_exit` then gives the reason."""
        silent_s = time.monotonic() - self._last_message_s
        if self._stop_reason or (self.ready and self.task is None):
            return
        if not self.ready and silent_s > START_S:
            self._stop_reason = f"the worker did not start within {START_S:g} s"
        elif self.ready and silent_s > limits.stall_s:
            self._stop_reason = f"no progress for {limits.stall_s:g} s, so the worker was stopped (--stall)"
        elif self.ready and self.busy_s > limits.limit_s:
            self._stop_reason = f"it took longer than {limits.limit_s:g} s, so the worker was stopped (--time-limit)"
        if self._stop_reason:
            self.kill()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def describe_exit(self) -> str:
        """Why the process exited, in words."""
        code = self._process.wait()
        if self._stop_reason:
            return self._stop_reason
        if code < 0:
            # A SIGKILL that this process did not send usually comes from the kernel's out-of-memory killer.
            memory = ", possibly out of memory: use fewer --workers" if code == -signal.SIGKILL else ""
            return f"the worker was killed by {signal.Signals(-code).name}{memory}" + self._stderr_tail()
        return f"the worker exited with code {code}" + self._stderr_tail()

    def _stderr_tail(self) -> str:
        self._stderr.seek(0)
        lines = [line for line in self._stderr.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return f" ({lines[-1].strip()[:STDERR_TAIL_CHARS]})" if lines else ""

    def _send(self, value: Mapping[str, Any]) -> None:
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write((json.dumps(value) + "\n").encode())
                pipe.flush()
        except OSError:  # the process just exited: its end of stdout reports that
            return

    def _read_messages(self, inbox: "queue.Queue[tuple[_Process, WorkerMessage]]") -> None:
        for line in self._process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:  # truncated by the exit of the process
                continue
            inbox.put((self, message))
        inbox.put((self, None))


def default_workers() -> int:
    """One worker per core, as far as free memory allows."""
    free = free_memory()
    return usable_cores() if free is None else max(1, min(usable_cores(), int(free / WORKER_BYTES)))


def worker_environment(number: int, workers: int) -> dict[str, str]:
    """Environment variables of a worker: this process's modules, its share of the cores, one of several GPUs."""
    threads = str(max(1, usable_cores() // workers))
    shared = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    gpus = _gpus()
    if len(gpus) > 1:
        shared["CUDA_VISIBLE_DEVICES"] = gpus[number % len(gpus)]
    return {"OMP_NUM_THREADS": threads, **shared}


def _gpus() -> list[str]:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name for name in visible.split(",") if name.strip()]
    try:
        return [str(k) for k in range(len(os.listdir("/proc/driver/nvidia/gpus")))]
    except OSError:
        return []
