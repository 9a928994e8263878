"""A worker process: runs one task after another, and may die without affecting the others.

    python -m framesift.batch.executors.worker     reads a line with the WorkerSpec, then a line per task; all JSON

Lines instead of `multiprocessing`: nothing is pickled, and the caller's script is not imported a second time.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from framesift._utils.requirements import explain_mismatch
from framesift.batch.executors.base import RunAborted, Task, Worker, WorkerSpec
from framesift.errors import FramesiftError, MissingExtra

# Worker name → "module:class". Names, not classes, because a worker is created in another process.
WORKERS = {
    "index": "framesift.batch.workers:IndexWorker",
    "questions": "framesift.batch.workers:QuestionWorker",
}
PROGRESS_INTERVAL_S = 0.2  # the shortest time between two progress messages
PARENT_INTERVAL_S = 1.0  # how often a worker checks that its parent is alive


def main() -> None:
    # Messages have stdout to themselves: what a library prints goes to stderr.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Ctrl-C reaches every process of a terminal; the parent decides what happens to the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()

    def send(**message: Any) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    try:
        worker = create_worker(WorkerSpec(**json.loads(sys.stdin.readline())))
        send(ready=os.getpid())
        for line in sys.stdin:
            values = json.loads(line)
            following = values.pop("following")
            _run_task(worker, Task(**values, following=following and Task(**following)), send)
    except RunAborted as error:
        send(fatal=str(error), aborted=True)
    except FramesiftError as error:
        send(fatal=str(error))
    except (ImportError, AttributeError, TypeError) as error:
        if not (sentence := explain_mismatch(error)):
            raise
        send(fatal=sentence)
    except BrokenPipeError:  # the parent has exited; finished work is saved
        os._exit(1)


def create_worker(spec: WorkerSpec) -> Worker:
    module, _, name = WORKERS[spec.name].partition(":")
    worker: Worker = getattr(import_module(module), name)(dict(spec.settings), **spec.objects)
    return worker


def _run_task(worker: Worker, task: Task, send: Callable[..., None]) -> None:
    sent_s = 0.0

    def progress(stage: str, done: float, total: float) -> None:
        nonlocal sent_s
        if time.monotonic() - sent_s > PROGRESS_INTERVAL_S:
            sent_s = time.monotonic()
            send(stage=stage, done=done, expected=total)

    try:
        send(row=worker(task, progress))
    except (RunAborted, MissingExtra):  # a missing package fails every attempt
        raise
    except FramesiftError as error:
        send(error=str(error))
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        # An error of a library, such as torch when GPU memory is exhausted, costs this task's attempt only.
        send(error=f"{task.title}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")


def _exit_with_parent(parent: int) -> None:
    """Exit when the parent was killed: it cannot stop its workers then."""
    while os.getppid() == parent:
        time.sleep(PARENT_INTERVAL_S)
    os._exit(1)


if __name__ == "__main__":
    main()
