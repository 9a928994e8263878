"""Runs the tests of `make test` again and again, half of the runs beside four busy processes, and prints a table.

Any failure is a fault of a test: the code is the same in every run. The output of a failed run is kept.
"""

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

OPTIONS = ("-n", "auto", "--dist", "worksteal", "-m", "not slow", "-p", "no:cacheprovider")
PYTEST = [sys.executable, "-m", "pytest", *OPTIONS]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="number of the last run")
    parser.add_argument("--first", type=int, default=1, help="number of the first run, to continue a table")
    parser.add_argument("--busy", type=int, default=4, help="busy processes beside every second run")
    parser.add_argument("--logs", type=Path, default=Path("failed-test-runs"), help="folder for failed runs' output")
    arguments = parser.parse_args()
    if arguments.first == 1:
        print(f"{os.cpu_count()} cores\n\n| run | busy processes | passed | failed | s |\n|---:|---:|---:|---:|---:|")
    failures = 0
    for run in range(arguments.first, arguments.runs + 1):
        busy = arguments.busy if run % 2 == 0 else 0
        start = time.perf_counter()
        with busy_processes(busy):
            done = subprocess.run(PYTEST, capture_output=True, text=True, check=False)  # noqa: S603 (our own tests)
        seconds = time.perf_counter() - start
        counts = {word: int(count) for count, word in re.findall(r"(\d+) (passed|failed|errors?)", done.stdout)}
        passed = counts.pop("passed", 0)
        print(f"| {run} | {busy} | {passed} | {sum(counts.values())} | {seconds:.0f} |", flush=True)
        if done.returncode:
            failures += 1
            arguments.logs.mkdir(exist_ok=True)
            (arguments.logs / f"{run}.txt").write_text(done.stdout + done.stderr)
    print(f"\n{failures} of {arguments.runs - arguments.first + 1} runs failed")
    return 1 if failures else 0


@contextmanager
def busy_processes(count: int):
    processes = [multiprocessing.Process(target=keep_busy, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    yield
    for process in processes:
        process.kill()


def keep_busy() -> None:
    while True:
        pass


if __name__ == "__main__":
    sys.exit(main())
