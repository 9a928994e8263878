"""What flows between a driver and its workers: tasks, what became of them, and how long one may take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from framesift.errors import OptionError

Engine = Literal["local", "ray"]
Tell = Callable[[int, int], None]  # (steps done, about how many there will be); also a sign of life
Begin = Callable[[int, int], None]  # (how many there are to do, how many were done before)
Watch = Callable[["Report"], None]


@dataclass(frozen=True)
class Task:
    """One unit of work: a name that tells it from all others, and JSON values."""

    name: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Limits:
    """What one video may cost: tries, seconds without any sign of progress, and seconds in all per try.

    A video that was stopped goes on from the parts it kept, so a limit on the whole try costs long videos little.
    """

    tries: int = 3
    stall_s: float = 300.0
    limit_s: float = 4 * 3600.0

    def __post_init__(self) -> None:
        if isinstance(self.tries, bool) or self.tries < 1:
            raise OptionError(f"tries is {self.tries}; expected a whole number of at least 1")
        if not (self.stall_s > 0 and self.limit_s > 0):
            raise OptionError(f"stall_s is {self.stall_s:g} and limit_s {self.limit_s:g}; expected seconds above 0")


@dataclass(frozen=True)
class Report:
    """Something that happened to a task.

    kind: started, moved (done and expected say how far), retried (error says why), done (row) or failed (error).
    tries: how many it has had, this one included.
    """

    kind: Literal["started", "moved", "retried", "done", "failed"]
    task: Task
    worker: str
    tries: int = 1
    done: int = 0
    expected: int = 0
    row: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0

    @property
    def is_end(self) -> bool:
        return self.kind in ("done", "failed")


class Work(Protocol):
    """What a worker does with each task; made once per worker, so it holds the model."""

    def __call__(self, task: Task, tell: Tell) -> dict[str, Any]:
        """The task's row. A FramesiftError is a failed try; so is whatever kills the process."""
