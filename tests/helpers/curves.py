"""Evidence for the published selectors: relevance and frames of every kind, tiny and long, with spoken events."""

import numpy as np

import framesift as fs
from helpers.selection_cases import vectors

KINDS = {"random": "noise", "smooth": "shots", "spiky": "whole", "constant": "constant"}  # relevance → frames
LONG = 2_000

# Every kind, tiny and medium, with small, odd and large budgets: (kind, count, budget).
SMALL_CASES = [
    (kind, count, budget) for kind in KINDS for count in (*range(1, 11), 37, 100) for budget in (1, 2, 3, 5, 8, 32, 40)
]


def curve(kind, count, seed=0):
    """(count,) numbers in the range of cosines with a question."""
    rng = np.random.default_rng([seed, count, list(KINDS).index(kind)])
    if kind == "constant":
        return np.full(count, 0.1)
    if kind == "random":
        return rng.uniform(0.0, 0.3, count)
    if kind == "smooth":
        place = np.arange(count) / max(count, 2)
        return sum(rng.uniform(0.02, 0.1) * np.sin(2 * np.pi * (k + 1) * place + rng.uniform(0, 6)) for k in range(5))
    spikes = np.full(count, 0.05)
    spikes[rng.integers(0, count, 1 + count // 25)] = 0.3
    return spikes


def curve_evidence(kind, count, *, dim=6, seed=0, rate=1.0):
    """Evidence whose relevance is the curve, with frames that suit it and spoken events."""
    rng = np.random.default_rng([seed, count])
    lines = count // 3
    starts, lengths = np.sort(rng.uniform(0, count, lines)) / rate, rng.uniform(0, 9, lines) / rate
    events = [fs.Event(a, a + length, f"line {k}") for k, (a, length) in enumerate(zip(starts, lengths, strict=True))]
    return fs.Evidence(
        times_s=np.arange(count) / rate,
        duration_s=count / rate,
        frames=vectors(rng, count, dim, KINDS[kind]),
        query=vectors(rng, 1, dim, "noise")[0],
        events=events,
        scores=curve(kind, count, seed),
        event_scores=rng.uniform(-0.1, 1.0, lines),
    )
