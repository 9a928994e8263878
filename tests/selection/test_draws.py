"""Q-Frame's seeded draw, and the best of each bin."""

import math

import numpy as np
import pytest

import framesift as fs
from framesift.selection.sampling import draw, largest_remainder
from helpers.curves import LONG, curve, long, picked, small, video
from helpers.gcr_reference import first_best


def literal_q_frame(scores, budget, seed, temperature=0.8, logs=False):
    rng = np.random.default_rng(seed)
    powers = [math.exp(s / temperature) for s in scores]
    total = math.fsum(powers)
    favour = [p / total for p in powers]
    noise = [-math.log(-math.log(1.0 - rng.random())) for _ in scores]
    keys = [(math.log(f) if logs else f) + g for f, g in zip(favour, noise, strict=True)]
    return sorted(sorted(range(len(scores)), key=lambda i: (-keys[i], i))[:budget])


@small
def test_q_frame_as_described(kind, count, budget):
    scores = curve(kind, count).tolist()
    assert picked(video(kind, count), budget, "q-frame", seed=count) == literal_q_frame(scores, budget, count)


@long
@pytest.mark.parametrize("logs", [True, False])
def test_q_frame_as_described_on_a_long_video(kind, logs):
    scores = curve(kind, LONG).tolist()
    assert picked(video(kind, LONG), 32, "q-frame", logs=logs) == literal_q_frame(scores, 32, 0, logs=logs)


def test_q_frame_repeats_with_its_seed_and_changes_with_another():
    evidence = video("random", 300)
    first, again, other = (picked(evidence, 8, "q-frame", seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_with_logs_a_frame_is_drawn_as_often_as_the_softmax_says():
    evidence = fs.Evidence(range(3), 3.0, np.eye(3), [1.0, 0, 0], scores=[0.0, math.log(2), math.log(5)])
    draws = [picked(evidence, 1, "q-frame", seed=k, temperature=1.0, logs=True)[0] for k in range(2000)]
    assert np.bincount(draws) / 2000 == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.03)


@small
def test_bin_max_takes_the_best_of_each_bin(kind, count, budget):
    scores = curve(kind, count).tolist()
    size = min(budget, count)
    bins = [range(k * count // size, (k + 1) * count // size) for k in range(size)]
    assert picked(video(kind, count), budget, "bin-max") == [first_best(b, lambda i: scores[i]) for b in bins]


@long
def test_bin_max_on_a_long_video(kind):
    scores = curve(kind, LONG).tolist()
    bins = [range(k * LONG // 32, (k + 1) * LONG // 32) for k in range(32)]
    assert picked(video(kind, LONG), 32, "bin-max") == [first_best(b, lambda i: scores[i]) for b in bins]


def test_largest_remainder_spends_all_and_favours_the_earlier():
    assert largest_remainder(np.array([0.25, 0.25, 0.25, 0.25]), 6) == [2, 2, 1, 1]
    assert largest_remainder(np.array([0.1, 0.7, 0.2]), 10) == [1, 7, 2]


def test_a_draw_leaves_zero_weights_to_the_end():
    for seed in range(20):
        assert set(draw(np.random.default_rng(seed), np.array([0, 1, 0, 3, 2.0]), 3)) == {1, 3, 4}
