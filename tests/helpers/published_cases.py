"""Inputs for which the selections of the authors' code were recorded, and what the selectors need to run on them."""

import numpy as np

import framesift as fs
from framesift.types import Lookup

DIM = 12
WORDS = ("red car", "bridge", "angry", "robot in the church", "door")


def word_vectors(texts):
    """(K, 12) a vector for each text, from its characters."""
    return np.array([np.random.default_rng([len(t), *t.encode()]).standard_normal(DIM) for t in texts])


def speech(count, seed):
    """A line of two of the words every 7 s."""
    rng = np.random.default_rng(seed)
    lines = [" and ".join(rng.choice(WORDS, 2)) for _ in range(0, count - 5, 7)]
    return [fs.Event(7.0 * k + 0.3, 7.0 * k + 3.1, line) for k, line in enumerate(lines)]


def shot_evidence(count, seed=0, **more):
    """Frames in shots of about 10 similar ones, with scores in [0, 1]."""
    rng = np.random.default_rng(seed)
    shots = rng.standard_normal((count // 10 + 1, DIM))[np.arange(count) // 10]
    frames = shots + 0.2 * rng.standard_normal((count, DIM))
    scores = np.clip(np.convolve(rng.random(count), np.ones(7) / 7, "same")[:count], 0, 1)
    return fs.Evidence(np.arange(count) * 1.0, float(count), frames, np.ones(DIM), scores=scores, **more)


def make_lookup(question="Where is the red car?", options=(), *, events=0, **parts):
    return Lookup(
        question=fs.Question(question, options),
        encode_texts=word_vectors,
        score_events=lambda texts: np.full((len(texts), events), 0.25),
        **parts,
    )
