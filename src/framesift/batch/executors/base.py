"""The executor interface: tasks in, events out, and the limits of one task."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from framesift._utils.credentials import public_url
from framesift._utils.settings import check_count
from framesift.errors import OptionError, ReaderError
from framesift.progress import Progress

Engine = Literal["local", "ray", "inline"]
TaskKind = Literal["started", "moved", "retried", "done", "failed"]
OnBegin = Callable[[int, int], None]  # (tasks to do, units done by earlier runs)
OnEvent = Callable[["TaskEvent"], None]


class RunAborted(ReaderError):
    """Ends the whole run instead of one task: the next tasks would fail in the same way."""


@dataclass(frozen=True)
class Task:
    """One unit of work: a unique name and JSON values. following: the worker's next one, which it may begin early."""

    name: str
    data: Mapping[str, Any]
    following: "Task | None" = None

    @property
    def title(self) -> str:
        """The name; of a URL, without its signature."""
        return public_url(self.name)


@dataclass(frozen=True)
class Limits:
    """Limits of one task: attempts, seconds without progress, and seconds per attempt.

    An attempt that was stopped resumes from what it saved, so the limit per attempt costs long videos little.
    """

    tries: int = 3
    stall_s: float = 300.0
    limit_s: float = 4 * 3600.0

    def __post_init__(self) -> None:
        check_count("tries", self.tries)
        if not (self.stall_s > 0 and self.limit_s > 0):
            raise OptionError(f"stall_s is {self.stall_s:g} and limit_s {self.limit_s:g}; expected seconds above 0")


@dataclass(frozen=True)
class TaskEvent:
    """A change in the state of a task.

    kind: started, moved (progress: `done` of about `expected` units), retried (see `error`), done (see `row`) or failed
    (see `error`). tries: attempts so far, this one included. stage: what the progress is of.
    """

    kind: TaskKind
    task: Task
    worker: str
    tries: int = 1
    done: float = 0
    expected: float = 0
    row: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0
    stage: str = ""

    @property
    def is_end(self) -> bool:
        return self.kind in ("done", "failed")


class Worker(Protocol):
    """Processes tasks; created once per process, so it holds the models."""

    def __call__(self, task: Task, progress: Progress) -> dict[str, Any]:
        """The task's result as JSON values. A FramesiftError is a failed attempt; so is the death of the process."""


@dataclass(frozen=True)
class WorkerSpec:
    """Which worker to create, a name of `worker.WORKERS`, and its settings as JSON values.

    objects: Python objects the worker needs (an encoder, readers); only an executor in this process can pass them on.
    """

    name: str
    settings: Mapping[str, Any]
    objects: Mapping[str, Any] = field(default_factory=dict)


class Executor(ABC):
    """Runs tasks and reports what happens to them.

    To add one: subclass it, implement `run`, and add its name to `Engine` and `make_executor`.
    """

    isolated: ClassVar[bool] = True  # a crash of the worker costs one attempt of one task

    @abstractmethod
    def run(
        self, spec: WorkerSpec, tasks: Sequence[Task], watch: OnEvent, *, limits: Limits, tries: Mapping[str, int]
    ) -> None:
        """Run every task to its end. tries: attempts that some tasks had in earlier runs."""
