"""The one progress protocol: every long step reports through it, every front end shows it."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol


class Progress(Protocol):
    """Called with the stage's name, the units done and about how many there will be. What it raises ends the work."""

    def __call__(self, stage: str, done: float, total: float, /) -> None: ...


def ignore_progress(_stage: str, _done: float, _total: float, /) -> None:
    """Discard the report."""


def as_progress(callback: Callable[..., Any] | None) -> Progress:
    """A user's callback as Progress: None, `(stage, done, total)`, or `(done, total)` as version 0.1 called it."""
    if callback is None:
        return ignore_progress
    try:
        inspect.signature(callback).bind("stage", 0, 0)
    except (TypeError, ValueError):
        two_arguments = callback
        return lambda _stage, done, total: two_arguments(done, total)
    return callback
