"""Cores that this process may use, and threads that it should."""

import os


def usable_cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def thread_count() -> int:
    """OMP_NUM_THREADS, which also limits the numerical libraries, if it is a positive number, else one per core."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return int(limit) if limit.isdecimal() and int(limit) else usable_cores()
