"""Q-Frame and bin-max against reference implementations, and weighted sampling."""

import math

import numpy as np
import pytest

import framesift as fs
from framesift.selection.scores import largest_remainder
from helpers.curves import KINDS, LONG, SMALL_CASES, curve, curve_evidence, select_indices
from helpers.gcr_reference import first_best


def reference_q_frame(scores, budget, seed, temperature=0.8, logs=True):
    rng = np.random.default_rng(seed)
    powers = [math.exp(s / temperature) for s in scores]
    total = math.fsum(powers)
    probabilities = [p / total for p in powers]
    noise = [-math.log(-math.log(rng.random() + 1e-10) + 1e-10) for _ in scores]
    keys = [(math.log(f) if logs else f) + g for f, g in zip(probabilities, noise, strict=True)]
    return sorted(sorted(range(len(scores)), key=lambda i: (-keys[i], i))[:budget])


def test_q_frame_matches_the_reference_on_small_cases():
    for kind, count, budget in SMALL_CASES:
        expected = reference_q_frame(curve(kind, count).tolist(), budget, count)
        indices = select_indices(curve_evidence(kind, count), budget, "q-frame", seed=count)
        assert indices == expected, (kind, count, budget)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("logs", [True, False])
def test_q_frame_matches_the_reference_on_a_long_video(kind, logs):
    expected = reference_q_frame(curve(kind, LONG).tolist(), 32, 0, logs=logs)
    assert select_indices(curve_evidence(kind, LONG), 32, "q-frame", logs=logs) == expected


def test_q_frame_depends_on_the_seed_alone():
    evidence = curve_evidence("random", 300)
    first, again, other = (select_indices(evidence, 8, "q-frame", seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_q_frame_samples_in_proportion_to_the_softmax():
    evidence = fs.Evidence(range(3), 3.0, np.eye(3), [1.0, 0, 0], scores=[0.0, math.log(2), math.log(5)])
    draws = [select_indices(evidence, 1, "q-frame", seed=k, temperature=1.0)[0] for k in range(2000)]
    assert np.bincount(draws) / 2000 == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.03)


def test_bin_max_selects_the_best_of_each_bin():
    for kind, count, budget in [*SMALL_CASES, *((kind, LONG, 32) for kind in KINDS)]:
        scores = curve(kind, count).tolist()
        size = min(budget, count)
        centres = [round(k * ((count - 1) / max(size - 1, 1))) for k in range(size)]
        bins = [[] for _ in centres]
        for i in range(count):
            bins[min(range(size), key=lambda k: abs(i - centres[k]))].append(i)
        expected = [first_best(frames, scores.__getitem__) for frames in bins]
        assert select_indices(curve_evidence(kind, count), budget, "bin-max") == expected, (kind, count, budget)


def test_largest_remainder_sums_to_the_size_and_favours_the_earlier():
    assert largest_remainder(np.array([0.25, 0.25, 0.25, 0.25]), 6) == [2, 2, 1, 1]
    assert largest_remainder(np.array([0.1, 0.7, 0.2]), 10) == [1, 7, 2]
