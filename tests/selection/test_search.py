"""The searches that look at pictures, against a literal reading of their loop."""

import itertools
import math
from bisect import bisect_right

import numpy as np
import pytest

import framesift as fs
from framesift.selection.frame_access import Look
from framesift.selection.grids import CELL, find_objects, tile
from framesift.selection.logic_in_frames import frames_of
from framesift.selection.object_search import interpolate
from helpers.detector_scenes import COLOURS, ColourDetector, scenes
from helpers.gcr_reference import min_max
from helpers.spoken_scores import literal_said

pytest.importorskip("scipy", reason="scipy comes with framesift[peers]")

WEIGHTS = {"red car": 1.0, "green tree": 0.5, "blue door": 0.5}


def drawn(rng, weights, size):
    keys = []
    for weight, u in zip(weights, rng.random(len(weights)), strict=True):
        keys.append((math.log(weight) if weight > 0 else -math.inf) - math.log(-math.log(1 - u)))
    return sorted(range(len(keys)), key=lambda i: (-keys[i], i))[:size]


def spline(scores, count):
    """Fritsch and Carlson's monotone cubic through the visited frames, never below what neighbours spread."""
    spread = [0.0] * count
    for j, score in scores.items():
        for i in range(max(0, j - 5), min(count, j + 6)):
            spread[i] = max(spread[i], score / (abs(i - j) + 1))
    x = sorted(scores)
    y = [spread[i] for i in x]
    if len(x) == 1:
        return [max(s, y[0]) for s in spread]
    h = [b - a for a, b in itertools.pairwise(x)]
    d = [(b - a) / w for a, b, w in zip(y, y[1:], h, strict=False)]
    slopes = [0.0] * len(x)
    for k in range(1, len(x) - 1):
        if d[k - 1] * d[k] > 0:
            w1, w2 = 2 * h[k] + h[k - 1], h[k] + 2 * h[k - 1]
            slopes[k] = (w1 + w2) / (w1 / d[k - 1] + w2 / d[k])
    for end, near, far in ((0, 0, 1), (-1, -1, -2)):
        if len(x) == 2:
            slopes[end] = d[0]
            continue
        slope = ((2 * h[near] + h[far]) * d[near] - h[near] * d[far]) / (h[near] + h[far])
        if slope * d[near] <= 0:
            slope = 0.0
        elif d[near] * d[far] <= 0 and abs(slope) > 3 * abs(d[near]):
            slope = 3 * d[near]
        slopes[end] = slope
    out = []
    for i in range(count):
        place = min(max(i, x[0]), x[-1])
        k = min(bisect_right(x, place) - 1, len(x) - 2)
        t = (place - x[k]) / h[k]
        value = (1 + 2 * t) * (1 - t) ** 2 * y[k] + t * (1 - t) ** 2 * h[k] * slopes[k]
        value += t * t * (3 - 2 * t) * y[k + 1] + t * t * (t - 1) * h[k] * slopes[k + 1]
        out.append(max(value, spread[i]))
    return out


def literal(evidence, budget, *, grid, seed=0, text=None, gain=0.0):
    levels = evidence.source.levels / 255
    n = len(evidence)
    rng = np.random.default_rng(seed)
    allowed = min(n, max(budget, math.ceil(min(1000, 0.1 * n))))
    visited, seen = set(), [0.0] * n

    def chances():
        promise = seen
        if text is not None:
            promise = [0.6 * a + 0.4 * b for a, b in zip(min_max(seen), min_max(text), strict=True)]
        top = max(promise)
        return [max(p, 0.0) + 1e-3 * top for p in promise] if top > 0 else [1.0] * n

    while len(visited) < allowed:
        weights = [0.0 if i in visited else c for i, c in enumerate(chances())]
        visited |= set(drawn(rng, weights, min(grid * grid, allowed - len(visited))))
        scores = {}
        for i in visited:
            scores[i] = max(WEIGHTS[phrase] * levels[i][COLOURS[phrase]] for phrase in WEIGHTS)
            if levels[i][0] > 0 and levels[i][1] > 0:  # red car and green tree in one frame
                scores[i] += gain
        seen = spline(scores, n)
    return sorted(drawn(rng, chances(), min(budget, n))), len(visited)


EVERY = [(kind, count, 4) for kind in ("random", "smooth", "spiky", "constant", "empty") for count in range(1, 11)]
EVERY += [(kind, 300, 8) for kind in ("random", "smooth", "spiky", "constant", "empty")]
EVERY += [("random", 1500, 16), ("random", 10_000, 16), ("spiky", 10_000, 16)]


@pytest.mark.parametrize(("kind", "count", "budget"), EVERY)
@pytest.mark.parametrize("method", ["t-star", "vsi", "logic-in-frames"])
def test_loops_as_described(method, kind, count, budget):
    seed = count
    evidence = scenes(count, seed, kind)
    own = {
        "t-star": {"grid": 8},
        "vsi": {"grid": 4, "text": literal_said(evidence)},
        "logic-in-frames": {"grid": 8, "gain": 0.8 * 0.5},
    }[method]
    expected, looked = literal(evidence, budget, seed=seed, **own)
    selection = fs.select_frames(evidence, budget=budget, method=method, detector=ColourDetector(), seed=seed)
    assert selection.indices == expected
    assert selection.trace["looked_at"] == looked == len(evidence.source.asked)


