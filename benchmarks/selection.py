"""Time of one selection on one core, compared with a straightforward NumPy implementation.

    python benchmarks/selection.py [--runs 20] [--json FILE]

The vectors are synthetic but resemble video: shots of 8 similar frames on average, all frames in one narrow cone, a
spoken event every 3 seconds. What depends on the video alone is computed beforehand for every implementation (unit
rows; for gcr also the step distances and the shots). The time measured is from vectors to selection.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from typing import NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"

import gcr_numpy
import numpy as np

import framesift as fs

DIM = 1152
MAX_PAIRWISE = 3600  # all pairs of 14,400 frames would take 830 MB


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
    starts = 3.0 * np.arange(count // 3) + rng.random(count // 3)
    ends = starts + 1 + 2 * rng.random(len(starts))
    lines = unit(common + rng.standard_normal((len(starts), DIM)))
    chosen_shots = rng.integers(0, len(shot_vectors), 100)
    queries = unit(0.5 * common + 0.5 * shot_vectors[chosen_shots] + rng.standard_normal((100, DIM)))
    return SyntheticVideo(np.arange(count) * 1.0, frames, queries, starts, ends, lines)


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def median_ms(call, runs):
    call()
    seconds = []
    for _ in range(runs):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return 1000 * statistics.median(seconds)


def measure(count, budget, runs):
    video = make_video(count)
    query, events = video.queries[0], video.event_records()
    vectors, event_vectors = fs.UnitRows(video.frames), fs.UnitRows(video.events)
    assert len(vectors.step_distances) and len(vectors.shots.radius)

    def framesift_gcr():
        evidence = fs.Evidence(
            video.times, video.duration_s, vectors.rows, query, events, prepared=vectors, prepared_events=event_vectors
        )
        return fs.select_frames(evidence, budget=budget)

    def numpy_gcr(dtype, pairwise=False):
        cast = video._replace(frames=video.frames.astype(dtype), events=video.events.astype(dtype))
        return lambda: gcr_numpy.gcr(cast, query.astype(dtype), budget, pairwise=pairwise)

    products, exact = numpy_gcr(np.float32), numpy_gcr(np.float64)
    row = {
        "frames": count,
        "budget": budget,
        "gcr_ms": median_ms(framesift_gcr, runs),
        "products_ms": median_ms(products, runs),
        "products64_ms": median_ms(exact, runs),
        "pairwise_ms": None,
        "refine_ran": framesift_gcr().trace["refine"]["ran"],
        "same_frames": framesift_gcr().indices == exact(),
    }
    if count <= MAX_PAIRWISE:
        row["pairwise_ms"] = median_ms(numpy_gcr(np.float32, True), min(runs, 5))
    return row


def measure_many(count, budget, runs):
    video = make_video(count)
    events = video.event_records()
    index = fs.VideoIndex(fs.VideoInfo("synthetic", video.duration_s), video.times, video.frames, "synthetic")
    questions = ["What happens?"] * len(video.queries)

    def together():
        vectors = {"queries": video.queries, "event_features": video.events}
        fs.select_many(index, questions, events=events, budget=budget, visual_demand=0.5, **vectors)

    def one_by_one():
        for query in video.queries:
            evidence = fs.Evidence(video.times, video.duration_s, video.frames, query, events, video.events)
            fs.select_frames(evidence, budget=budget)

    many, single = (median_ms(call, max(1, runs // 5)) / len(questions) for call in (together, one_by_one))
    return {"frames": count, "budget": budget, "questions": len(questions), "many_ms": many, "single_ms": single}


def ratio(row, name):
    return "– | –" if row[name] is None else f"{row[name]:.1f} | {row[name] / row['gcr_ms']:.1f}×"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", help="also write the rows to this file")
    args = parser.parse_args()
    print(f"# median of {args.runs}, one core, numpy {np.__version__}, {platform.machine()}", file=sys.stderr)
    others = ("a product per pick, ms", "the same in float64, ms", "all pairs, ms")
    print("| frames | budget | gcr, ms |" + "".join(f" {name} | ratio |" for name in others))
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    rows = []
    for count in (600, 3600, 14400):
        for budget in (8, 32, 64):
            row = measure(count, budget, args.runs)
            rows.append(row)
            cells = [ratio(row, name) for name in ("products_ms", "products64_ms", "pairwise_ms")]
            print(f"| {count} | {budget} | {row['gcr_ms']:.1f} | {' | '.join(cells)} |", flush=True)
            if not row["same_frames"]:
                sys.exit("framesift and the NumPy implementation select different frames")
    many = measure_many(3600, 64, args.runs)
    print(f"\n100 questions on one video (3600 frames, budget 64): {many['many_ms']:.1f} ms each with select_many,")
    print(f"{many['single_ms']:.1f} ms each with an Evidence of its own: {many['single_ms'] / many['many_ms']:.1f}×.")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "many": many}, file, indent=1)


if __name__ == "__main__":
    main()
