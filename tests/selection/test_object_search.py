"""The object searches and Q-Gate against reference implementations."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import UnivariateSpline

import framesift as fs
from framesift.selection.looking.access import Access
from framesift.selection.looking.object_search import RelationBonus, pairs_with_relation
from framesift.selection.vsi_lite import resample_subtitle_scores, score_by_subtitles
from framesift.types import Lookup
from framesift.types.lookup import Box, Objects, Relation
from helpers.detector_scenes import COLOURS, ColourDetector, scene, scene_evidence
from helpers.gcr_reference import min_max
from helpers.selector_references import subtitle_scores, subtitle_scores_at

WEIGHTS = {"red car": 1.0, "green tree": 0.5, "blue door": 0.5}


def detections_of(lookup, i):
    """Phrases and confidences of a frame, as ColourDetector gives them in a grid and alone."""
    level = lookup.frames.levels[i] / 255
    return {phrase: level[channel] for phrase, channel in COLOURS.items() if level[channel] > 0}


def reference(evidence, lookup, seed, curve, start=0.0, text=None, gain=None):
    """T*'s loop, frame by frame; returns its scores, the generator and the frames it searched."""
    n, cells, threshold = len(evidence), 16, 0.7
    rng = np.random.RandomState(seed)
    scores, visited, chances = [start] * n, [False] * n, [0.0] * n
    missing, left = ["red car"], min(1000, n)
    relation_held, goes_on = False, True
    while left > 0 and (missing or goes_on):
        goes_on = gain is not None and not relation_held
        size = min(cells, n)
        if not any(visited):
            batch = [k * (n // size) for k in range(size)]
        else:
            weights = [0.0 if seen else p + size / n for p, seen in zip(chances, visited, strict=True)]
            limit = np.percentile(weights, 75)
            weights = [w if w >= limit else 0.0 for w in weights]
            if sum(w > 0 for w in weights) < size:
                weights = [p + size / n for p in chances]
            weights = np.array(weights)
            batch = rng.choice(n, size, replace=False, p=weights / weights.sum()).tolist()
        left -= cells
        values = []
        for i in batch:
            found = detections_of(lookup, i)
            values.append(max([WEIGHTS[phrase] * c for phrase, c in found.items()], default=0.0))
        if gain is not None and not relation_held:
            for k, i in enumerate(batch):
                if {"red car", "green tree"} <= set(detections_of(lookup, i)):
                    values[k] += gain
                    relation_held = True
        for i, value in zip(batch, values, strict=True):
            visited[i], scores[i] = True, value
        limit = np.percentile(values, 75)
        for i, value in zip(batch, values, strict=True):
            if value >= limit:
                for j in range(max(0, i - 5), min(n, i + 6)):
                    scores[j] = max(scores[j], scores[i] / (abs(i - j) + 1))
        if text is not None:
            scores = [0.6 * a + 0.4 * b for a, b in zip(scaled(scores), scaled(text), strict=True)]
        seen = [i for i in range(n) if visited[i]]
        estimate = curve(seen, [scores[i] for i in seen], n)
        chances = [1 / (1 + math.exp(-max(1 / n, e))) for e in estimate]
        total = np.array(chances).sum()
        chances = [c / total for c in chances]
        for i in batch:
            if missing and "red car" in detections_of(lookup, i):
                scores[i] = max(WEIGHTS[phrase] * c for phrase, c in detections_of(lookup, i).items())
                if scores[i] > threshold:
                    missing = []
    return scores, rng, sum(visited)


def scaled(values):
    low, high = min(values), max(values)
    return [(v - low) / (high - low) for v in values] if high > low else [0.5] * len(values)


def lines(x, y, n):
    return np.interp(range(n), x, y).tolist()


def spline(x, y, n):
    return lines(x, y, n) if len(x) < 4 else UnivariateSpline(x, y, s=0.5)(range(n)).tolist()


def reference_t_star(evidence, lookup, budget, seed):
    scores, rng, searched = reference(evidence, lookup, seed, spline, start=1e-6)
    size = min(budget, len(scores))
    weights = np.array(scores)
    if (weights > 0).sum() < size:
        weights = np.maximum(weights, 1e-6)
    return sorted(rng.choice(len(scores), size, replace=False, p=weights / weights.sum()).tolist()), searched


KINDS = ("random", "smooth", "spiky", "constant", "empty")
SHORT = [(kind, count, 4) for kind in KINDS for count in range(1, 11)] + [(kind, 300, 8) for kind in KINDS]


CASES = [SHORT, pytest.param([("random", 1500, 16), ("spiky", 3000, 16)], marks=pytest.mark.slow)]


@pytest.mark.parametrize("cases", CASES)
def test_t_star_matches_the_reference(cases):
    for kind, count, budget in cases:
        evidence, lookup = scene(count, count, kind)
        expected, searched = reference_t_star(evidence, lookup, budget, count)
        selection = fs.select_frames(evidence, lookup=lookup, budget=budget, method="t-star", seed=count)
        assert selection.indices == expected, (kind, count, budget)
        assert selection.trace["looked_at"] == searched == len(set(lookup.frames.requested))


@pytest.mark.parametrize("cases", CASES)
@pytest.mark.parametrize("method", ["vsi", "logic-in-frames"])
def test_search_for_the_best_scores_matches_the_reference(method, cases):
    for kind, count, budget in cases:
        evidence, lookup = scene(count, count, kind)
        rule = (lines, 0.0, subtitle_scores(evidence)) if method == "vsi" else (spline, 0.0, None, 0.15)
        scores, _, searched = reference(evidence, lookup, count, *rule)
        selection = fs.select_frames(evidence, lookup=lookup, budget=budget, method=method, seed=count)
        # Sums in another order may exchange frames with equal scores.
        best = sorted(scores)[-budget:]
        assert sorted(scores[i] for i in selection.indices) == pytest.approx(best), (kind, count, budget)
        assert selection.trace["looked_at"] == searched == len(set(lookup.frames.requested))


# The selections of the authors' code for the same scenes, detections and seed: scene, options, frames.
GOLDEN = {
    "t-star": (4, {"grid": 8, "share": 0.1, "threshold": 0.5}, [148, 149, 172, 174, 180, 202, 211, 220]),
    "vsi": (15, {"fps": 1}, [35, 36, 37, 38, 39, 54, 55, 216]),
    "logic-in-frames": (15, {}, [36, 37, 40, 42, 288, 295, 297, 299]),
}


@pytest.mark.parametrize("method", GOLDEN)
def test_selection_is_that_of_the_published_code(method):
    seed, options, frames = GOLDEN[method]
    evidence, lookup = scene(300, seed)
    selection = fs.select_frames(evidence, lookup=lookup, budget=8, method=method, **options)
    assert selection.indices == frames


def test_search_decodes_at_most_a_thousand_frames_in_whole_grids():
    evidence, lookup = scene(1500)
    selection = fs.select_frames(evidence, lookup=lookup, budget=8, method="t-star", threshold=1.0)
    assert selection.trace["looked_at"] == 63 * 16


def test_subtitles_are_scored_at_the_frame_rate_as_in_the_original():
    evidence = scene_evidence(50)
    for fps in (1.0, 2.5, 24.0):
        scores = resample_subtitle_scores(evidence, fps, reach_s=2.0)
        assert scores == pytest.approx(subtitle_scores_at(evidence, fps))
    exact, _ = score_by_subtitles(evidence, reach_s=2.0)
    assert exact == pytest.approx(subtitle_scores(evidence))
    assert max(exact) <= 1


@pytest.mark.parametrize("weights", [None, (1, 0, 0), (0.2, 0.3, 0.5)])
def test_q_gate_matches_the_reference(weights):
    for kind, count, budget in [*SHORT, ("random", 2000, 16), ("spiky", 2000, 16)]:
        evidence, lookup = scene(count, kind=kind)
        selection = fs.select_frames(evidence, lookup=lookup, budget=budget, method="q-gate", weights=weights)
        assert selection.trace["picked"] == reference_q_gate(evidence, lookup, budget, weights), (kind, count, budget)
        assert selection.trace["looked_at"] == count


def test_q_gate_reports_the_scores_that_frames_give_themselves():
    evidence, lookup = scene(30)
    selection = fs.select_frames(
        replace(evidence, frames=None, query=None, event_features=None), lookup=lookup, budget=4, method="q-gate"
    )
    assert [slot.relevance for slot in selection.slots] == lookup.frames.values[selection.indices].tolist()


def reference_q_gate(evidence, lookup, budget, weights):
    count = len(evidence)
    levels = lookup.frames.levels / 255
    objects = [max(WEIGHTS[p] * level[COLOURS[p]] for p in WEIGHTS) for level in levels]
    gate = (0.25, 0.25, 0.5) if weights is None else weights
    fused = [0.0] * count
    for weight, stream in zip(gate, (objects, evidence.relevance.tolist(), subtitle_scores(evidence)), strict=True):
        powers = [math.exp(s / 0.5) for s in min_max(stream)]
        total = math.fsum(powers)
        fused = [f + weight * p / total for f, p in zip(fused, powers, strict=True)]
    return sorted(range(count), key=lambda i: (-round(fused[i] * count, 10), i))[:budget]


def test_boxes_outside_the_grid_belong_to_its_nearest_cell():
    class OutsideDetector:
        name = "outside"

        def detect(self, images, phrases):
            middle = [Box("red car", 0.9, 195, 40, 215, 50), Box("red car", 0.9, 380, 170, 390, 180)]
            return [[*middle, Box("red car", 0.9, -40, 0, -20, 9)]]

    evidence, lookup = scene(3)
    access = Access(evidence, replace(lookup, detector=OutsideDetector()))
    found = access.detect([0, 1, 2], ["red car"], side=2)
    assert {index: len(boxes) for index, boxes in found.items()} == {0: 1, 1: 1, 2: 0}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("spatial", [(1,), (2,)]),
        ("attribute", [(2,)]),
        ("temporal", [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (2, 2)]),
        ("causal", [(0, 1), (0, 3), (1, 3), (2, 3)]),
    ],
)
def test_relations_hold_between_the_frames_of_a_grid(kind, expected):
    man, left, around = (
        Box("man", 0.9, 10, 10, 20, 40),
        Box("hat", 0.9, 60, 60, 70, 70),
        Box("hat", 0.9, 5, 5, 30, 50),
    )
    # In the order they were drawn: the frames at 2, 4, 1 and 8 s.
    batch = [2, 4, 1, 8]
    found = {2: [man], 4: [man, left], 1: [man, around], 8: [left]}
    assert sorted(pairs_with_relation(Relation("man", kind, "hat"), batch, found, np.arange(10.0))) == expected


def test_a_frame_of_both_objects_gains_twice_from_a_temporal_relation():
    red, green = (Box(phrase, 0.5, 0, 0, 9, 9) for phrase in ("red car", "green tree"))
    bonus = RelationBonus([Relation("red car", "temporal", "green tree")], np.arange(9.0), 0.25)
    assert bonus.add([3], {3: [red, green]}, [0.0]) == [0.5]


def test_what_is_missing_is_an_error_that_says_how_to_pass_it():
    objects, detector = Objects(("red car",)), ColourDetector()
    evidence = fs.Evidence(range(3), 3.0, np.eye(3), np.ones(3))
    for method in (*GOLDEN, "q-gate"):
        for parts, message in (
            ({"objects": objects}, "an object detector: pass detector="),
            ({"detector": detector}, "none are named: pass lookup="),
            ({"objects": objects, "detector": detector}, "decoded frames: pass lookup="),
        ):
            with pytest.raises(fs.InputError, match=f"{method} .*{message}"):
                fs.select_frames(evidence, budget=2, method=method, lookup=Lookup(**parts))
