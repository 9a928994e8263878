"""A sample of every kind of fault that benchmarks/faults.py tries in large numbers: see docs/reliability.md."""

import sys
from contextlib import suppress

import pytest

from framesift.errors import FramesiftError
from helpers.fault_tries import TRIES, quiet
from helpers.killed_commands import PROCESS_TRIES

SEED = 17
# Tries of each kind; files of records are in test_mutated_files.py.
COUNTS = {"subtitles": 90, "full-disk": 7, "read-only-disk": 7, "changing-files": 3}
PROCESSES = ("kill-index", "kill-corpus", "kill-bench", "kill-serve", "processes-2-index")


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in TRIES if not name.startswith("records")),
        *(pytest.param(name, marks=pytest.mark.slow) for name in PROCESSES),
    ],
)
def test_fault_ends_normally_or_with_one_sentence(name, tmp_path, monkeypatch):
    if name == "full-disk":
        pytest.importorskip("resource", reason="limits the size of files, as POSIX systems can")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("FRAMESIFT_STORE", str(tmp_path / "default-store"))
    (tmp_path / "tries").mkdir()
    attempt = (TRIES | PROCESS_TRIES)[name](tmp_path / "tries")
    for number in range(COUNTS.get(name, 1 if name in PROCESSES else 4)):
        with quiet(), suppress(FramesiftError):
            attempt(number, SEED)
