"""Cover's shortcuts: bounds and pools save time and change nothing."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.selection.gcr import cover
from framesift.selection.gcr.cover import best_frames, fill_by_mmr
from framesift.selection.ranking import Ranking
from framesift.selection.similarity_cache import Nearness
from framesift.types.vectors import TIE, UnitRows, settle
from helpers.selection_cases import cases


def literal_mmr(relevance, rows, chosen, size, weight=0.5):
    """One exact product per pick, in float64."""
    cosines = rows @ rows.T
    picks = list(chosen)
    while len(picks) < size:
        closest = cosines[:, picks].max(axis=1) if picks else np.zeros(len(rows))
        score = weight * relevance - (1 - weight) * closest
        score[picks] = -np.inf
        picks.append(int(np.flatnonzero(score >= score.max() - TIE)[0]))
    return picks


@settings(max_examples=300, deadline=None)
@given(cases(max_frames=60), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
def test_size_of_the_pools_changes_nothing(case, scouts, pool, known):
    expected = case.select()
    with patch.multiple(cover, SCOUTS=scouts, POOL=pool, FIRST_KNOWN=known):
        assert case.select() == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
def test_long_videos_are_filled_as_by_one_product_per_pick(seed, noise):
    rng = np.random.default_rng(seed)
    shot = np.sort(rng.integers(0, 150, 1500))
    frames = 1.0 + rng.standard_normal((150, 24))[shot] + noise * rng.standard_normal((1500, 24))
    vectors = UnitRows(frames.astype(np.float32))
    relevance = settle(vectors.products(rng.standard_normal((1, 24)))[:, 0])
    core = rng.choice(1500, rng.integers(0, 12), replace=False).tolist()
    rows = vectors.rows.astype(np.float64)
    assert fill_by_mmr(relevance, vectors, core, size=60).members == literal_mmr(relevance, rows, core, 60)


def test_visual_hits_keep_their_distance():
    ranking = Ranking(np.array([0.9, 0.8, 0.1, 0.7, 0.6]))
    times = np.arange(5.0)
    assert best_frames(ranking, times, (), size=3, gap_s=2.0) == [0, 3]
    assert best_frames(ranking, times, {0}, size=2) == [1, 3]
    assert best_frames(ranking, times, (), size=0) == []


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 120), st.floats(0.0, 1.0))
def test_closest_of_regions_is_the_largest_of_all_cosines(seed, count, noise):
    rng = np.random.default_rng(seed)
    shot = np.sort(rng.integers(0, count // 8 + 1, count))
    vectors = UnitRows(rng.standard_normal((count, 5))[shot] + noise * rng.standard_normal((count, 5)))
    members = sorted(rng.choice(count, rng.integers(1, count), replace=False).tolist())
    left_out = np.setdiff1d(np.arange(count), members)
    runs = np.split(left_out, np.flatnonzero(np.diff(left_out) > 1) + 1)
    start, stop = np.array([run[0] for run in runs]), np.array([run[-1] + 1 for run in runs])
    cosines = vectors.rows.astype(np.float64) @ vectors.rows[members].astype(np.float64).T
    expected = [cosines[a:b].max() for a, b in zip(start, stop, strict=True)]
    near = Nearness(vectors, members, known=1)
    assert near.closest_of_regions(start, stop) == pytest.approx(expected, abs=1e-12)
