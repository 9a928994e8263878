"""Fingerprints of files by content: unchanged by a move or a new name; and files watched while they are read."""

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from framesift._utils.files import FileIdentity, StrPath
from framesift._utils.records import shown
from framesift.errors import FramesiftError, InputError
from framesift.video.container import check_file

# Up to 16 MiB every byte is hashed; of a larger file its size and 256 blocks of 64 KiB spread evenly, first and last
# included: a few milliseconds, and any re-encoding or cut changes nearly all of them.
BLOCK_BYTES = 64 * 1024
BLOCKS = 256

Computed = TypeVar("Computed")

log = logging.getLogger(__name__)


def fingerprint(path: StrPath) -> str:
    """32 hex digits that identify the content of a file."""
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.blake2b(f"{size}:".encode(), digest_size=16)
            is_whole = size <= BLOCKS * BLOCK_BYTES
            for block in range(min(BLOCKS, -(-size // BLOCK_BYTES))):
                file.seek(block * BLOCK_BYTES if is_whole else block * (size - BLOCK_BYTES) // (BLOCKS - 1))
                digest.update(file.read(BLOCK_BYTES))
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror or error}); expected a video file") from None
    return digest.hexdigest()


class FileChanged(FramesiftError):
    """A file changed while something was computed from it."""


class WatchedFile:
    """A file that must not change while something is computed from it: the result is stored by its fingerprint.

    identity: the version of the file that is watched.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.identity = FileIdentity.of(path)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.path)

    @property
    def has_changed(self) -> bool:
        """Whether the file was replaced or written to since it has been watched."""
        return FileIdentity.of(self.path) != self.identity

    def check(self) -> None:
        """Raise FileChanged if the file has changed."""
        if self.has_changed:
            raise FileChanged(f"{self.path} changed while it was read")

    def check_content(self) -> None:
        """Check as `check` does, and compare the fingerprint: writes through a memory map change no times at first."""
        self.check()
        if fingerprint(self.path) != self.fingerprint:
            raise FileChanged(f"{self.path} changed while it was read")


@contextmanager
def watch(path: StrPath) -> Iterator[WatchedFile]:
    """Watch a file inside the block; an error that is raised after it has changed becomes FileChanged."""
    file = WatchedFile(check_file(path))
    try:
        yield file
    except Exception:
        file.check()
        raise


def read_watched(
    path: StrPath,
    compute: Callable[[WatchedFile], Computed],
) -> Computed:
    """Compute something from a file; once more if the file changes meanwhile, and InputError if it does so again.

    compute: calls `check_content` before it stores anything.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the video is {shown(path)}; expected the path of a file")
    for is_last in (False, True):
        try:
            with watch(path) as file:
                return compute(file)
        except FileChanged as change:
            if not is_last:
                log.warning("%s; what was computed from it is discarded and computed again", change)
    raise InputError(
        f"{os.fspath(path)} is being written: it changed again while it was read; try again when it is complete"
    )
