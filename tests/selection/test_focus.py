"""FOCUS against a literal reading, and how little it looks at."""

import math

import numpy as np
import pytest

import framesift as fs
from helpers.curves import LONG, curve, long, picked, small, video
from helpers.detector_scenes import Scenes
from helpers.gcr_reference import first_best, ranked


def mean(values):
    return sum(values) / len(values)


def literal(times, duration, scores, budget, seed=0):
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
    worth = {k: mean([scores[i] for i in scored[k]]) for k in opened}
    sharing = sorted(ranked(opened, lambda k: worth[k])[:32])
    powers = [math.exp(worth[k] / 0.06) for k in sharing]
    exact = [(size - count) * p / sum(powers) for p in powers]
    share = [math.floor(e + 1e-12) for e in exact]
    while sum(share) < size - count:
        k = first_best([k for k in range(len(share)) if share[k] <= exact[k]], lambda k: exact[k] - share[k])
        share[k] += 1
    for k, quota in zip(sharing, share, strict=True):
        chosen += [i for i in best if i in scored[k] and i not in chosen][:quota]
    return sorted([*chosen, *(i for i in best if i not in chosen)][:size]), len(known)


@small
def test_as_described(kind, count, budget):
    evidence = video(kind, count)
    expected, looked = literal(evidence.times_s.tolist(), evidence.duration_s, curve(kind, count).tolist(), budget)
    selection = fs.select_frames(evidence, budget=budget, method="focus")
    assert selection.indices == expected and selection.trace["looked_at"] == looked


@long
def test_as_described_on_a_long_video(kind):
    evidence = video(kind, LONG)
    expected, _ = literal(evidence.times_s.tolist(), evidence.duration_s, curve(kind, LONG).tolist(), 32, seed=5)
    assert picked(evidence, 32, "focus", seed=5) == expected


def test_dense_candidates_are_scored_once_a_second():
    times = np.arange(2000) / 8
    scores = curve("random", 2000)
    evidence = fs.Evidence(times, 250.0, np.ones((2000, 2)), [1.0, 0.0], scores=scores)
    expected, looked = literal(times.tolist(), 250.0, scores.tolist(), 16)
    selection = fs.select_frames(evidence, budget=16, method="focus")
    assert selection.indices == expected and selection.trace["looked_at"] == looked < 150


def test_a_source_is_asked_for_few_frames_and_for_each_once():
    scores = curve("smooth", 3600)
    source = Scenes(np.zeros((3600, 3)), scores)
    lazy = fs.Evidence.from_source(source, np.arange(3600.0), 3600.0)
    selection = fs.select_frames(lazy, budget=32, method="focus")
    assert len(source.asked) == len(set(source.asked)) == selection.trace["looked_at"] < 1600
    whole = fs.Evidence(np.arange(3600.0), 3600.0, np.ones((3600, 2)), [1.0, 0.0], scores=scores)
    assert selection == fs.select_frames(whole, budget=32, method="focus")


def test_other_selectors_say_that_they_need_arrays():
    lazy = fs.Evidence.from_source(Scenes(np.zeros((9, 3)), np.zeros(9)), np.arange(9.0), 9.0)
    with pytest.raises(fs.InputError, match="has a source and no relevance: choose a selector that looks at few"):
        fs.select_frames(lazy, budget=3, method="topk")
    assert repr(lazy) == "Evidence(9 frames behind a source, 0 events, 9.0 s)"


def test_a_source_that_gives_nonsense_is_named():
    lazy = fs.Evidence.from_source(Scenes(np.zeros((9, 3)), np.full(9, np.nan)), np.arange(9.0), 9.0)
    with pytest.raises(fs.InputError, match=r"the source's scores\[0\] is not finite"):
        fs.select_frames(lazy, budget=3, method="focus")
