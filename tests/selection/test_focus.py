"""FOCUS against a reference implementation, and the number of frames it scores."""

import math

import numpy as np
import pytest

import framesift as fs
from framesift.types import Lookup
from helpers.curves import KINDS, LONG, SMALL_CASES, curve, curve_evidence, select_indices
from helpers.detector_scenes import Scenes


def reference(scores, budget, rate=1.0, seed=0):
    """The selected frames and the number of scored ones; N ≥ 1 frames, `rate` per second."""
    n, rng = len(scores), np.random.default_rng(seed)
    size = min(budget, n)
    duration = n / rate
    wanted = max(8, math.ceil(duration / 16))
    stride = max(1, n // wanted)
    length = n // (n // stride)
    arms = [list(range(start, start + length)) for start in range(0, n // stride * length, length)]
    first = []
    for arm in arms:
        centre = (arm[0] + arm[-1]) // 2
        rest = [i for i in arm if i != centre]
        first.append([centre, *(rng.choice(rest, min(2, len(rest)), replace=False).tolist() if rest else [])])
    total = sum(map(len, first))

    def bound(k):
        known = [scores[i] for i in first[k]]
        variance = max(np.var(known), 1e-6)
        return (
            np.mean(known) + math.sqrt(2 * math.log(total) * variance / len(known)) + 3 * math.log(total) / len(known)
        )

    order = sorted(range(len(arms)), key=lambda k: (-bound(k), k))
    quarter = max(4, math.ceil(len(arms) / 4))
    step = min(max(1, round(rate)), stride)
    reach = max(1, round(max(1 / rate, duration / wanted / 2) * rate))
    coarse, fine = [i for known in first for i in known], []
    for k in order[:quarter]:
        centre = first[k][0]
        window = list(range(max(0, centre - reach), min(n - 1, centre + reach) + 1))
        count = max(1, len(window) // step)
        even = round(count / 2)
        for j in range(even):
            i = window[0] + int(j * (len(window) / even) + len(window) / even / 2)
            if i not in coarse and i not in fine:
                fine.append(i)
        free = [i for i in window if i not in coarse and i not in fine]
        if free and count > even:
            fine += rng.choice(free, min(count - even, len(free)), replace=False).tolist()
    known = coarse + sorted(fine)
    chosen = sorted(known, key=lambda i: -scores[i])[: round(0.2 * min(size, len(known)))]
    sharing = order[: min(quarter, 32)]
    spacing = duration / size
    gap = 0 if spacing <= 0.2 else round(min(0.25 * spacing, 1.0) * rate)
    base, more = divmod(size - len(chosen), len(sharing))
    for rank, k in enumerate(sharing):
        free = [i for i in arms[k] if i not in chosen]
        free = [i for i in free if all(abs(i - j) >= gap for j in chosen)] or free
        quota = min(base + (rank < more), len(free))
        if not quota:
            continue
        near = [min(max(scores[min(first[k], key=lambda j: abs(j - i))], 0.0), 1.0) for i in free]
        low, span = min(near), max(near) - min(near)
        powers = np.exp([((v - low) / span - 1) / 0.06 if span else 0.0 for v in near])
        chosen += [free[j] for j in rng.choice(len(free), quota, p=powers / powers.sum(), replace=False)]
    for frames in (*(arms[k] for k in order), range(len(arms) * length, n)):
        if len(chosen) + len([i for i in known if i not in chosen]) < size:
            known += [i for i in frames if i not in known and i not in chosen]
    left = sorted((i for i in known if i not in chosen), key=lambda i: -scores[i])
    return sorted(chosen + left[: size - len(chosen)]), len(known)


def test_matches_the_reference_on_small_cases():
    for kind, count, budget in SMALL_CASES:
        expected = reference(curve(kind, count).tolist(), budget)
        selection = fs.select_frames(curve_evidence(kind, count), budget=budget, method="focus")
        assert (selection.indices, selection.trace["looked_at"]) == expected, (kind, count, budget)


@pytest.mark.parametrize("kind", KINDS)
def test_matches_the_reference_on_a_long_video(kind):
    expected, _ = reference(curve(kind, LONG).tolist(), 32, seed=5)
    assert select_indices(curve_evidence(kind, LONG), 32, "focus", seed=5) == expected


def test_dense_candidates_are_scored_once_per_second_and_keep_a_gap():
    scores = curve("random", 2000)
    evidence = fs.Evidence(np.arange(2000) / 8, 250.0, np.ones((2000, 2)), [1.0, 0.0], scores=scores)
    expected, scored = reference(scores.tolist(), 16, rate=8.0)
    selection = fs.select_frames(evidence, budget=16, method="focus")
    assert selection.indices == expected and selection.trace["looked_at"] == scored < 150


def test_seed_is_a_number_or_a_generator():
    evidence = curve_evidence("random", 300)
    drawn = select_indices(evidence, 8, "focus", seed=np.random.default_rng(3))
    assert drawn == select_indices(evidence, 8, "focus", seed=3) != select_indices(evidence, 8, "focus", seed=4)
    with pytest.raises(fs.OptionError, match="seed is 'x'; expected a whole number of at least 0"):
        fs.select_frames(evidence, budget=8, method="focus", seed="x")


def test_source_is_queried_for_few_frames_each_once():
    scores = curve("smooth", 3600)
    source = Scenes(np.zeros((3600, 3)), scores)
    lazy, lookup = fs.Evidence(np.arange(3600.0), 3600.0), Lookup(frames=source)
    selection = fs.select_frames(lazy, budget=32, method="focus", lookup=lookup)
    assert len(source.requested) == len(set(source.requested)) == selection.trace["looked_at"] < 1600
    whole = fs.Evidence(np.arange(3600.0), 3600.0, np.ones((3600, 2)), [1.0, 0.0], scores=scores)
    assert selection.indices == fs.select_frames(whole, budget=32, method="focus").indices


def test_other_selectors_need_arrays():
    lazy = fs.Evidence(np.arange(9.0), 9.0)
    with pytest.raises(fs.InputError, match="needs frames and query, or the score of each frame"):
        fs.select_frames(lazy, budget=3, method="topk")


def test_evidence_without_scores_has_a_repr():
    lazy = fs.Evidence(np.arange(9.0), 9.0)
    assert repr(lazy) == "Evidence(9 frames without scores, 0 events, 9.0 s)"


def test_source_with_scores_that_are_not_finite_is_an_error():
    lazy, source = fs.Evidence(np.arange(9.0), 9.0), Scenes(np.zeros((9, 3)), np.full(9, np.nan))
    with pytest.raises(fs.InputError, match=r"the source's scores\[0\] is not finite"):
        fs.select_frames(lazy, budget=3, method="focus", lookup=Lookup(frames=source))
