"""Locks between processes; the operating system releases one when its process ends, however it ends."""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from framesift._utils.files import no_empty_folders

_POLL_S = 0.1
_HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # by another; other errors mean that there are no locks here


def lock_open_file(file: int) -> None:
    """Lock an open file until it is closed; OSError if another has locked it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def file_lock(path: Path, wait: Callable[[], object]) -> Iterator[None]:
    """Hold the lock of a file inside the block; the file is created and removed.

    wait: called again and again while another process, or another thread, holds the lock; what it raises ends the
    waiting. The lock saves work and guarantees nothing: where files can't be written or locked, there is none.
    """
    with no_empty_folders(path.parent):
        file = _acquire(path, wait)
        try:
            yield
        finally:
            if file is not None:
                _remove(path, file)


def _acquire(path: Path, wait: Callable[[], object]) -> int | None:
    """The open and locked file at this path; None if there are no locks."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:
            return None
        try:
            lock_open_file(file)
        except OSError as error:
            if error.errno not in _HELD:
                _remove(path, file)
                return None
            os.close(file)
            wait()
            time.sleep(_POLL_S)
            continue
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(file)):
                return file
        os.close(file)  # the one that held the lock has removed the file


def _remove(path: Path, file: int) -> None:
    """Remove and close an open file; in this order, except on Windows, so that nobody locks it in between."""
    if sys.platform == "win32":
        os.close(file)
    with suppress(OSError):
        path.unlink()
    if sys.platform != "win32":
        os.close(file)
