"""A pool of workers under watch: one that dies or hangs costs the try of the task it had, and is replaced."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from framesift.batch.executors.base import Limits, Report, Task
from framesift.errors import FramesiftError

START_S = 120.0  # the longest a worker may take to start
FAILED_STARTS = 3  # in a row: then it is not a video's fault
LAST_WORDS = 200  # of a worker that died, the most that is passed on
Message = dict[str, Any] | None  # None: the worker is gone


class Pool:
    """Processes that do one kind of work; a context manager. `run` may be called again: the workers stay."""

    def __init__(
        self, work: str, settings: Mapping[str, Any], *, workers: int, limits: Limits, names: str = "worker"
    ) -> None:
        self.order = {"work": work, "settings": dict(settings)}
        self.limits = limits
        self.size = workers
        self._names = names
        self._inbox: queue.Queue[tuple[_Worker, Message]] = queue.Queue()
        self._workers: list[_Worker] = []
        self._failed_starts = 0

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def run(self, tasks: Iterable[Task], *, tries: Mapping[str, int] | None = None) -> Iterator[Report]:
        """Do every task and report what happens to it. A try that failed waits behind the others for the next.

        tries: how many some tasks have had already.
        """
        had = dict(tries or {})
        waiting = deque(tasks)
        while waiting or any(worker.task for worker in self._workers):
            self._fill(len(waiting) + sum(1 for worker in self._workers if worker.task))
            for worker in self._workers:
                if waiting and worker.task is None and worker.ready:
                    task = waiting.popleft()
                    had[task.name] = had.get(task.name, 0) + 1
                    worker.take(task)
                    yield Report("started", task, worker.name, had[task.name])
            for report in self._hear(had):
                if report.kind == "retried":
                    waiting.append(report.task)
                yield report

    def _fill(self, wanted: int) -> None:
        numbers = iter(sorted(set(range(self.size)) - {worker.number for worker in self._workers}))
        while len(self._workers) < min(self.size, wanted):
            self._workers.append(_Worker(next(numbers), self._names, self.order, self._inbox, self.size))

    def _hear(self, had: dict[str, int]) -> Iterator[Report]:
        """The next message, if one comes soon, and what it means for its task."""
        for worker in self._workers:
            worker.check(self.limits)
        try:
            worker, message = self._inbox.get(timeout=0.2)
        except queue.Empty:
            return
        if worker not in self._workers:
            return
        task, seconds = worker.task, worker.busy_s
        if message is None or "unable" in message:
            self._workers.remove(worker)
            error = worker.bury() if message is None else message["unable"]
            self._count_start(worker, error, stop=message is not None)
            if task is not None:
                yield self._failure(task, worker, had, f"{task.name}: {error}", seconds)
            return
        worker.hear(message)
        if "ready" in message:
            self._failed_starts = 0
        if task is None:
            return
        if "row" in message:
            yield Report("done", task, worker.name, had[task.name], row=message["row"], seconds=seconds)
        elif "error" in message:
            yield self._failure(task, worker, had, message["error"], seconds)
        elif "done" in message:
            moved = {"done": message["done"], "expected": message["expected"]}
            yield Report("moved", task, worker.name, had[task.name], seconds=seconds, **moved)

    def _failure(self, task: Task, worker: "_Worker", had: dict[str, int], error: str, seconds: float) -> Report:
        last = had[task.name] >= self.limits.tries
        return Report("failed" if last else "retried", task, worker.name, had[task.name], error=error, seconds=seconds)

    def _count_start(self, worker: "_Worker", error: str, *, stop: bool) -> None:
        if worker.ready:
            return
        worker.kill()
        self._failed_starts += 1
        if stop or self._failed_starts >= FAILED_STARTS:
            raise FramesiftError(f"no worker can start: {error}" if not stop else error)


class _Worker:
    """One process, the task it has, and when it was last heard."""

    def __init__(
        self,
        number: int,
        names: str,
        order: Mapping[str, Any],
        inbox: "queue.Queue[tuple[_Worker, Message]]",
        workers: int,
    ) -> None:
        self.number, self.name = number, f"{names} {number + 1}"
        self.task: Task | None = None
        self.ready = False
        self._why = ""
        self._heard_s = self._began_s = time.monotonic()
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "framesift.batch.executors.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env=surroundings(number, workers),
        )
        self._write(order)
        threading.Thread(target=self._listen, args=(inbox,), daemon=True).start()

    @property
    def busy_s(self) -> float:
        return time.monotonic() - self._began_s

    def take(self, task: Task) -> None:
        self.task = task
        self._heard_s = self._began_s = time.monotonic()
        self._write({"name": task.name, "data": dict(task.data)})

    def hear(self, message: dict[str, Any]) -> None:
        self._heard_s = time.monotonic()
        self.ready = self.ready or "ready" in message
        if "row" in message or "error" in message:
            self.task = None

    def check(self, limits: Limits) -> None:
        """Kill the process if it has been silent or busy for too long; the reason is told when it is gone."""
        silent_s = time.monotonic() - self._heard_s
        if self._why or (self.ready and self.task is None):
            return
        if not self.ready and silent_s > START_S:
            self._why = f"the worker did not start within {START_S:g} s"
        elif self.ready and silent_s > limits.stall_s:
            self._why = f"nothing moved for {limits.stall_s:g} s, so the worker was stopped (--stall)"
        elif self.ready and self.busy_s > limits.limit_s:
            self._why = f"it took longer than {limits.limit_s:g} s, so the worker was stopped (--time-limit)"
        if self._why:
            self.kill()

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def bury(self) -> str:
        """Why the process is gone, in words."""
        code = self._process.wait()
        if self._why:
            return self._why
        if code < 0:
            # What the system kills unasked has, as a rule, taken too much memory.
            memory = ", maybe for want of memory: fewer --workers" if code == -signal.SIGKILL else ""
            return f"the worker was killed by {signal.Signals(-code).name}{memory}" + self._last_words()
        return f"the worker left with code {code}" + self._last_words()

    def _last_words(self) -> str:
        self._words.seek(0, os.SEEK_END)
        self._words.seek(max(0, self._words.tell() - 4096))
        lines = [line for line in self._words.read().decode("utf-8", "replace").splitlines() if line.strip()]
        return f" ({lines[-1].strip()[:LAST_WORDS]})" if lines else ""

    def _write(self, value: Mapping[str, Any]) -> None:
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write((json.dumps(value) + "\n").encode())
                pipe.flush()
        except OSError:  # it died just now: the listener says so
            return

    def _listen(self, inbox: "queue.Queue[tuple[_Worker, Message]]") -> None:
        for line in self._process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:  # cut off by its death
                continue
            inbox.put((self, message))
        inbox.put((self, None))


def surroundings(number: int, workers: int) -> dict[str, str]:
    """The environment of a worker: our own modules, its share of the cores, and one GPU where there are several."""
    threads = str(max(1, cores() // workers))
    shared = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    gpus = _gpus()
    if len(gpus) > 1:
        shared["CUDA_VISIBLE_DEVICES"] = gpus[number % len(gpus)]
    return {"OMP_NUM_THREADS": threads, **shared}


def cores() -> int:
    """The cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _gpus() -> list[str]:
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return _listed_gpus() if named is None else [name for name in named.split(",") if name.strip()]


@cache
def _listed_gpus() -> list[str]:
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=True)  # noqa: S607
    except (OSError, subprocess.SubprocessError):
        return []
    return [str(k) for k, line in enumerate(listed.stdout.splitlines()) if line.startswith("GPU")]
