"""The one progress protocol: every long step reports through it, every front end shows it."""

import logging
from collections.abc import Callable
from typing import Protocol

log = logging.getLogger(__name__)


class Progress(Protocol):
    """Called with the stage's name, the units done and about how many there will be. What it raises ends the work.

    It may have a method `note(text)` for sentences about the work: see `send_note`.
    """

    def __call__(self, stage: str, done: float, total: float, /) -> None: ...


def ignore_progress(_stage: str, _done: float, _total: float, /) -> None:
    """Discard the report."""


def as_progress(callback: Progress | None) -> Progress:
    """A user's callback, or one that discards every report."""
    return ignore_progress if callback is None else callback


def send_note(progress: Progress, text: str) -> None:
    """Report a sentence about the work, such as how long it will take; it is logged if `progress` takes no notes."""
    note: Callable[[str], None] | None = getattr(progress, "note", None)
    if note is None:
        log.info("%s", text)
    else:
        note(text)


class WatchedProgress:
    """A Progress that passes everything on, and whether there was a report."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.was_called = False

    def __call__(self, stage: str, done: float, total: float, /) -> None:
        self.was_called = True
        self._progress(stage, done, total)

    def note(self, text: str) -> None:
        send_note(self._progress, text)
