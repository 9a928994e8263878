"""Time of one selection, compared with a straightforward NumPy implementation, also on a busy machine.

    python benchmarks/selection.py [--video FILE] [--busy 2] [--clock cpu] [--runs 20] [--json FILE]

Inputs: `shots` resembles video (shots of 8 similar frames on average, all frames in one narrow cone); `noise` is
random; `walk` is smooth (a normalised random walk); `static` is one vector with little noise, where float64 has to
decide; `slides` is 12 vectors, each 300 times; `index` is that of --video with the offline encoder, at --fps frames
per second and at one. An event every 3 frames.

Every input is measured with one BLAS thread and with as many as the BLAS chooses, each in a process of its own, and
beside --busy processes that never pause. The implementations take turns of five runs, so that other work on the
machine meets all of them, each with its data in the cache; on a machine that is not idle, `--clock cpu` measures CPU
time. What depends on the video alone is computed beforehand for all (unit rows, step distances): the time is from
vectors to selection.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import gcr_numpy
import numpy as np

import framesift as fs
from framesift.types.vectors import UnitRows

DIM = 1152
BUDGETS = (8, 32, 64)
RUNS_PER_TURN = 5
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class SyntheticVideo(NamedTuple):
    """times (N,), frames (N, D), queries (100, D), starts and ends (E,) of the events, and their vectors (E, D)."""

    times: np.ndarray
    frames: np.ndarray
    queries: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    events: np.ndarray

    @property
    def duration_s(self):
        return float(len(self.times))

    def event_records(self):
        times = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [fs.Event(start_s, end_s, "a line of speech") for start_s, end_s in times]


def make_video(count, seed=0):
    rng = np.random.default_rng(seed)
    shot = np.repeat(np.arange(count), rng.geometric(1 / 8, count))[:count]
    common, shot_vectors = rng.standard_normal(DIM), rng.standard_normal((shot[-1] + 1, DIM))
    frames = unit(common + 0.8 * shot_vectors[shot] + 0.25 * rng.standard_normal((count, DIM)))
    return add_questions(frames, rng)


def add_questions(frames, rng):
    """Events near the mean frame, and questions each near some frame."""
    count, dim = frames.shape
    common = unit(frames.mean(axis=0, keepdims=True))[0]
    starts = 3.0 * np.arange(count // 3) + rng.random(count // 3)
    ends = starts + 1 + 2 * rng.random(len(starts))
    lines = unit(common + unit(rng.standard_normal((len(starts), dim))))
    queries = unit(frames[rng.integers(0, count, 100)] + unit(rng.standard_normal((100, dim))))
    return SyntheticVideo(np.arange(count) * 1.0, frames, queries, starts, ends, lines)


def unit(rows, dtype=np.float32):
    rows = rows.astype(np.float64)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(dtype)


def make_inputs(video, fps):
    rng = np.random.default_rng(0)
    for count in (100, 300, 3600):
        yield f"shots, {count:,}", make_video(count)
    noise = rng.standard_normal((3600, DIM))
    yield "noise, 3,600", add_questions(unit(noise), rng)
    yield "walk, 3,600", add_questions(unit(np.cumsum(noise, axis=0)), rng)
    yield "static, 3,600", add_questions(unit(noise[:1] + 1e-4 * noise), rng)
    yield "slides, 3,600", add_questions(unit(np.repeat(noise[:12], 300, axis=0)), rng)
    if video:
        frames = unit(fs.index(video, encoder="offline", fps=fps).frames.astype(np.float32))
        for step in sorted({1, round(fps)}):
            part = np.ascontiguousarray(frames[::step])
            yield f"index, {len(part):,}", add_questions(part, rng)


def median_ms(call, runs):
    return statistics.median(times_ms([call], runs)[0])


def times_ms(calls, runs, clock=time.perf_counter):
    """The times of each call; they take turns of five runs after one that is not measured."""
    times = [[] for _ in calls]
    for first in range(0, runs, RUNS_PER_TURN):
        for call, taken in zip(calls, times, strict=True):
            call()
            for _ in range(min(RUNS_PER_TURN, runs - first)):
                started = clock()
                call()
                taken.append(1000 * (clock() - started))
    return times


def measure(video, budget, runs, clock):
    """The times of gcr and of the NumPy program in float32 and float64, and whether each of these selects the same."""
    query, events = video.queries[0], video.event_records()
    vectors, event_vectors = UnitRows(video.frames), UnitRows(video.events)
    steps = vectors.step_distances

    def framesift_gcr():
        evidence = fs.Evidence(video.times, video.duration_s, vectors, query, events, event_vectors)
        return fs.select_frames(evidence, budget=budget, method="gcr")

    def numpy_gcr(dtype):
        cast = video._replace(frames=unit(video.frames, dtype), events=unit(video.events, dtype))
        return lambda: gcr_numpy.gcr(cast, query.astype(dtype), budget, steps)

    calls = {"gcr": framesift_gcr, "numpy": numpy_gcr(np.float32), "numpy64": numpy_gcr(np.float64)}
    frames = framesift_gcr().indices
    same_frames = {name: call() == frames for name, call in calls.items() if name != "gcr"}
    times = dict(zip(calls, times_ms(calls.values(), runs, clock), strict=True))
    return {"budget": budget, "same_frames": same_frames, **times}


def measure_many(count, budget, clock):
    video = make_video(count)
    video = video._replace(queries=video.queries[:20])
    events = video.event_records()
    index = fs.VideoIndex(fs.VideoInfo("synthetic", video.duration_s), video.times, video.frames, "synthetic")
    questions = ["What happens?"] * len(video.queries)

    def together():
        vectors = {"queries": video.queries, "event_features": video.events}
        fs.select_many(index, questions, events=events, budget=budget, method="gcr", visual_demand=0.5, **vectors)

    def one_by_one():
        for query in video.queries:
            evidence = fs.Evidence(video.times, video.duration_s, video.frames, query, events, video.events)
            fs.select_frames(evidence, budget=budget, method="gcr")

    many, single = (statistics.median(taken) for taken in times_ms([together, one_by_one], 3, clock))
    return {"questions": len(questions), "many_ms": many / len(questions), "single_ms": single / len(questions)}


def run_child(args, threads):
    """Measure in a new process, since a BLAS reads its number of threads when it is loaded."""
    environment = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES}
    if threads == "one":
        environment |= dict.fromkeys(THREAD_VARIABLES, "1")
    command = [sys.executable, __file__, "--threads", threads, "--runs", str(args.runs), "--fps", str(args.fps)]
    command += ["--clock", args.clock, *(["--video", args.video] if args.video else [])]
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)  # noqa: S603 (our own)
    return json.loads(found.stdout)


def print_table(rows):
    print("| input | budget | threads | gcr, ms | NumPy float32, ms | ratio | NumPy float64, ms | ratio |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    for row in rows:
        median = {name: statistics.median(row[name]) for name in ("gcr", "numpy", "numpy64")}
        cells = [f"{median['gcr']:.1f} ({max(row['gcr']):.1f})"]
        for name in ("numpy", "numpy64"):
            ratio = f"{median[name] / median['gcr']:.1f}×" + ("" if row["same_frames"][name] else ", other frames")
            cells += [f"{median[name]:.1f} ({max(row[name]):.1f})", ratio]
        print(f"| {row['input']} | {row['budget']} | {row['threads']} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--video", help="also measure the index of this video, made if there is none")
    parser.add_argument("--fps", type=float, default=4.0, help="frames per second of that index")
    parser.add_argument("--busy", type=int, default=0, help="number of processes that keep a core busy meanwhile")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="which time to measure")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", help="also write every time to this file")
    parser.add_argument("--threads", choices=("one", "default"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.threads:
        clock = time.process_time if args.clock == "cpu" else time.perf_counter
        inputs = make_inputs(args.video, args.fps)
        rows = [{"input": name, **measure(video, b, args.runs, clock)} for name, video in inputs for b in BUDGETS]
        json.dump({"rows": rows, "many": measure_many(3600, 64, clock)}, sys.stdout)
        return
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    try:
        found = {threads: run_child(args, threads) for threads in ("one", "default")}
    finally:
        for process in busy:
            process.kill()
    rows = [{"threads": threads, **row} for threads in found for row in found[threads]["rows"]]
    rows.sort(key=lambda row: (row["input"], row["budget"]))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, NumPy {np.__version__}"
    print(f"# {args.clock} time, median (worst) of {args.runs}, {args.busy} busy processes, {machine}", file=sys.stderr)
    print_table(rows)
    many = found["one"]["many"]
    print(f"\n20 questions on one video (3,600 frames, budget 64): {many['many_ms']:.1f} ms each with select_many,")
    print(f"{many['single_ms']:.1f} ms each with an Evidence of its own: {many['single_ms'] / many['many_ms']:.1f}×.")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"machine": machine, **vars(args), "rows": rows, "many": many}, file, indent=1)
    different = [f"{row['input']} at {row['budget']}" for row in rows if not row["same_frames"]["numpy64"]]
    if different:
        sys.exit(f"framesift and the NumPy program in float64 select different frames: {'; '.join(different)}")


if __name__ == "__main__":
    main()
