"""A worker: a process of its own that does one task after another and may die without taking anything with it.

    python -m framesift.batch.executors.worker     reads a line that says what to do, then a line per task; all JSON

Lines instead of `multiprocessing`: nothing is pickled, and no script that calls us is run a second time.
"""

import json
import os
import signal
import sys
import threading
import time
from importlib import import_module
from typing import Any

from framesift.batch.executors.base import Task, Work
from framesift.errors import FramesiftError

WORKS = {
    "index": "framesift.batch.index_worker:IndexWork",
    "select": "framesift.batch.question_worker:AskWork",
}
BEAT_S = 0.2  # the most often that progress is told
PARENT_S = 1.0  # how often a worker looks whether its driver is still there


def main() -> None:
    # The lines have the output to themselves: what a library prints goes where errors go.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Ctrl-C reaches every process of a terminal; what becomes of the workers is the driver's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()

    def say(**message: Any) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    try:
        work = _made(json.loads(sys.stdin.readline()))
        say(ready=os.getpid())
        for line in sys.stdin:
            _do(work, json.loads(line), say)
    except FramesiftError as error:
        say(unable=str(error))
    except BrokenPipeError:  # the driver is gone; what was kept is kept
        os._exit(1)


def _do(work: Work, value: dict[str, Any], say: Any) -> None:
    told_s = 0.0

    def tell(done: int, expected: int) -> None:
        nonlocal told_s
        if time.monotonic() - told_s > BEAT_S:
            told_s = time.monotonic()
            say(done=done, expected=expected)

    try:
        say(row=work(Task(value["name"], value["data"]), tell))
    except FramesiftError as error:
        say(error=str(error))
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        # A library that stumbles over one video, as torch does when a GPU's memory is full, costs that video's try.
        say(error=f"{value['name']}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")


def _made(order: dict[str, Any]) -> Work:
    module, _, name = WORKS[order["work"]].partition(":")
    work: Work = getattr(import_module(module), name)(order["settings"])
    return work


def _leave_with(parent: int) -> None:
    """A driver that was killed can't say so: a worker without it would go on, or hang, for ever."""
    while os.getppid() == parent:
        time.sleep(PARENT_S)
    os._exit(1)


if __name__ == "__main__":
    main()
