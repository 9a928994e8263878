"""Weight files on disk: telling one from another quickly, and how much memory is free to use them."""

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

BLOCKS = 32  # read from each file, evenly spaced, ends included
BLOCK_BYTES = 16 * 1024
UNKNOWN_MEMORY = 4 * 1024**3  # bytes taken as free where the system does not say


def file_marks(paths: Iterable[Path]) -> bytes:
    """A digest of files' names, sizes and evenly spaced blocks: any retraining changes it, whatever their size."""
    digest = blake2b(digest_size=16)
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        last = max(size - BLOCK_BYTES, 0)
        with path.open("rb") as file:
            for start in sorted({last * k // (BLOCKS - 1) for k in range(BLOCKS)}):
                file.seek(start)
                digest.update(file.read(BLOCK_BYTES))
    return digest.digest()


def free_memory() -> int:
    """Bytes of main memory free on this machine."""
    names = getattr(os, "sysconf_names", {})
    if "SC_AVPHYS_PAGES" in names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if "SC_PHYS_PAGES" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return UNKNOWN_MEMORY
