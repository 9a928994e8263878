"""Progress of long work: one protocol, which only reports, and the condition that ends the work of a thread early."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

_is_stopped: ContextVar[Callable[[], bool]] = ContextVar("is_stopped", default=lambda: False)


class Progress(Protocol):
    """Called with the stage's name, the units done and about how many there will be."""

    def __call__(self, stage: str, done: float, total: float, /) -> object: ...


class Stopped(BaseException):
    """The work of this thread is not wanted any more. Not an Exception, which a library would take for a failure."""


def stop_when(is_stopped: Callable[[], bool]) -> None:
    """End the work that this thread does from now on at its next report, once the condition holds."""
    _is_stopped.set(is_stopped)


def ignore_progress(_stage: str, _done: float, _total: float, /) -> None:
    """Discard the report."""


def as_progress(callback: Progress | None) -> Progress:
    """Reports to a callback, if there is one, from work that its thread's condition can end."""

    def report(stage: str, done: float, total: float, /) -> None:
        if _is_stopped.get()():
            raise Stopped
        if callback is not None:
            callback(stage, done, total)

    return report


class WatchedProgress:
    """A Progress that passes everything on, and whether there was a report."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.was_called = False

    def __call__(self, stage: str, done: float, total: float, /) -> None:
        self.was_called = True
        self._progress(stage, done, total)
