from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from framesift.bench.statistics import difference_interval, holm, mcnemar, share_interval


def alone(n):
    return np.arange(n)


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_mcnemar_is_the_two_sided_binomial_test(first, second):
    total = first + second
    expected = stats.binomtest(first, total).pvalue if total else 1.0
    assert mcnemar(first, second) == mcnemar(second, first) == pytest.approx(expected)


def test_share_of_single_questions_has_wilsons_interval():
    # Wilson's for 50 of 100 is 0.4038 … 0.5962; Student's t with 99 degrees makes it a little wider.
    found = share_interval([1] * 50 + [0] * 50, alone(100))
    assert found == pytest.approx((0.5, 0.4026, 0.5974), abs=5e-4)


def test_questions_that_stand_and_fall_together_count_as_one():
    hits = np.tile([1, 0], 50)
    single = share_interval(hits, alone(100))
    tripled = share_interval(np.repeat(hits, 3), np.repeat(alone(100), 3))
    assert (tripled.low, tripled.high) == pytest.approx((single.low, single.high), abs=1e-3)


@pytest.mark.parametrize("hit", [0, 1])
def test_all_or_nothing_is_not_certain(hit):
    found = share_interval([hit] * 60, np.repeat(alone(20), 3))
    assert found.value == hit and 0.1 < found.high - found.low < 0.25


@given(st.lists(st.tuples(st.booleans() | st.floats(0, 1), st.integers(0, 8)), min_size=1, max_size=60))
def test_intervals_stay_in_range_hold_their_value_and_repeat(pairs):
    shares, videos = zip(*pairs, strict=True)
    value, low, high = share_interval(shares, videos)
    assert 0 <= low <= value + 1e-12 and value - 1e-12 <= high <= 1
    found = difference_interval([2 * share - 1 for share in shares], videos)
    assert -1 <= found.low <= found.high <= 1
    assert found == difference_interval([2 * share - 1 for share in shares], videos)
    if len(set(videos)) == 1:
        assert (low, high, found.low, found.high) == (0.0, 1.0, -1.0, 1.0)


def test_bootstrap_draws_whole_videos():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 5, 40)
    videos = np.repeat(alone(40), sizes)
    values = rng.integers(-1, 2, len(videos)).astype(float)
    parts = [values[videos == k] for k in range(40)]
    slow = [np.concatenate([parts[k] for k in rng.integers(0, 40, 40)]).mean() for _ in range(4000)]
    found = difference_interval(values, videos)
    # The bounds are widened for 40 videos by 4 %.
    assert (found.high - found.low) / np.subtract(*np.quantile(slow, [0.975, 0.025])) == pytest.approx(1.045, abs=0.04)


@pytest.mark.parametrize("videos", [12, 60])
def test_intervals_cover_the_truth_as_often_as_they_say(videos):
    rng = np.random.default_rng(7)
    runs, shares, differences = 400, 0, 0
    for _ in range(runs):
        codes = np.repeat(alone(videos), rng.integers(1, 5, videos))
        ease = rng.beta(3, 2, videos)[codes]  # a video is easy or hard for both; its mean is 0.6
        first, second = rng.random(len(codes)) < ease, rng.random(len(codes)) < ease
        share = share_interval(first, codes)
        difference = difference_interval(first.astype(int) - second, codes)
        shares += share.low <= 0.6 <= share.high
        differences += difference.low <= 0.0 <= difference.high
    # Three standard errors of 400 runs at 95 % are 3.3 points; too wide is the safe side.
    assert shares / runs >= 0.917 and differences / runs >= 0.917


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_makes_a_p_smaller_nor_changes_the_order(ps):
    found = holm(ps)
    assert all(p <= q <= 1 for p, q in zip(ps, found, strict=True))
    ranked = sorted(range(len(ps)), key=lambda k: ps[k])
    assert all(found[a] <= found[b] for a, b in pairwise(ranked))
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
