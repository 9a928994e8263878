"""Files and folders that appear complete or not at all.

They are written under a temporary name in the same folder and then renamed. A process that is killed leaves the
temporary name behind: `is_temporary` recognises it.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from framesift.errors import FramesiftError, InputError, OutputError

_PREFIX = ".tmp-"
_LONGEST_SUFFIX = 16
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class FileIdentity(NamedTuple):
    """What distinguishes two versions of a file at one path. changed_ns: renaming, links and permissions change it too.

    It shows that a file was replaced and put back, or overwritten with its time of modification restored.
    """

    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "FileIdentity | None":
        """The identity of the file at this path; None if there is none."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        return cls(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block succeeds and removed when it fails."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(target)
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | os.PathLike[str], *, replace: bool = False) -> Iterator[Path]:
    """A temporary folder beside `path`, renamed to it when the block succeeds and removed when it fails.

    A folder that exists under that name is replaced, or, without `replace`, raises OSError unless it is empty.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary, previous = temporary_name(target), temporary_name(target)
    temporary.mkdir()
    try:
        yield temporary
        if replace and target.is_dir():
            target.rename(previous)
        try:
            temporary.rename(target)
        except OSError:
            if previous.exists():
                previous.rename(target)
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(previous, ignore_errors=True)


def is_temporary(path: Path) -> bool:
    """Whether the name is one that `atomic_path` or `atomic_folder` gives."""
    return path.name.startswith(_PREFIX)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a UTF-8 text file atomically."""
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Write a file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link the file where the file system allows it, else copy it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def output_error(path: str | os.PathLike[str], error: OSError, remedy: str = "") -> FramesiftError:
    """The error to raise when `path` can't be written."""
    text = f"{os.fspath(path)} can't be written ({error.strerror or error})"
    if error.errno in _DISK_ERRORS:
        return OutputError(f"{text}; {remedy or 'free some space or choose another directory'}")
    return InputError(f"{text}; {remedy or 'choose another directory'}")


def temporary_name(target: Path) -> Path:
    """A free name in the folder of `target` that `is_temporary` recognises."""
    # The suffix stays, as writers choose the format by it; the rest of the name could exceed what file systems allow.
    return target.with_name(f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}{target.suffix[:_LONGEST_SUFFIX]}")
