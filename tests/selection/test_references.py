"""The published selectors against literal implementations, and against what their authors' code selected."""

import itertools
import sys

import numpy as np
import pytest

import framesift as fs
from framesift.errors import MissingExtra
from framesift.selection.wfs_sb import coarsest_detail
from framesift.types import Lookup
from helpers.curves import KINDS, LONG, SMALL_CASES, curve, curve_evidence
from helpers.detector_scenes import Scenes
from helpers.selector_references import REFERENCES, focus_and_scored, text_and_events, wavelet_detail

SLOW_REFERENCES = {"mdp3": 6, "wfs-sb": 16}  # method → a smaller budget


def select(method, evidence, budget, **options):
    return fs.select_frames(evidence, budget=budget, method=method, **options).indices


@pytest.mark.parametrize("method", REFERENCES)
def test_matches_the_reference(method):
    for kind, count, budget in [*SMALL_CASES, *((kind, LONG, SLOW_REFERENCES.get(method, 32)) for kind in KINDS)]:
        evidence = curve_evidence(kind, count, dim=3 if count == LONG else 6)
        assert select(method, evidence, budget) == REFERENCES[method](evidence, budget), (kind, count, budget)


OPTIONS = {
    "mmr": [{"weight": 0.0}, {"weight": 0.3}, {"weight": 1.0}],
    "aks": [{"t1": 0.1}, {"t1": 0.3, "depth": 3}, {"t2": 0.2}, {"depth": 0}],
    "bolt": [{"alpha": 2.5}],
    "q-frame": [{"logs": False}, {"temperature": 0.1, "seed": 3}],
    "focus": [{"seed": 5}],
    "vsi-lite": [{"weight": 0.8}],
    "mdp3": [{"relevance_weight": 0.05}, {"relevance_weight": 5.0}, *({"segment_frames": k} for k in (0, 20, 130))],
    "lddr": [{"power": 0}, {"power": 3}],
}


@pytest.mark.parametrize("method", OPTIONS)
def test_options_match_the_reference(method):
    for kind, options in itertools.product(KINDS, OPTIONS[method]):
        evidence = curve_evidence(kind, 200, dim=24)
        assert select(method, evidence, 12, **options) == REFERENCES[method](evidence, 12, **options), (kind, options)


def curve_of_two_decimals(count):
    """(count,) scores, some of them equal."""
    at = np.arange(count)
    return np.round(0.5 + 0.3 * np.sin(at / 7) + 0.15 * np.sin(at**2 / 50), 2)


def waves(count, scores=None):
    rows = np.sin(np.outer(np.arange(1, count + 1), [0.03, 0.11, 0.23, 0.41, 0.67, 0.97]))
    given = curve_of_two_decimals(count) if scores is None else scores
    rows = rows + np.array([1, 0, 1, 0, 0, 0])
    return fs.Evidence(np.arange(float(count)), count, rows, [1.0, 0.5, 0.2, 0.0, 0.0, 0.3], scores=given)


class Recorded(np.random.Generator):
    """A generator that repeats recorded uniform draws."""

    def __init__(self, draws):
        super().__init__(np.random.PCG64(0))
        self.draws = draws

    def random(self, size):
        assert size == len(self.draws)
        return self.draws


# The selections of the authors' code: method, frames, budget, options, indices.
PUBLISHED = [
    ("aks", 200, 32, {}, "5 9 12 19 26 32 41 48 54 57 62 69 80 84 91 99 102 108 114 118 128 134 141 143 150 156 162 "
     "173 180 186 187 196"),
    ("bolt", 200, 8, {}, "11 44 57 91 102 138 146 185"),
    ("bolt", 300, 16, {"alpha": 2.5}, "9 18 49 57 84 98 106 139 145 180 187 199 228 236 268 276"),
    ("bin-max", 200, 8, {}, "9 19 54 99 102 141 181 187"),
    ("bin-max", 75, 16, {}, "2 7 9 13 19 26 32 37 41 44 51 54 57 62 67 74"),
    ("q-frame", 60, 8, {"seed": Recorded(np.arange(1, 61) * 0.6180339887 % 1)}, "7 15 20 28 41 49 54 57"),
    ("focus", 600, 16, {"seed": 42}, "4 10 92 137 139 180 185 187 232 277 282 404 405 407 489 497"),
    ("mdp3", 96, 8, {}, "13 14 21 22 60 73 77 78"),
    ("mdp3", 160, 16, {}, "13 14 15 21 22 60 66 67 70 73 74 77 78 79 122 130"),
    ("mdp3", 128, 8, {"segment_frames": 0}, "13 14 15 21 22 66 73 78"),
    ("mdp3", 200, 16, {"segment_frames": 0}, "12 13 14 15 19 21 22 27 60 66 67 70 73 74 78 79"),
    ("wfs-sb", 200, 8, {}, "9 54 94 99 133 141 143 187"),
    ("wfs-sb", 12, 8, {}, "0 5 6 7 8 9 10 11"),
    ("wfs-sb", 300, 16, {}, "7 9 54 57 96 99 102 141 149 181 187 225 232 273 277 281"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "count", "budget", "options", "indices"), PUBLISHED)
