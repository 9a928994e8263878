"""AKS against a reference implementation with recursion and full sorts."""

import numpy as np
import pytest

import framesift as fs
from helpers.curves import KINDS, LONG, SMALL_CASES, curve, curve_evidence, select_indices
from helpers.gcr_reference import above, min_max


def mean(values):
    return sum(values) / len(values)


def reference(scores, budget, t1=0.8, t2=-100.0, depth=5):
    n = len(scores)
    if n <= budget:
        return list(range(n))
    scaled = min_max(scores)
    deepest = min(depth, int(np.log2(budget)))
    chosen = []

    def visit(part, level):
        if part and level < deepest:
            values = [scaled[i] for i in part]
            best = sorted(values, reverse=True)[:budget]
            middle = mean(values)
            deviation = mean([(v - middle) ** 2 for v in values]) ** 0.5
            if not (above(mean(best) - middle, t1) and above(deviation, t2)):
                half = len(part) // 2
                visit(part[:half], level + 1)
                visit(part[half:], level + 1)
                return
        chosen.extend(sorted(part, key=lambda i: (-scores[i], i))[: int(budget / 2**level)])

    visit(list(range(n)), 0)
    for i in sorted(range(n), key=lambda i: (-scores[i], i)):
        if len(chosen) < budget and i not in chosen:
            chosen.append(i)
    return sorted(chosen)


def test_matches_the_reference_on_small_cases():
    for kind, count, budget in SMALL_CASES:
        expected = reference(curve(kind, count).tolist(), budget)
        assert select_indices(curve_evidence(kind, count), budget, "aks") == expected, (kind, count, budget)


@pytest.mark.parametrize("kind", KINDS)
def test_matches_the_reference_on_a_long_video(kind):
    assert select_indices(curve_evidence(kind, LONG), 32, "aks") == reference(curve(kind, LONG).tolist(), 32)


@pytest.mark.parametrize("options", [{"t1": 0.1}, {"t1": 0.3, "depth": 3}, {"t2": 0.2}, {"depth": 0}])
def test_options_match_the_reference(options):
    for kind in ("random", "spiky"):
        expected = reference(curve(kind, 400).tolist(), 32, **options)
        assert select_indices(curve_evidence(kind, 400), 32, "aks", **options) == expected, kind


def test_part_that_stands_out_is_not_split():
    scores = np.zeros(512)
    scores[:8] = 1.0
    evidence = fs.Evidence(np.arange(512.0), 512.0, np.ones((512, 2)), [1.0, 0.0], scores=scores)
    selection = fs.select_frames(evidence, budget=8, method="aks")
    assert selection.indices == list(range(8))
    assert selection.trace["parts"] == [{"first": 0, "last": 511, "depth": 0}]


def test_small_budget_selects_from_every_part():
    evidence = curve_evidence("constant", 400)
    assert [index // 100 for index in select_indices(evidence, 4, "aks")] == [0, 1, 2, 3]
