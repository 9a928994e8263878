"""Files and folders that appear complete or not at all.

They are written under a temporary name in the same folder and then renamed. A process that is killed leaves the
temporary name behind: `is_temporary` recognises it, and the next process that writes to the folder removes it.
"""

import errno
import os
import platform
import re
import secrets
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from framesift.errors import FramesiftError, InputError, OutputError

StrPath = str | os.PathLike[str]

_PREFIX = ".tmp-"
# With the machine and the process that made it.
_TEMPORARY = re.compile(r"\.tmp-framesift-([0-9a-f]{8})-([0-9]{1,8})-[0-9a-f]{8}(?:\..*)?", re.DOTALL)
_LONGEST_SUFFIX = 16
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class FileIdentity(NamedTuple):
    """What distinguishes two versions of a file at one path. changed_ns: renaming, links and permissions change it too.

    It shows that a file was replaced and put back, or overwritten with its time of modification restored.
    """

    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: StrPath) -> "FileIdentity | None":
        """The identity of the file at this path; None if there is none."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        return cls(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@contextmanager
def atomic_path(path: StrPath) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block succeeds and removed when it fails."""
    target = Path(path)
    temporary = temporary_name(target)
    with _prepared(target.parent):
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: StrPath, *, replace: bool = False) -> Iterator[Path]:
    """A temporary folder beside `path`, renamed to it when the block succeeds and removed when it fails.

    A folder that exists under that name is replaced, or, without `replace`, raises OSError unless it is empty.
    """
    target = Path(path)
    temporary, previous = temporary_name(target), temporary_name(target)
    with _prepared(target.parent):
        try:
            temporary.mkdir()
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


@contextmanager
def _prepared(folder: Path) -> Iterator[None]:
    """Create a folder to write to; one that is still empty after the block is removed again."""
    with no_empty_folders(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale_once(folder)
        yield


@contextmanager
def no_empty_folders(folder: Path) -> Iterator[None]:
    """After the block, remove those of `folder` and its parents that did not exist before and are empty."""
    missing = [each for each in (folder, *folder.parents) if not os.path.exists(each)]
    try:
        yield
    finally:
        for each in missing:
            with suppress(OSError):
                each.rmdir()


def remove_stale(folder: Path) -> None:
    """Remove the temporary files and folders that killed processes of this machine left in a folder."""
    if os.name != "posix":  # elsewhere a process can't be looked up without affecting it
        return
    with suppress(OSError):
        for name in os.listdir(folder):
            match = _TEMPORARY.fullmatch(name)
            if match is None or match[1] != _machine() or _is_running(int(match[2])):
                continue
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


@lru_cache(maxsize=1024)
def _remove_stale_once(folder: Path) -> None:
    """Listing a large folder for each file written to it would take long."""
    remove_stale(folder)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


@cache
def _machine() -> str:
    """8 hex digits that identify this machine or container: elsewhere a process number is another process."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{zlib.crc32(f'{platform.node()} {namespace}'.encode('utf-8', 'surrogateescape')):08x}"


def is_temporary(path: Path) -> bool:
    """Whether the name is one that `atomic_path` or `atomic_folder` gives."""
    return path.name.startswith(_PREFIX)


def write_text(path: StrPath, text: str) -> Path:
    """Write a UTF-8 text file atomically."""
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: StrPath, data: bytes) -> Path:
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


def output_error(path: StrPath, error: OSError, remedy: str = "") -> FramesiftError:
    """The error to raise when `path` can't be written."""
    text = f"{os.fspath(path)} can't be written ({error.strerror or error})"
    if error.errno in DISK_ERRORS:
        return OutputError(f"{text}; {remedy or 'free some space or choose another directory'}")
    return InputError(f"{text}; {remedy or 'choose another directory'}")


def temporary_name(target: Path) -> Path:
    """A free name in the folder of `target` that `is_temporary` recognises."""
    # The suffix stays, as writers choose the format by it; the rest of the name could exceed what file systems allow.
    name = f"{_PREFIX}framesift-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(name + target.suffix[:_LONGEST_SUFFIX])
