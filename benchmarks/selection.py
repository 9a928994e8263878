"""Time of one selection on one core, against what one would write instead.

    python benchmarks/selection.py [--runs 20] [--json FILE]

The vectors are made up, but shaped like video: shots of 8 frames on average that look alike, all frames in one narrow
cone, a line of speech every 3 seconds. What depends on the video alone is computed before the clock starts, for all
alike (unit rows; for gcr also the steps between frames and the shots). The clock runs from vectors to selection.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import plain

import framesift as fs

DIM = 1152
PAIRWISE_MOST = 3600  # all pairs of 14,400 frames would take 830 MB


def make_video(count, seed=0):
    rng = np.random.default_rng(seed)
    shot = np.repeat(np.arange(count), rng.geometric(1 / 8, count))[:count]
    common, looks = rng.standard_normal(DIM), rng.standard_normal((shot[-1] + 1, DIM))
    frames = unit(common + 0.8 * looks[shot] + 0.25 * rng.standard_normal((count, DIM)))
    starts = 3.0 * np.arange(count // 3) + rng.random(count // 3)
    ends = starts + 1 + 2 * rng.random(len(starts))
    lines = unit(common + rng.standard_normal((len(starts), DIM)))
    queries = unit(0.5 * common + 0.5 * looks[rng.integers(0, len(looks), 100)] + rng.standard_normal((100, DIM)))
    return np.arange(count) * 1.0, frames, queries, starts, ends, lines


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
    times, frames, queries, starts, ends, lines = make_video(count)
    query = queries[0]
    events = [fs.Event(a, b, "a line of speech") for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    vectors, event_vectors = fs.UnitRows(frames), fs.UnitRows(lines)
    assert len(vectors.step_distances) and len(vectors.shots.radius)

    def ours():
        evidence = fs.Evidence(
            times, float(count), vectors.rows, query, events, prepared=vectors, prepared_events=event_vectors
        )
        return fs.select_frames(evidence, budget=budget)

    def plain_gcr(dtype, pairwise=False):
        arrays = frames.astype(dtype), query.astype(dtype), starts, ends, lines.astype(dtype)
        return lambda: plain.gcr(times, float(count), *arrays, 0.5, budget, pairwise)

    products, exact = plain_gcr(np.float32), plain_gcr(np.float64)
    row = {
        "frames": count,
        "budget": budget,
        "gcr_ms": median_ms(ours, runs),
        "products_ms": median_ms(products, runs),
        "products64_ms": median_ms(exact, runs),
        "pairwise_ms": None,
        "refine_ran": ours().trace["refine"]["ran"],
        "same_frames": ours().indices == exact(),
    }
    if count <= PAIRWISE_MOST:
        row["pairwise_ms"] = median_ms(plain_gcr(np.float32, True), min(runs, 5))
    return row


def measure_many(count, budget, runs):
    times, frames, queries, starts, ends, lines = make_video(count)
    events = [fs.Event(a, b, "a line of speech") for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    index = fs.VideoIndex(fs.VideoInfo("made up", float(count)), times, frames, "made up")
    asked = ["What happens?"] * len(queries)

    def together():
        fs.select_many(
            index, asked, queries=queries, events=events, event_features=lines, budget=budget, visual_demand=0.5
        )

    def one_by_one():
        for query in queries:
            fs.select_frames(fs.Evidence(times, float(count), frames, query, events, lines), budget=budget)

    many, single = (median_ms(call, max(1, runs // 5)) / len(asked) for call in (together, one_by_one))
    return {"frames": count, "budget": budget, "questions": len(asked), "many_ms": many, "single_ms": single}


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
                sys.exit("gcr and the plain version disagree")
    many = measure_many(3600, 64, args.runs)
    print(f"\n100 questions on one video (3600 frames, budget 64): {many['many_ms']:.1f} ms each with select_many,")
    print(f"{many['single_ms']:.1f} ms each with an Evidence of its own: {many['single_ms'] / many['many_ms']:.1f}×.")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "many": many}, file, indent=1)


if __name__ == "__main__":
    main()
