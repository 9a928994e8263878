"""Tasks in this process, one after another: for Python objects as encoder or reader, and for tests."""

import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from framesift.batch.executors.base import Executor, Limits, RunAborted, Task, TaskEvent, Worker, WorkerSpec
from framesift.batch.executors.worker import create_worker
from framesift.errors import FramesiftError, MissingExtra

WORKER = "inline"
STOP_S = 1.0  # for the worker to stop at its next progress; while it waits for a silent server there is none


class InlineExecutor(Executor):
    """Runs the worker in a thread of this process, so that progress is reported while a task runs."""

    isolated: ClassVar[bool] = False

    def run(
        self,
        spec: WorkerSpec,
        tasks: Sequence[Task],
        *,
        limits: Limits,  # noqa: ARG002 (a process can not limit itself)
        tries: Mapping[str, int] | None = None,  # noqa: ARG002 (nothing is repeated here)
    ) -> Iterator[TaskEvent]:
        """Run each task once: what fails in this process would fail again. `limits` and `tries` do not apply."""
        if not tasks:
            return
        worker = create_worker(spec)
        for task in tasks:
            yield TaskEvent("started", task, WORKER)
            yield from _run_task(worker, task)


class _Cancelled(BaseException):
    """Raised in the worker's thread once its events are no longer consumed."""


def _run_task(worker: Worker, task: Task) -> Iterator[TaskEvent]:
    events: queue.Queue[TaskEvent | BaseException] = queue.Queue()
    cancelled = threading.Event()
    started_s = time.monotonic()

    def progress(stage: str, done: float, total: float) -> None:
        if cancelled.is_set():
            raise _Cancelled
        seconds = time.monotonic() - started_s
        events.put(TaskEvent("moved", task, WORKER, done=done, expected=total, seconds=seconds, stage=stage))

    def work() -> None:
        try:
            row = worker(task, progress)
            events.put(TaskEvent("done", task, WORKER, row=row, seconds=time.monotonic() - started_s))
        except (RunAborted, MissingExtra) as error:
            events.put(error)
        except FramesiftError as error:
            seconds = time.monotonic() - started_s
            events.put(TaskEvent("failed", task, WORKER, error=str(error), seconds=seconds))
        except BaseException as error:  # raised again by the thread that consumes the events
            events.put(error)

    thread = threading.Thread(target=work, name="framesift-inline", daemon=True)
    thread.start()
    try:
        while True:
            event = events.get()
            if isinstance(event, BaseException):
                raise event
            yield event
            if event.is_end:
                return
    finally:
        cancelled.set()
        thread.join(STOP_S)
