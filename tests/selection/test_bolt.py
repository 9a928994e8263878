"""BOLT against a reference implementation: one running sum, one search per quantile."""

import numpy as np
import pytest

import framesift as fs
from helpers.curves import KINDS, LONG, SMALL_CASES, curve, curve_evidence, select_indices
from helpers.gcr_reference import min_max


def reference(scores, budget, alpha=3.0):
    n = len(scores)
    size = min(budget, n)
    if size == n:
        return list(range(n))
    weights = np.array(min_max(scores)) ** alpha
    if not weights.any():
        return [(2 * k + 1) * n // (2 * size) for k in range(size)]
    total, reached = 0.0, []
    for w in (weights / weights.sum()).tolist():
        total += w
        reached.append(total)
    quantiles = np.linspace(1 / size, 1 - 1 / size, size) if size > 1 else [0.5]
    chosen = []
    for q in quantiles:
        wanted = next(i for i in range(n) if reached[i] >= q)
        free = [i for i in range(n) if i not in chosen]
        chosen.append(min(free, key=lambda i: (abs(i - wanted), i)))
    return sorted(chosen)


def test_matches_the_reference_on_small_cases():
    for kind, count, budget in SMALL_CASES:
        expected = reference(curve(kind, count).tolist(), budget)
        assert select_indices(curve_evidence(kind, count), budget, "bolt") == expected, (kind, count, budget)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [2.5, 3.0])
def test_matches_the_reference_on_a_long_video(kind, alpha):
    expected = reference(curve(kind, LONG).tolist(), 32, alpha)
    assert select_indices(curve_evidence(kind, LONG), 32, "bolt", alpha=alpha) == expected


def test_all_frames_surround_a_single_spike():
    evidence = fs.Evidence(range(9), 9.0, [[1.0]] * 9, [1.0], scores=[0, 0, 0, 0, 1, 0, 0, 0, 0])
    assert select_indices(evidence, 4, "bolt") == [2, 3, 4, 5]


def test_constant_relevance_gives_uniform_frames():
    evidence = curve_evidence("constant", 100)
    assert select_indices(evidence, 4, "bolt") == select_indices(evidence, 4, "uniform")
