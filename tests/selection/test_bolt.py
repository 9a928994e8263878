"""BOLT against a literal reading: one running sum, one search per quantile."""

import pytest

import framesift as fs
from helpers.curves import LONG, curve, long, picked, small, video
from helpers.gcr_reference import TIE, min_max


def literal(scores, budget, alpha=3.0):
    n = len(scores)
    size = min(budget, n)
    if size == n:
        return list(range(n))
    weights = [s**alpha for s in min_max(scores)]
    if sum(weights) == 0:
        return [(2 * k + 1) * n // (2 * size) for k in range(size)]
    total, reached = 0.0, []
    for w in weights:
        total += w
        reached.append(total)
    first, last = 1 / size, 1 - 1 / size
    quantiles = [first + k * (last - first) / (size - 1) for k in range(size)] if size > 1 else [0.5]
    chosen = []
    for q in quantiles:
        wanted = next(i for i in range(n) if reached[i] / total >= q - TIE)
        free = [i for i in range(n) if i not in chosen]
        chosen.append(min(free, key=lambda i: (abs(i - wanted), i)))
    return sorted(chosen)


@small
def test_as_described(kind, count, budget):
    assert picked(video(kind, count), budget, "bolt") == literal(curve(kind, count).tolist(), budget)


@long
@pytest.mark.parametrize("alpha", [2.5, 3.0])
def test_as_described_on_a_long_video(kind, alpha):
    assert picked(video(kind, LONG), 32, "bolt", alpha=alpha) == literal(curve(kind, LONG).tolist(), 32, alpha)


def test_one_spike_draws_all_frames_around_it():
    evidence = fs.Evidence(range(9), 9.0, [[1.0]] * 9, [1.0], scores=[0, 0, 0, 0, 1, 0, 0, 0, 0])
    assert picked(evidence, 4, "bolt") == [2, 3, 4, 5]


def test_constant_relevance_gives_uniform_frames():
    evidence = video("constant", 100)
    assert picked(evidence, 4, "bolt") == picked(evidence, 4, "uniform")
