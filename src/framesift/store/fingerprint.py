"""Fingerprints of files by content: unchanged by a move or a new name."""

import hashlib
import os
from pathlib import Path

from framesift.errors import InputError

# Up to 16 MiB every byte is hashed; of a larger file its size and 256 blocks of 64 KiB spread evenly, first and last
# included: a few milliseconds, and any re-encoding or cut changes nearly all of them.
BLOCK_BYTES = 64 * 1024
BLOCKS = 256


def fingerprint(path: str | os.PathLike[str]) -> str:
    """32 hex digits that identify the content of a file."""
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.blake2b(f"{size}:".encode(), digest_size=16)
            for block in range(min(BLOCKS, -(-size // BLOCK_BYTES))):
                file.seek(_offset(block, size))
                digest.update(file.read(BLOCK_BYTES))
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror or error}); expected a video file") from None
    return digest.hexdigest()


def _offset(block: int, size: int) -> int:
    if size <= BLOCKS * BLOCK_BYTES:
        return block * BLOCK_BYTES
    return block * (size - BLOCK_BYTES) // (BLOCKS - 1)
