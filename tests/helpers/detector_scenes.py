"""A synthetic video with decodable frames, and a detector that finds colours in them."""

import numpy as np

import framesift as fs
from framesift.types import Lookup
from framesift.types.lookup import Box, Objects, Relation

COLOURS = {"red car": 0, "green tree": 1, "blue door": 2}


class Scenes:
    """A frame source that records requests. Frame i is filled with the colour levels[i] (R, G, B)."""

    def __init__(self, levels, scores):
        self.levels, self.values = np.asarray(levels, dtype=np.uint8), np.asarray(scores)
        self.requested = []

    def scores(self, indices):
        self.requested += list(indices)
        return self.values[list(indices)]

    def images(self, indices, *, size):
        self.requested += list(indices)
        return [np.broadcast_to(self.levels[i], (size[1], size[0], 3)) for i in indices]


class ColourDetector:
    """Detects a colour in both halves of a frame that has it; the confidence is its level."""

    name = "colours"

    def detect(self, images, phrases):
        return [
            [
                Box(phrase, image[top, left, COLOURS[phrase]] / 255, left, top, left + 100, top + 95)
                for top in range(0, image.shape[0], 95)
                for left in range(0, image.shape[1], 100)
                for phrase in phrases
                if phrase in COLOURS and image[top, left, COLOURS[phrase]] > 0
            ]
            for image in images
        ]


def scene_evidence(count, seed=0, kind="random"):
    return scene(count, seed, kind)[0]


def scene(count, seed=0, kind="random"):
    """Evidence of `count` frames, and a lookup that finds the objects in them.

    random: red in a few segments, green and blue in single frames. smooth: all three vary slowly. spiky: red in single
    frames. constant: the same in every frame. empty: nothing to detect.
    """
    rng = np.random.default_rng([seed, count])
    levels = np.zeros((count, 3))
    if kind == "random":
        for start in rng.integers(0, count, 1 + count // 100):
            levels[start : start + 12, 0] = rng.integers(100, 256)
        levels[rng.random(count) < 0.1, 1] = 200
        levels[rng.random(count) < 0.1, 2] = 150
    elif kind == "smooth":
        levels += 127 * (1 + np.sin(np.arange(count)[:, None] / 40 + rng.uniform(0, 6, 3)))
    elif kind == "spiky":
        levels[rng.integers(0, count, 1 + count // 20), 0] = 250
    elif kind == "constant":
        levels += (200, 100, 0)
    lines = [fs.Event(k, k + 4.0, f"line {k}") for k in range(0, count - 4, 9)]
    source = Scenes(levels, rng.uniform(0, 0.3, count))
    times_s, frames, query = np.arange(count) * 1.0, rng.standard_normal((count, 4)), rng.standard_normal(4)
    scores = rng.uniform(0, 1, len(lines))
    evidence = fs.Evidence(times_s, float(count), frames, query, lines, event_scores=scores)
    objects = Objects(("red car",), ("green tree", "blue door"), (Relation("red car", "spatial", "green tree"),))
    return evidence, Lookup(frames=source, objects=objects, detector=ColourDetector())
