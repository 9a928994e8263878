"""Tasks in this process, one after another: for Python objects as encoder or reader, and for tests."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

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
