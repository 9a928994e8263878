"""A disk that is full from a chosen write on, and what is in a folder."""

import errno
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

# What needs space on a disk. Renaming may need some, for a longer folder, but not to go back to a name that was there.
WRITES = ((Path, "write_bytes"), (Path, "write_text"), (Path, "mkdir"), (os, "link"), (shutil, "copyfile"))
CHANGES = ((os, "replace"), (Path, "replace"), (Path, "rename"), (Path, "unlink"))


def contents(folder: Path) -> dict[str, bytes | None]:
    """The files of a folder by relative name, with their content; None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


@contextmanager
def at_write(number: int, act: Callable[[], Any]) -> Iterator[list[str]]:
    """Do something in place of a write or change of this number, and of all writes after it; the names of all."""
    done: list[str] = []

    def watched(owner: Any, name: str, *, lasting: bool) -> Callable[..., Any]:
        original = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if "__pycache__" in str(arguments[0]):
                return original(*arguments, **options)
            done.append(name)
            if len(done) == number or (lasting and len(done) > number):
                if name == "write_bytes":  # a part of it fits
                    with arguments[0].open("wb") as file:
                        file.write(arguments[1][: len(arguments[1]) // 2])
                act()
            return original(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in WRITES:
            patch.setattr(owner, name, watched(owner, name, lasting=True))
        for owner, name in CHANGES:
            patch.setattr(owner, name, watched(owner, name, lasting=False))
        yield done


def fail_at_each_write(run: Callable[[], Any]) -> Iterator[Exception]:
    """Call a function with a disk that is full from its first write on, its second …, until it succeeds; the errors."""

    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    number = 1
    while True:
        failure: Exception | None = None
        with at_write(number, fail) as done:
            try:
                run()
            except Exception as error:
                failure = error
        if failure is None and len(done) < number:
            return
        if failure is not None:
            yield failure
        number += 1


def kill_at_each_write(run: Callable[[], Any]) -> Iterator[None]:
    """Call a function in a process that ends without cleaning up at its first write, its second …, until it ends."""
    number = 1
    while True:
        child = os.fork()
        if not child:
            with suppress(BaseException), at_write(number, lambda: os._exit(9)):
                run()
                os._exit(0)
            os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        if code == 0:
            return
        yield
        number += 1


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let writing fail in every file beyond this size, as on a full disk."""
    import resource  # not on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