def test_the_search_ends_where_the_target_is():
    evidence = scenes(1500)
    red = evidence.source.levels[:, 0] > 0
    chosen = fs.select_frames(evidence, budget=32, method="t-star", detector=ColourDetector()).indices
    assert red[chosen].mean() > 3 * red.mean()


def test_a_thousand_frames_at_most_are_looked_at():
    evidence = scenes(12_000)
    selection = fs.select_frames(evidence, budget=8, method="t-star", detector=ColourDetector())
    assert selection.trace["looked_at"] == 1000


@pytest.mark.parametrize("weights", [None, (1, 0, 0), (0.2, 0.3, 0.5)])
@pytest.mark.parametrize(("kind", "count", "budget"), [case for case in EVERY if case[1] <= 300])
def test_q_gate_as_described(kind, count, budget, weights):
    check_q_gate(kind, count, budget, weights)


@pytest.mark.parametrize("kind", ["random", "spiky"])
def test_q_gate_as_described_on_a_long_video(kind):
    check_q_gate(kind, 10_000, 16, None)


def check_q_gate(kind, count, budget, weights):
    evidence = scenes(count, kind=kind)
    levels = evidence.source.levels / 255
    objects = [max(WEIGHTS[p] * level[COLOURS[p]] for p in WEIGHTS) for level in levels]
    gate = (0.25, 0.25, 0.5) if weights is None else weights
    fused = [0.0] * count
    for weight, stream in zip(gate, (objects, evidence.relevance.tolist(), literal_said(evidence)), strict=True):
        powers = [math.exp(s / 0.5) for s in min_max(stream)]
        total = math.fsum(powers)
        fused = [f + weight * p / total for f, p in zip(fused, powers, strict=True)]
    expected = sorted(range(count), key=lambda i: (-round(fused[i] * count, 10), i))[:budget]
    selection = fs.select_frames(evidence, budget=budget, method="q-gate", detector=ColourDetector(), weights=weights)
    assert selection.trace["picked"] == expected
    assert selection.trace["looked_at"] == count


def test_boxes_come_back_to_their_frames():
    evidence = scenes(30)
    found = find_objects(Look(evidence), ColourDetector(), range(30), list(COLOURS), side=4)
    levels = evidence.source.levels
    for index, boxes in found.items():
        assert {box.phrase for box in boxes} == {p for p, channel in COLOURS.items() if levels[index, channel] > 0}
        assert all(0 <= box.left < CELL[0] and 0 <= box.top < CELL[1] for box in boxes)


def test_boxes_outside_all_frames_are_left_out():
    class Beside:
        name = "beside"

        def detect(self, pictures, phrases):
            middle = [fs.Box("red car", 0.9, 155, 40, 175, 50), fs.Box("red car", 0.9, 300, 170, 310, 180)]
            return [[*middle, fs.Box("red car", 0.9, -40, 0, -20, 9)]]

    found = find_objects(Look(scenes(3)), Beside(), [0, 1, 2], ["red car"], side=2)
    assert {index: len(boxes) for index, boxes in found.items()} == {0: 0, 1: 1, 2: 0}


def test_a_grid_is_filled_row_by_row():
    pictures = [np.full((2, 3, 3), k, dtype=np.uint8) for k in (1, 2, 3)]
    assert tile(pictures, 2)[::2, ::3, 0].tolist() == [[1, 2], [3, 0]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("spatial", {2, 3}), ("attribute", {3}), ("temporal", {0, 2, 3}), ("causal", {0, 2, 3, 9})],
)
def test_relations_are_told_from_boxes(kind, expected):
    man, left, around = (
        fs.Box("man", 0.9, 10, 10, 20, 40),
        fs.Box("hat", 0.9, 60, 60, 70, 70),
        fs.Box("hat", 0.9, 5, 5, 30, 50),
    )
    found = {0: [man], 2: [man, left], 3: [man, around], 9: [left]}
    assert frames_of(fs.Relation("man", kind, "hat"), found, np.arange(10.0)) == expected


def test_a_score_fades_over_five_neighbours():
    curve = interpolate({0: 0.0, 20: 0.6, 40: 0.0}, 41)
    assert curve[20] == 0.6
    assert curve[[25, 26]] == pytest.approx([max(0.1, curve[25]), curve[26]]) and curve[0] == curve[40] == 0


@pytest.mark.parametrize("method", ["t-star", "vsi", "logic-in-frames", "q-gate"])
def test_what_is_missing_is_named(method):
    with pytest.raises(fs.InputError, match=f"{method} needs an object detector: pass detector="):
        fs.select_frames(scenes(9), budget=2, method=method)
    bare = fs.Evidence(range(3), 3.0, np.eye(3), np.ones(3))
    with pytest.raises(fs.InputError, match="names none: pass objects="):
        fs.select_frames(bare, budget=2, method=method, detector=ColourDetector())
    aimless = fs.Evidence(range(3), 3.0, np.eye(3), np.ones(3), objects=fs.Objects(("red car",)))
    with pytest.raises(fs.InputError, match="the evidence has no source of them: pass source="):
        fs.select_frames(aimless, budget=2, method=method, detector=ColourDetector())
