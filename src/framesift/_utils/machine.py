"""What this machine has and this process may use: cores, threads, main and GPU memory."""

import ctypes
import os
import sys
from functools import cache
from typing import Any

# By default glibc raises this limit to the size of the blocks freed so far, and what is smaller leaves gaps. FFmpeg's
# index of a long file is made of such blocks; images of candidates are smaller.
LARGE_BLOCK = 2**22
M_MMAP_THRESHOLD = -3  # in malloc.h


def usable_cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def thread_count() -> int:
    """OMP_NUM_THREADS, which also limits the numerical libraries, if it is a positive number, else one per core."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return int(limit) if limit.isdecimal() and int(limit) else usable_cores()


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
    """The C library's function; from its first use on, large blocks go back by themselves when they are freed."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
        return library.malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
