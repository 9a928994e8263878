"""Rows as a run would write them, with answers of a known accuracy."""

import zlib
from dataclasses import fields as fields_of

import numpy as np

from framesift.batch.results import Result, Results, ResultWriter, Run

RUN = Run(
    id="r1",
    command="framesift bench longvideobench --data LVB --methods gcr,uniform",
    dataset="longvideobench",
    data="0123456789abcdef",
    annotation="fedcba9876543210",
    encoder="siglip",
    versions={"framesift": "0.1", "python": "3.11"},
    prompts={"longvideobench": "Answer with the option's letter."},
    items=120,
    missing=("2 videos missing for 3 questions (a.mp4, b.mp4)",),
)
NAMES = {field.name for field in fields_of(Result)}
GROUPS = ("Short", "Medium", "Long")


def row(item="q0", **fields):
    """A correct answer to one question of a video, unless `fields`, or settings of the run, differ."""
    settings = {"encoder": "siglip", "prompt_times": True, "uniform_frames": "candidates"}
    settings |= {name: fields.pop(name) for name in [*fields] if name not in NAMES}
    default = {
        "dataset": "longvideobench", "item_id": item, "method": "gcr", "budget": 8, "text_mode": "aligned",
        "reader": "qwen", "prompt": "longvideobench", "options": {}, "config": settings, "video_id": f"v-{item}",
        "group": "Short", "categories": ("S2A",), "truth": 1, "choice": 1, "parsed": True,
        "annotation": RUN.annotation, "run": RUN.id,
    }  # fmt: skip
    return Result(**{**default, **fields})


def answers(method="gcr", accuracy=0.6, n=120, seed=0, **fields):
    """n answers over n / 2 videos, correct with this probability, the same for the same seed."""
    rng = np.random.default_rng(zlib.crc32(f"{seed} {method} {sorted(fields.items())}".encode()))
    rows = []
    for k in range(n):
        seconds = {"decode": 2.0, "features": 1.0, "score": 0.25, "select": 0.25}
        labels = {"video_id": f"v{k // 2}", "group": GROUPS[k % 3], "categories": ("S2A" if k % 2 else "T3O",)}
        frames = {"times_s": tuple(float(k + j) for j in range(4)), "looked_at": 40, "candidates": 50}
        choice = 1 if rng.random() < accuracy else 2
        values = {**labels, **frames, "seconds": seconds, "choice": choice, **fields}
        rows.append(row(f"q{k}", method=method, **values))
    return rows


def results(*parts):
    return Results([row for part in parts for row in part], {RUN.id: RUN})


def keep(folder, *rows, run=RUN):
    with ResultWriter(folder, run) as writer:
        for one in rows:
            writer.add(one)
    return writer.path


def keep_many(folder, first):
    keep(folder, *(row(f"q{first + k}") for k in range(50)))
