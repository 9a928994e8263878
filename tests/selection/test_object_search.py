"""The object searches and Q-Gate against reference implementations."""

import itertools
import math
from bisect import bisect_right

import numpy as np
import pytest

import framesift as fs
from framesift.selection.frame_access import FrameAccess
from framesift.selection.grids import CELL_SIZE, detect_in_grids, tile_images
from framesift.selection.logic_in_frames import frames_with_relation
from framesift.selection.object_search import interpolate_scores
from helpers.detector_scenes import COLOURS, ColourDetector, scene_evidence
from helpers.gcr_reference import min_max
from helpers.subtitle_scores import reference_subtitle_scores

pytest.importorskip("scipy", reason="scipy comes with framesift[peers]")

WEIGHTS = {"red car": 1.0, "green tree": 0.5, "blue door": 0.5}


def sample(rng, weights, size):
    keys = []
    for weight, u in zip(weights, rng.random(len(weights)), strict=True):
        keys.append((math.log(weight) if weight > 0 else -math.inf) - math.log(-math.log(1 - u)))
    return sorted(range(len(keys)), key=lambda i: (-keys[i], i))[:size]


def spline(scores, count):
    """Fritsch and Carlson's monotone cubic through the searched frames, at least what scores spread to neighbours."""
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


def reference(evidence, budget, *, grid, seed=0, text=None, gain=0.0):
    levels = evidence.source.levels / 255
    n = len(evidence)
    rng = np.random.default_rng(seed)
    limit = min(n, max(budget, math.ceil(min(1000, 0.1 * n))))
    searched, object_scores = set(), [0.0] * n

    def sampling_weights():
        fused = object_scores
        if text is not None:
            fused = [0.6 * a + 0.4 * b for a, b in zip(min_max(object_scores), min_max(text), strict=True)]
        top = max(fused)
        return [max(p, 0.0) + 1e-3 * top for p in fused] if top > 0 else [1.0] * n

    while len(searched) < limit:
        weights = [0.0 if i in searched else c for i, c in enumerate(sampling_weights())]
        searched |= set(sample(rng, weights, min(grid * grid, limit - len(searched))))
        scores = {}
        for i in searched:
            scores[i] = max(WEIGHTS[phrase] * levels[i][COLOURS[phrase]] for phrase in WEIGHTS)
            if levels[i][0] > 0 and levels[i][1] > 0:  # red car and green tree in one frame
                scores[i] += gain
        object_scores = spline(scores, n)
    return sorted(sample(rng, sampling_weights(), min(budget, n))), len(searched)


KINDS = ("random", "smooth", "spiky", "constant", "empty")
SHORT = [(kind, count, 4) for kind in KINDS for count in range(1, 11)] + [(kind, 300, 8) for kind in KINDS]
LONG = [("random", 1500, 16), ("random", 10_000, 16), ("spiky", 10_000, 16)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["t-star", "vsi", "logic-in-frames"])
def test_search_matches_the_reference(method):
    for kind, count, budget in SHORT + LONG:
        seed = count
        evidence = scene_evidence(count, seed, kind)
        options = {
            "t-star": {"grid": 8},
            "vsi": {"grid": 4, "text": reference_subtitle_scores(evidence)},
            "logic-in-frames": {"grid": 8, "gain": 0.8 * 0.5},
        }[method]
        expected, searched = reference(evidence, budget, seed=seed, **options)
        selection = fs.select_frames(evidence, budget=budget, method=method, detector=ColourDetector(), seed=seed)
        assert selection.indices == expected, (kind, count, budget)
        assert selection.trace["looked_at"] == searched == len(evidence.source.requested)


def test_search_concentrates_on_the_target():
    evidence = scene_evidence(1500)
    red = evidence.source.levels[:, 0] > 0
    indices = fs.select_frames(evidence, budget=32, method="t-star", detector=ColourDetector()).indices
    assert red[indices].mean() > 3 * red.mean()


def test_search_decodes_at_most_a_thousand_frames():
    evidence = scene_evidence(12_000)
    selection = fs.select_frames(evidence, budget=8, method="t-star", detector=ColourDetector())
    assert selection.trace["looked_at"] == 1000


@pytest.mark.parametrize("weights", [None, (1, 0, 0), (0.2, 0.3, 0.5)])
def test_q_gate_matches_the_reference(weights):
    for kind, count, budget in SHORT:
        evidence = scene_evidence(count, kind=kind)
        selection = fs.select_frames(
            evidence, budget=budget, method="q-gate", detector=ColourDetector(), weights=weights
        )
        assert selection.trace["picked"] == reference_q_gate(evidence, budget, weights), (kind, count, budget)
        assert selection.trace["looked_at"] == count


