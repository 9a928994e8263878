"""Reliability under faults: mutated, changing and missing files, killed processes, full disks, several processes.

    python benchmarks/faults.py [--kinds subtitles,videos-h264,…] [--count N] [--seed S] [--jobs J] [--out FILE.json]

Tries run in worker processes, so that a crash of the interpreter or a try of more than 60 seconds is counted and the
rest goes on. Prints the table of benchmarks/results/reliability.md; --out keeps the traceback of every failure. The
same seed gives the same faults, except for the moments at which processes are killed. Without --count each kind has its
full number.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

LIMIT_S = 60  # of one try
START_LIMIT_S = 600  # of a worker's preparations: clips, stores, runs without a fault
FULL = {"subtitles": 10_000, "videos": 1000, "records": 1000, "kill": 100, "changing": 500, "full": 200, "read": 100}
FULL["processes"] = 25
COLUMNS = ("accepted", "sentence", "lost", "poisoned", "left behind", "raw error", "crash", "hang")
FAILURES = COLUMNS[2:]


def kinds():
    """Every kind of fault by name: a function of a folder that returns a try."""
    from helpers.fault_tries import TRIES
    from helpers.killed_commands import PROCESS_TRIES

    return TRIES | PROCESS_TRIES


def full_count(kind):
    return FULL[kind.partition("-")[0]]


def work(kind, first, count, seed):
    """Try a range of numbers in this process; a line of JSON on the standard output at the start and end of each."""
    from helpers.fault_tries import quiet

    # What the tried code prints must not get between the lines.
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(**row):
        print(json.dumps(row), file=lines, flush=True)

    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        os.environ["FRAMESIFT_STORE"] = str(Path(folder) / "default-store")
        Path(folder, "tries").mkdir()
        attempt = kinds()[kind](Path(folder, "tries"))
        for number in range(first, first + count):
            say(number=number)
            started = time.perf_counter()
            with quiet():
                outcome, detail = outcome_of(attempt, number, seed)
            say(number=number, outcome=outcome, detail=detail, seconds=time.perf_counter() - started)


def outcome_of(attempt, number, seed):
    from framesift.errors import FramesiftError
    from helpers.fault_tries import Fault

    try:
        attempt(number, seed)
        return "accepted", ""
    except Fault as fault:
        return fault.kind, traceback.format_exc()
    except FramesiftError as error:
        sentence = str(error)
        return ("raw error", f"not one line: {sentence!r}") if "\n" in sentence else ("sentence", sentence[:300])
    except Exception:
        return "raw error", traceback.format_exc()


def supervise(kind, first, count, seed):
    """Run a range of tries in workers, with a new one after each crash or hang; the rows of all."""
    rows = []
    end = first + count
    while first < end:
        command = [sys.executable, __file__, "--work", kind, str(first), str(end - first), "--seed", str(seed)]
        pipe = subprocess.PIPE
        # The commands that a worker starts are in its process group, and end with it.
        worker = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)  # noqa: S603 (this file)
        errors = []
        reader = threading.Thread(target=lambda w=worker, e=errors: e.append(w.stderr.read()[-4000:]))
        reader.start()
        hung = threading.Event()
        current = None
        timer = _timer(worker, hung, START_LIMIT_S)
        for line in worker.stdout:
            timer.cancel()
            row = json.loads(line)
            if "outcome" in row:
                rows.append(row)
                first, current = row["number"] + 1, None
            else:
                current = row["number"]
            timer = _timer(worker, hung, LIMIT_S)
        code = worker.wait()
        timer.cancel()
        _kill_group(worker)
        reader.join()
        if current is not None:
            outcome = "hang" if hung.is_set() else "crash"
            rows.append({"number": current, "outcome": outcome, "detail": f"exit {code}: {errors[0]}", "seconds": 0.0})
            first = current + 1
        elif first < end:
            raise RuntimeError(f"{kind}: a worker did not start, or not end (exit {code}): {errors[0]}")
    return rows


def _timer(worker, hung, seconds):
    def stop():
        hung.set()
        _kill_group(worker)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    return timer


def _kill_group(worker):
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)


def measure(names, count, seed, jobs):
    """The rows of every kind, in parts that the jobs divide among themselves."""
    with ThreadPoolExecutor(jobs) as pool:
        parts = []
        for name in names:
            total = count or full_count(name)
            size = max(1, -(-total // jobs))
            parts += [
                (name, pool.submit(supervise, name, first, min(size, total - first), seed))
                for first in range(0, total, size)
            ]
        rows = {name: [] for name in names}
        left = Counter(name for name, _ in parts)
        for name, part in parts:
            try:
                rows[name] += part.result()
            except RuntimeError as error:
                print(error, file=sys.stderr)
            left[name] -= 1
            if not left[name]:
                print(table_line(name, rows[name]), flush=True)
    return rows


def table_head():
    return "| fault | tries | " + " | ".join(COLUMNS) + " | slowest, s |\n|---" + "|---:" * (len(COLUMNS) + 2) + "|"


def table_line(name, rows):
    outcomes = Counter(row["outcome"] for row in rows)
    cells = [len(rows), *(outcomes[column] for column in COLUMNS)]
    slowest = max((row["seconds"] for row in rows), default=0.0)
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {slowest:.1f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", help="names, separated by commas, or their beginnings (default: all)")
    parser.add_argument("--count", type=int, help="tries of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", metavar="FILE.json")
    parser.add_argument("--work", nargs=3, metavar=("KIND", "FIRST", "COUNT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        kind, first, count = args.work
        return work(kind, int(first), int(count), args.seed)
    wanted = tuple((args.kinds or "").split(","))
    names = [name for name in kinds() if name.startswith(wanted)]
    if not names:
        parser.error(f"no kind begins with {args.kinds}; there are {', '.join(kinds())}")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print(table_head(), flush=True)
    rows = measure(names, args.count, args.seed, args.jobs)
    failed = {name: [row for row in found if row["outcome"] in FAILURES] for name, found in rows.items()}
    if args.out:
        counts = {name: Counter(row["outcome"] for row in found) for name, found in rows.items()}
        text = json.dumps({"seed": args.seed, "counts": counts, "failures": failed}, indent=2)
        Path(args.out).write_text(text + "\n", encoding="utf-8")
    for name, found in failed.items():
        # One of each error: those at other places have other last lines.
        for row in {row["detail"].strip().rpartition("\n")[2]: row for row in found}.values():
            print(f"\n{name} {row['number']}: {row['outcome']}\n{row['detail']}", file=sys.stderr)
    return 1 if any(failed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
