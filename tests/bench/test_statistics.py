from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from framesift.bench.statistics import difference_interval, holm, mcnemar, share_interval


def alone(n):
    return np.arange(n)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_two_sided_binomial_test(first, second):
    total = first + second
    tail = sum(comb(total, k) for k in range(min(first, second) + 1)) / 2**total
    assert mcnemar(first, second) == mcnemar(second, first) == pytest.approx(min(1.0, 2 * tail))


def test_mcnemar_agrees_with_scipy_on_many_questions():
    assert mcnemar(900, 1100) == pytest.approx(stats.binomtest(900, 2000).pvalue)
    assert 0 < mcnemar(2000, 3000) < 1e-40


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


def test_one_video_gives_no_interval():
    assert share_interval([1, 0, 1], [0, 0, 0])[1:] == (0.0, 1.0)
    assert difference_interval([1, 0, 1], [0, 0, 0])[1:] == (-1.0, 1.0)


@given(st.lists(st.tuples(st.booleans() | st.floats(0, 1), st.integers(0, 8)), min_size=1, max_size=60))
def test_interval_of_a_mean_of_shares_holds_its_value_and_stays_in_range(pairs):
    shares, videos = zip(*pairs, strict=True)
    value, low, high = share_interval(shares, videos)
    assert 0 <= low <= value + 1e-12 and value - 1e-12 <= high <= 1


@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 3)), min_size=1, max_size=20))
def test_interval_of_a_difference_stays_in_range(pairs):
    differences, videos = zip(*pairs, strict=True)
    assert difference_interval(differences, videos).low >= -1
    assert difference_interval(differences, videos).high <= 1


def test_bootstrap_repeats():
    values, videos = np.tile([1, 0, 0, -1, 1], 20), np.repeat(alone(50), np.tile([1, 3], 25))
    assert difference_interval(values, videos) == difference_interval(values, videos)


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


def test_holm_multiplies_by_the_tests_that_are_left():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_makes_a_p_smaller_nor_changes_the_order(ps):
    found = holm(ps)
    assert all(p <= q <= 1 for p, q in zip(ps, found, strict=True))
    ranked = sorted(range(len(ps)), key=lambda k: ps[k])
    assert all(found[a] <= found[b] for a, b in pairwise(ranked))