@pytest.mark.parametrize("kind", ["random", "spiky"])
def test_q_gate_matches_the_reference_on_a_long_video(kind):
    evidence = scene_evidence(10_000, kind=kind)
    selection = fs.select_frames(evidence, budget=16, method="q-gate", detector=ColourDetector())
    assert selection.trace["picked"] == reference_q_gate(evidence, 16, None)


def reference_q_gate(evidence, budget, weights):
    count = len(evidence)
    levels = evidence.source.levels / 255
    objects = [max(WEIGHTS[p] * level[COLOURS[p]] for p in WEIGHTS) for level in levels]
    gate = (0.25, 0.25, 0.5) if weights is None else weights
    fused = [0.0] * count
    for weight, stream in zip(
        gate, (objects, evidence.relevance.tolist(), reference_subtitle_scores(evidence)), strict=True
    ):
        powers = [math.exp(s / 0.5) for s in min_max(stream)]
        total = math.fsum(powers)
        fused = [f + weight * p / total for f, p in zip(fused, powers, strict=True)]
    return sorted(range(count), key=lambda i: (-round(fused[i] * count, 10), i))[:budget]


def test_boxes_are_assigned_to_their_frames():
    evidence = scene_evidence(30)
    found = detect_in_grids(FrameAccess(evidence), ColourDetector(), range(30), list(COLOURS), side=4)
    levels = evidence.source.levels
    for index, boxes in found.items():
        assert {box.phrase for box in boxes} == {p for p, channel in COLOURS.items() if levels[index, channel] > 0}
        assert all(0 <= box.left < CELL_SIZE[0] and 0 <= box.top < CELL_SIZE[1] for box in boxes)


def test_boxes_outside_all_frames_are_ignored():
    class OutsideDetector:
        name = "outside"

        def detect(self, images, phrases):
            middle = [fs.Box("red car", 0.9, 155, 40, 175, 50), fs.Box("red car", 0.9, 300, 170, 310, 180)]
            return [[*middle, fs.Box("red car", 0.9, -40, 0, -20, 9)]]

    found = detect_in_grids(FrameAccess(scene_evidence(3)), OutsideDetector(), [0, 1, 2], ["red car"], side=2)
    assert {index: len(boxes) for index, boxes in found.items()} == {0: 0, 1: 1, 2: 0}


def test_grid_is_filled_row_by_row():
    images = [np.full((2, 3, 3), k, dtype=np.uint8) for k in (1, 2, 3)]
    assert tile_images(images, 2)[::2, ::3, 0].tolist() == [[1, 2], [3, 0]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("spatial", {2, 3}), ("attribute", {3}), ("temporal", {0, 2, 3}), ("causal", {0, 2, 3, 9})],
)
def test_relations_are_derived_from_boxes(kind, expected):
    man, left, around = (
        fs.Box("man", 0.9, 10, 10, 20, 40),
        fs.Box("hat", 0.9, 60, 60, 70, 70),
        fs.Box("hat", 0.9, 5, 5, 30, 50),
    )
    found = {0: [man], 2: [man, left], 3: [man, around], 9: [left]}
    assert frames_with_relation(fs.Relation("man", kind, "hat"), found, np.arange(10.0)) == expected


def test_score_spreads_to_five_neighbours():
    curve = interpolate_scores({0: 0.0, 20: 0.6, 40: 0.0}, 41)
    assert curve[20] == 0.6
    assert curve[[25, 26]] == pytest.approx([max(0.1, curve[25]), curve[26]]) and curve[0] == curve[40] == 0


needs_detector = pytest.mark.parametrize("method", ["t-star", "vsi", "logic-in-frames", "q-gate"])


@needs_detector
def test_missing_detector_is_an_error(method):
    with pytest.raises(fs.InputError, match=f"{method} needs an object detector: pass detector="):
        fs.select_frames(scene_evidence(9), budget=2, method=method)


@needs_detector
def test_missing_objects_are_an_error(method):
    evidence = fs.Evidence(range(3), 3.0, np.eye(3), np.ones(3))
    with pytest.raises(fs.InputError, match="names none: pass objects="):
        fs.select_frames(evidence, budget=2, method=method, detector=ColourDetector())


@needs_detector
def test_missing_frame_source_is_an_error(method):
    evidence = fs.Evidence(range(3), 3.0, np.eye(3), np.ones(3), objects=fs.Objects(("red car",)))
    with pytest.raises(fs.InputError, match="the evidence has no source of them: pass source="):
        fs.select_frames(evidence, budget=2, method=method, detector=ColourDetector())
