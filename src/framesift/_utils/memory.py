"""Main and GPU memory: what is free, and what this process used."""

import ctypes
import os
import sys
from functools import cache
from typing import Any


def free_memory() -> int | None:
    """Bytes of main memory available on this machine; None where the system does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            sizes = dict(line.split(":", 1) for line in file)
        return 1024 * int(sizes["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return None


def peak_memory() -> tuple[int | None, int | None]:
    """Peak bytes of this process, and on the GPU where torch uses one; None where the system does not report it."""
    try:
        import resource
    except ImportError:  # not on Windows
        main = None
    else:
        main = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return main, None
    return main, int(torch.cuda.max_memory_allocated())


def release_free_memory() -> None:
    """Give the memory that was freed back to the system, where the C library would keep it (glibc)."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
