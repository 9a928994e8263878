"""A folder that can't be written, also for the superuser, whom permissions do not bind."""

import builtins
import errno
import io
import os
from pathlib import Path
from typing import Any

WRITERS = ("mkdir", "rename", "replace", "unlink", "remove", "rmdir", "utime", "link", "symlink", "truncate")
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def make_read_only(monkeypatch: Any, root: Path, error: int = errno.EROFS) -> None:
    """Let everything that would write below `root` fail with this error."""

    def check(path: Any) -> None:
        if isinstance(path, str | os.PathLike) and Path(os.fspath(path)).absolute().is_relative_to(root):
            raise OSError(error, os.strerror(error), str(path))

    def guarded(function: Any, writes: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if writes(*arguments, **options):
                for argument in arguments[:2]:
                    check(argument)
            return function(*arguments, **options)

        return call

    for name in WRITERS:
        monkeypatch.setattr(os, name, guarded(getattr(os, name), lambda *_, **__: True))
    monkeypatch.setattr(os, "open", guarded(os.open, lambda path, flags, *_, **__: flags & WRITE_FLAGS))
    text_open = guarded(io.open, lambda file, mode="r", *_, **__: set(mode) & set("wax+"))
    monkeypatch.setattr(io, "open", text_open)
    monkeypatch.setattr(builtins, "open", text_open)
