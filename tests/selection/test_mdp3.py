"""MDP3 against a literal reading: determinants by elimination, every state and every number of frames tried."""

import numpy as np
import pytest

import framesift as fs
from framesift.selection.mdp3 import FLOOR, GAIN_TIE
from helpers.curves import LONG, picked
from helpers.selection_cases import vectors

ALPHAS = [0.125, 0.25, 0.5, 1.0, 2.0]


def k(x, y):
    """The kernel between the rows of x and those of y."""
    distance = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    return sum(np.exp(-distance / (2 * a)) for a in ALPHAS)


def greedy(frames, appeal, segment, before, most):
    """Up to `most` picks and the value after each, given the frame before: each by the ratio of two determinants."""
    picks, totals = [], [0.0]
    basis = [] if before is None else [before]
    inside = frames[segment.start : segment.stop]
    while len(picks) < min(most, len(segment)):
        left = np.full(len(segment), 5.0)
        if basis:  # det(basis and x) / det(basis), the Schur complement
            with_basis = k(frames[basis], inside)
            left -= (with_basis * np.linalg.solve(k(frames[basis], frames[basis]), with_basis)).sum(axis=0)
        gain = appeal[segment.start : segment.stop] + np.log(np.maximum(left, FLOOR))
        gain[[i - segment.start for i in picks]] = -np.inf
        place = int(np.flatnonzero(gain >= gain.max() - GAIN_TIE)[0])
        picks.append(segment.start + place)
        totals.append(totals[-1] + gain[place])
        if left[place] > FLOOR:  # else it is a duplicate, and the determinant would be 0
            basis.append(picks[-1])
    return picks, totals


def literal(frames, query, budget, weight=0.2):
    frames = frames / np.linalg.norm(frames, axis=1, keepdims=True)
    query = query / np.linalg.norm(query)
    n = len(frames)
    if n <= budget:
        return list(range(n))
    appeal = 2 / weight * np.log(k(frames, query[None])[:, 0])
    length = 32 if budget <= 32 else 128
    states = {0: (0.0, [])}
    for start in range(0, n, length):
        segment = range(start, min(start + length, n))
        runs = {
            before: greedy(frames, appeal, segment, before, budget)
            for before in {picks[-1] if picks else None for _, picks in states.values()}
        }
        reached = dict(states)
        for given in range(1, len(segment) + 1):
            for used, (value, chosen) in states.items():
                if used + given > budget:
                    continue
                picks, totals = runs[chosen[-1] if chosen else None]
                total = value + totals[given]
                if used + given not in reached or total > reached[used + given][0] + GAIN_TIE:
                    reached[used + given] = (total, chosen + picks[:given])
        states = reached
    return sorted(states[budget][1])


def made(style, count, dim=5, seed=0):
    rng = np.random.default_rng([seed, count])
    return vectors(rng, count, dim, style), vectors(rng, 1, dim, "noise")[0]


def evidence(frames, query):
    return fs.Evidence(np.arange(len(frames)), float(len(frames)), frames, query)


@pytest.mark.parametrize("style", ["noise", "shots", "whole", "constant"])
@pytest.mark.parametrize("count", [*range(1, 11), 37, 70])
@pytest.mark.parametrize("budget", [1, 2, 3, 5, 8])
def test_as_described(style, count, budget):
    frames, query = made(style, count)
    assert picked(evidence(frames, query), budget, "mdp3") == literal(frames, query, budget)


@pytest.mark.parametrize(("count", "budget"), [(100, 20), (150, 34)])
@pytest.mark.parametrize("style", ["noise", "shots"])
def test_as_described_with_larger_budgets(style, count, budget):
    frames, query = made(style, count, dim=24)
    assert picked(evidence(frames, query), budget, "mdp3") == literal(frames, query, budget)


@pytest.mark.parametrize("weight", [0.05, 1.0, 5.0])
def test_relevance_weight_is_lambda(weight):
    frames, query = made("noise", 70)
    expected = literal(frames, query, 4, weight)
    assert picked(evidence(frames, query), 4, "mdp3", relevance_weight=weight) == expected


@pytest.mark.parametrize("style", ["noise", "shots", "whole", "constant"])
def test_as_described_on_a_long_video(style):
    frames, query = made(style, LONG)
    assert picked(evidence(frames, query), 6, "mdp3") == literal(frames, query, 6)


def test_duplicates_are_taken_when_nothing_else_is_left():
    frames = np.eye(2)[[0] * 50 + [1] * 50]
    assert len(picked(evidence(frames, np.array([1.0, 0.5])), 20, "mdp3")) == 20
