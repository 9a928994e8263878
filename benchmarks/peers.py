"""Time per question of every selector on one core, and how it grows with the length of the video.

    python benchmarks/peers.py [--runs 9] [--json FILE]

The vectors are those of benchmarks/selection.py; budget 32. What depends on the video alone is computed beforehand.
Selectors that need decoded frames get grey images and a detector with a fixed result, and TSPO a network that returns
its input: their time is the selector's own, without decoding and models. Selectors that can't do without a language
model are left out, the others follow their rules without one. `inspected` is how many frames of the middle
video the selector requested. (A file named selectors.py would shadow the standard library's module.)
"""

import argparse
import json
import os
import platform
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

import framesift as fs
import selection
from framesift.types import Lookup
from framesift.types.lookup import Box, Objects
from framesift.types.vectors import UnitRows

COUNTS = (900, 3600, 14400)
BUDGET = 32
LIMITS_MS = {"wfs-sb": 20.0, "mdp3": 150.0}  # at the middle length


class GreyFrames:
    """A frame source of grey images."""

    def scores(self, indices):
        raise AssertionError(f"{len(indices)} scores were requested; the evidence has arrays")

    def images(self, indices, *, size):
        return [np.full((size[1], size[0], 3), 128, dtype=np.uint8)] * len(indices)


class FixedModel:
    """A detector of the first phrase in the corner of every grid, and a network that returns its input."""

    name = "fixed"

    def detect(self, images, phrases):
        return [[Box(phrases[0], 0.9, 0.0, 0.0, 20.0, 20.0)] for _ in images]

    def embed(self, frames):
        return frames


def make_evidence(count):
    video = selection.make_video(count)
    vectors, event_vectors = UnitRows(video.frames), UnitRows(video.events)
    assert len(vectors.step_distances)
    return fs.Evidence(video.times, video.duration_s, vectors, video.queries[0], video.event_records(), event_vectors)


def make_lookup(evidence):
    """Grey frames, and a question of two options whose words have the vectors of the first frames."""
    return Lookup(
        frames=GreyFrames(),
        objects=Objects(("red car",)),
        question=fs.Question("Where is the red car?", ["in the garage", "on the bridge"]),
        encode_texts=lambda texts: evidence.frames[: len(texts)],
        score_events=lambda texts: np.zeros((len(texts), len(evidence.events))),
    )


def measure(runs):
    cases = {count: make_evidence(count) for count in COUNTS}
    rows = []
    for name, selector in fs.selectors().items():
        if "model" in selector.needs:  # the time is the model's
            continue
        options = {key: FixedModel() for key in ("detector", "network") if key in selector.options}
        options |= {"lengths": 10.0} if "lengths" in selector.options else {}
        row = {"selector": name}
        for count, evidence in cases.items():
            options["lookup"] = make_lookup(evidence)

            def select(evidence=evidence, name=name, options=options):
                return fs.select_frames(evidence, budget=BUDGET, method=name, **options)

            assert len(select()) == BUDGET
            row[f"ms_{count}"] = selection.median_ms(select, runs)
            row[f"frames_inspected_{count}"] = select().trace.get("looked_at")
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", help="also write the rows to this file")
    args = parser.parse_args()
    print(f"# median of {args.runs}, one core, numpy {np.__version__}, {platform.machine()}", file=sys.stderr)
    short, middle, long = COUNTS
    print(f"| selector | {short} frames, ms | {middle}, ms | {long}, ms | ×4 frames, × time | inspected, of {middle} |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = measure(args.runs)
    for row in rows:
        times = [row[f"ms_{count}"] for count in COUNTS]
        cells = " | ".join(f"{ms:.1f}" for ms in times)
        print(f"| {row['selector']} | {cells} | {times[2] / times[1]:.1f} | {row[f'frames_inspected_{middle}']} |")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    slow = [row["selector"] for row in rows if row[f"ms_{middle}"] > LIMITS_MS.get(row["selector"], np.inf)]
    if slow:
        sys.exit(f"above the time limit: {', '.join(slow)}")


if __name__ == "__main__":
    main()
