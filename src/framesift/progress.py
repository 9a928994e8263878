"""The one progress protocol: every long step reports through it, every front end shows it."""

from typing import Protocol


class Progress(Protocol):
    """Called with the stage's name, the units done and about how many there will be. What it raises ends the work."""

    def __call__(self, stage: str, done: float, total: float, /) -> None: ...


def ignore_progress(_stage: str, _done: float, _total: float, /) -> None:
    """Discard the report."""


def as_progress(callback: Progress | None) -> Progress:
    """A user's callback, or one that discards every report."""
    return ignore_progress if callback is None else callback


class WatchedProgress:
    """A Progress that passes everything on, and whether there was a report."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.was_called = False

    def __call__(self, stage: str, done: float, total: float, /) -> None:
        self.was_called = True
        self._progress(stage, done, total)
