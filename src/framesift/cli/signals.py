"""Ctrl-C and SIGTERM: an exit code and no traceback, from the first import to the last thread.

While modules are imported there is nothing to finish, and a signal ends the process. Once a command works, a signal
raises an exception, so that files are closed and worker processes are stopped.
"""

import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


class Terminated(KeyboardInterrupt):
    """Raised by SIGTERM, so that it ends a command as Ctrl-C does."""


def exit_on_signals() -> None:
    """End the process on a signal; one that the caller ignores, as in the background of a script, stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _exit_at_once)
    sys.unraisablehook = _handle_unraisable


def raise_on_signals() -> None:
    """From now on, raise an exception on a signal that would end the process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is _exit_at_once:
            signal.signal(number, _raise)


def exit_code(stop: KeyboardInterrupt) -> int:
    """130 for Ctrl-C, 143 for SIGTERM, as shells count."""
    return 143 if isinstance(stop, Terminated) else 130


def exit_without_threads(code: int) -> NoReturn:
    """End the process without waiting for threads, such as one that waits for a server's reply."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _exit_at_once(number: int, _: FrameType | None) -> None:
    os.write(2, b"framesift: stopped\n")
    os._exit(128 + number)


def _raise(number: int, _: FrameType | None) -> None:
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _handle_unraisable(unraisable: "UnraisableHookArgs") -> None:
    """Exit on a signal that arrived in a callback, where its exception would be printed and ignored."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _exit_at_once(exit_code(unraisable.exc_value) - 128, None)
    sys.__unraisablehook__(unraisable)
