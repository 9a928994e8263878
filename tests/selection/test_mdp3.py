"""MDP3 against a reference implementation: determinants by elimination, every state and frame count tried."""

import itertools

import numpy as np
import pytest

import framesift as fs
from framesift.selection.mdp3 import GAIN_TIE, VARIANCE_FLOOR
from helpers.curves import LONG, select_indices
from helpers.selection_cases import vectors

STYLES = ("noise", "shots", "whole", "constant")
ALPHAS = [0.125, 0.25, 0.5, 1.0, 2.0]


def k(x, y):
    """The kernel between the rows of x and those of y."""
    distance = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    return sum(np.exp(-distance / (2 * a)) for a in ALPHAS)


def greedy(frames, log_relevance, segment, before, most):
    """Up to `most` picks and the value after each, given the frame before: each by the ratio of two determinants."""
    picks, totals = [], [0.0]
    basis = [] if before is None else [before]
    value = 0.0 if before is None else log_relevance[before] + np.log(5)  # the frame before is counted again
    inside = frames[segment.start : segment.stop]
    while len(picks) < min(most, len(segment)):
        variance = np.full(len(segment), 5.0)
        if basis:  # det(basis and x) / det(basis), the Schur complement
            with_basis = k(frames[basis], inside)
            variance -= (with_basis * np.linalg.solve(k(frames[basis], frames[basis]), with_basis)).sum(axis=0)
        gain = log_relevance[segment.start : segment.stop] + np.log(np.maximum(variance, VARIANCE_FLOOR))
        gain[[i - segment.start for i in picks]] = -np.inf
        place = int(np.flatnonzero(gain >= gain.max() - GAIN_TIE)[0])
        picks.append(segment.start + place)
        value += gain[place]
        totals.append(value)
        if variance[place] > VARIANCE_FLOOR:  # a duplicate would make the determinant 0
            basis.append(picks[-1])
    return picks, totals


def reference(frames, query, budget, weight=0.2, length=None):
    frames = frames / np.linalg.norm(frames, axis=1, keepdims=True)
    query = query / np.linalg.norm(query)
    n = len(frames)
    if n <= budget:
        return list(range(n))
    log_relevance = 2 / weight * np.log(k(frames, query[None])[:, 0])
    length = length or (32 if budget <= 32 else 128)
    states = {0: (0.0, [])}
    for start in range(0, n, length):
        segment = range(start, min(start + length, n))
        runs = {
            before: greedy(frames, log_relevance, segment, before, budget)
            for before in {max(picks, default=None) for _, picks in states.values()}
        }
        reached = dict(states)
        for given in range(1, len(segment) + 1):
            for used, (value, chosen) in states.items():
                if used + given > budget:
                    continue
                picks, totals = runs[max(chosen, default=None)]
                total = value + totals[given]
                if used + given not in reached or total > reached[used + given][0] + GAIN_TIE:
                    reached[used + given] = (total, chosen + picks[:given])
        states = reached
    return sorted(states[budget][1])


def random_vectors(style, count, dim=5, seed=0):
    rng = np.random.default_rng([seed, count])
    return vectors(rng, count, dim, style), vectors(rng, 1, dim, "noise")[0]


def evidence(frames, query):
    return fs.Evidence(np.arange(len(frames)), float(len(frames)), frames, query)


@pytest.mark.parametrize("style", STYLES)
def test_matches_the_reference_on_small_cases(style):
    for count, budget in itertools.product((*range(1, 11), 37, 70), (1, 2, 3, 5, 8)):
        frames, query = random_vectors(style, count)
        expected = reference(frames, query, budget)
        assert select_indices(evidence(frames, query), budget, "mdp3") == expected, (count, budget)


@pytest.mark.parametrize(("count", "budget"), [(100, 20), (150, 34)])
@pytest.mark.parametrize("style", ["noise", "shots"])
def test_matches_the_reference_with_larger_budgets(style, count, budget):
    frames, query = random_vectors(style, count, dim=24)
    assert select_indices(evidence(frames, query), budget, "mdp3") == reference(frames, query, budget)


@pytest.mark.parametrize("style", ["noise", "shots"])
def test_one_segment_or_another_length_matches_the_reference(style):
    frames, query = random_vectors(style, 200, dim=24)
    for given, length in ((0, 200), (20, 20), (130, 130)):
        indices = select_indices(evidence(frames, query), 12, "mdp3", segment_frames=given)
        assert indices == reference(frames, query, 12, length=length), given


@pytest.mark.parametrize("weight", [0.05, 1.0, 5.0])
def test_relevance_weight_is_lambda(weight):
    frames, query = random_vectors("noise", 70)
    expected = reference(frames, query, 4, weight)
    assert select_indices(evidence(frames, query), 4, "mdp3", relevance_weight=weight) == expected


@pytest.mark.parametrize("style", STYLES)
def test_matches_the_reference_on_a_long_video(style):
    frames, query = random_vectors(style, LONG)
    assert select_indices(evidence(frames, query), 6, "mdp3") == reference(frames, query, 6)


def test_duplicates_fill_the_budget_when_no_other_frame_is_left():
    frames = np.eye(2)[[0] * 50 + [1] * 50]
    assert len(select_indices(evidence(frames, np.array([1.0, 0.5])), 20, "mdp3")) == 20
