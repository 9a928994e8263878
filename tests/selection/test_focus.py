"""FOCUS against a reference implementation, and the number of frames it scores."""

import math

import numpy as np
import pytest

import framesift as fs
from helpers.curves import KINDS, LONG, SMALL_CASES, curve, curve_evidence, select_indices
from helpers.detector_scenes import Scenes
from helpers.gcr_reference import first_best, ranked


def mean(values):
    return sum(values) / len(values)


def reference(times, duration, scores, budget, seed=0):
    n = len(times)
    size = min(budget, n)
    length = min(16.0, duration / 8)
    arms = {}
    for i, t in enumerate(times):
        arms.setdefault(math.floor(t / length), []).append(i)
    arms = list(arms.values())
    keys = np.random.default_rng(seed).random(n)
    scored = []
    for arm in arms:
        centre = arm[(len(arm) - 1) // 2]
        scored.append([centre, *sorted((i for i in arm if i != centre), key=lambda i: keys[i])[:2]])

    def bound(k):
        known = [scores[i] for i in scored[k]]
        var = mean([(s - mean(known)) ** 2 for s in known])
        return mean(known) + math.sqrt(2 * math.log(n) * var / len(known)) + 3 * math.log(n) / len(known)

    order = ranked(range(len(arms)), bound)
    opened = sorted(order[: max(4, len(arms) // 4)])
    for k in opened:
        seconds = set()
        for i in arms[k]:
            if math.floor(times[i]) not in seconds and i not in scored[k]:
                scored[k].append(i)
            seconds.add(math.floor(times[i]))
    for k in order:
        if sum(map(len, scored)) < size:
            scored[k] += [i for i in arms[k] if i not in scored[k]]
    known = sorted(i for arm in scored for i in arm)
    best = sorted(known, key=lambda i: (-scores[i], i))
    count = math.floor(0.2 * size + 0.5)
    chosen = best[:count]
    mean_of = {k: mean([scores[i] for i in scored[k]]) for k in opened}
    sharing = sorted(ranked(opened, lambda k: mean_of[k])[:32])
    powers = [math.exp(mean_of[k] / 0.06) for k in sharing]
    exact = [(size - count) * p / sum(powers) for p in powers]
    share = [math.floor(e + 1e-12) for e in exact]
    while sum(share) < size - count:
        k = first_best([k for k in range(len(share)) if share[k] <= exact[k]], lambda k: exact[k] - share[k])
        share[k] += 1
    for k, quota in zip(sharing, share, strict=True):
        chosen += [i for i in best if i in scored[k] and i not in chosen][:quota]
    return sorted([*chosen, *(i for i in best if i not in chosen)][:size]), len(known)


def test_matches_the_reference_on_small_cases():
    for kind, count, budget in SMALL_CASES:
        evidence = curve_evidence(kind, count)
        expected = reference(evidence.times_s.tolist(), evidence.duration_s, curve(kind, count).tolist(), budget)
        selection = fs.select_frames(evidence, budget=budget, method="focus")
        assert (selection.indices, selection.trace["looked_at"]) == expected, (kind, count, budget)


@pytest.mark.parametrize("kind", KINDS)
def test_matches_the_reference_on_a_long_video(kind):
    evidence = curve_evidence(kind, LONG)
    expected, _ = reference(evidence.times_s.tolist(), evidence.duration_s, curve(kind, LONG).tolist(), 32, seed=5)
    assert select_indices(evidence, 32, "focus", seed=5) == expected


def test_dense_candidates_are_scored_once_per_second():
    times = np.arange(2000) / 8
    scores = curve("random", 2000)
    evidence = fs.Evidence(times, 250.0, np.ones((2000, 2)), [1.0, 0.0], scores=scores)
    expected, scored = reference(times.tolist(), 250.0, scores.tolist(), 16)
    selection = fs.select_frames(evidence, budget=16, method="focus")
    assert selection.indices == expected and selection.trace["looked_at"] == scored < 150


def test_source_is_queried_for_few_frames_each_once():
    scores = curve("smooth", 3600)
    source = Scenes(np.zeros((3600, 3)), scores)
    lazy = fs.Evidence.from_source(source, np.arange(3600.0), 3600.0)
    selection = fs.select_frames(lazy, budget=32, method="focus")
    assert len(source.requested) == len(set(source.requested)) == selection.trace["looked_at"] < 1600
    whole = fs.Evidence(np.arange(3600.0), 3600.0, np.ones((3600, 2)), [1.0, 0.0], scores=scores)
    assert selection == fs.select_frames(whole, budget=32, method="focus")


def test_other_selectors_need_arrays():
    lazy = fs.Evidence.from_source(Scenes(np.zeros((9, 3)), np.zeros(9)), np.arange(9.0), 9.0)
    with pytest.raises(fs.InputError, match="has a source and no relevance: use a selector that scores few"):
        fs.select_frames(lazy, budget=3, method="topk")


def test_evidence_from_a_source_has_a_repr():
    lazy = fs.Evidence.from_source(Scenes(np.zeros((9, 3)), np.zeros(9)), np.arange(9.0), 9.0)
    assert repr(lazy) == "Evidence(9 frames from a source, 0 events, 9.0 s)"


def test_source_with_scores_that_are_not_finite_is_an_error():
    lazy = fs.Evidence.from_source(Scenes(np.zeros((9, 3)), np.full(9, np.nan)), np.arange(9.0), 9.0)
    with pytest.raises(fs.InputError, match=r"the source's scores\[0\] is not finite"):
        fs.select_frames(lazy, budget=3, method="focus")