def test_selects_what_the_published_code_does(method, count, budget, options, indices):
    assert select(method, waves(count), budget, **options) == list(map(int, indices.split()))


def test_bolt_where_a_quantile_equals_a_cumulative_sum():
    for pattern, size, expected in (
        ([0, 1, 1, 0, 1] * 4, 5, [4, 7, 11, 12, 16]),
        ([0, 3, 1, 2, 2] * 6, 6, [4, 9, 13, 17, 21, 26]),
        ([0, 1, 1, 1, 1] * 5, 5, [4, 9, 13, 17, 19]),
    ):
        assert select("bolt", waves(len(pattern), pattern), size, alpha=1.0) == expected


def test_wfs_sb_on_siglips_probabilities():
    evidence = waves(200, 0.2 * curve_of_two_decimals(200))
    expected = [6, 9, 54, 94, 99, 141, 143, 187]
    assert select("wfs-sb", evidence, 8, logit_scale=110, logit_bias=-16) == expected


def test_scale_and_bias_of_an_encoder_reach_wfs_sb():
    class SiglipLike:
        name, dim, logit_scale, logit_bias = "siglip-like", 6, 112.0, -16.0

    index = fs.VideoIndex(fs.VideoInfo("x", 80.0), np.arange(80.0), curve_evidence("random", 80).frames, "siglip-like")
    given = {"queries": np.ones((1, 6)), "budget": 8, "method": "wfs-sb"}
    by_encoder, without = (fs.select_many(index, ["Why?"], **given, encoder=e)[0] for e in (SiglipLike(), None))
    assert (
        by_encoder.indices == fs.select_many(index, ["Why?"], **given, logit_scale=112.0, logit_bias=-16.0)[0].indices
    )
    assert [s.trace["options"]["logit_scale"] for s in (by_encoder, without)] == [112.0, None]


@pytest.mark.parametrize("kind", KINDS)
def test_wavelet_detail_matches_the_reference(kind):
    for count in (2, 3, 7, 13, 16, 100, 1001):
        scores = curve(kind, count)
        np.testing.assert_allclose(coarsest_detail(scores), wavelet_detail(scores.tolist()), atol=1e-12)


def test_missing_package_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pywt", None)
    with pytest.raises(MissingExtra, match=r"pip install 'framesift\[peers\]'"):
        select("wfs-sb", curve_evidence("random", 100), 4)


def test_focus_scores_dense_candidates_once_per_second():
    evidence = curve_evidence("random", 2000, rate=8.0)
    expected, scored = focus_and_scored(evidence, 16)
    selection = fs.select_frames(evidence, budget=16, method="focus")
    assert (selection.indices, selection.trace["looked_at"]) == (expected, scored) and scored < 150


def test_focus_queries_a_source_for_few_frames_each_once():
    source = Scenes(np.zeros((3600, 3)), curve("smooth", 3600))
    lazy, whole = (fs.Evidence(np.arange(3600.0), 3600.0, scores=scores) for scores in (None, source.values))
    selection = fs.select_frames(lazy, budget=32, method="focus", lookup=Lookup(frames=source))
    assert len(source.requested) == len(set(source.requested)) == selection.trace["looked_at"] < 1600
    assert selection.indices == select("focus", whole, 32)
    with pytest.raises(fs.InputError, match="needs frames and query, or the score of each frame"):
        select("topk", lazy, 3)
    with pytest.raises(fs.InputError, match=r"the source's scores\[0\] is not finite"):
        select("focus", lazy, 3, lookup=Lookup(frames=Scenes(source.levels, np.full(3600, np.nan))))


def test_seed_is_a_number_or_a_generator():
    evidence = curve_evidence("random", 300)
    drawn = select("focus", evidence, 8, seed=np.random.default_rng(3))
    assert drawn == select("focus", evidence, 8, seed=3) != select("focus", evidence, 8, seed=4)


def test_text_pairs_frames_with_events():
    for kind, count, budget in [*SMALL_CASES[-14:], ("random", 37, 32)]:
        evidence = curve_evidence(kind, count)
        slots = fs.select_frames(evidence, budget=budget, method="text").slots
        assert {slot.index: slot.event for slot in slots} == text_and_events(evidence, budget)
        assert all((slot.role == "ground") == (slot.event is not None) for slot in slots)


def test_vsi_lite_selects_for_events_of_high_relevance():
    line = fs.Event(10.0, 12.0, "the line")
    for relevance, indices, shown in ((0.9, [9, 10, 11, 12, 13], (line, "ground")), (0.2, range(5), (None, "visual"))):
        evidence = fs.Evidence(range(40), 40.0, np.eye(40), np.ones(40), [line], event_scores=[relevance])
        slots = fs.select_frames(evidence, budget=5, method="vsi-lite").slots
        assert [(slot.index, slot.event, slot.role) for slot in slots] == [(i, *shown) for i in indices]
