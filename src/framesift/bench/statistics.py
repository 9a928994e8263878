"""Intervals and tests for questions that are clustered by video.

Arrays only. A share's interval is Wilson's with the effective sample size under clustering (Korn & Graubard 1998); a
paired difference's is a percentile bootstrap that resamples whole videos. Shares and their bounds are in [0, 1], the
differences of shares in [-1, 1].
"""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from framesift._utils.requirements import require
from framesift.types.vectors import Array

LEVEL = 0.95
DRAWS = 10_000
SEED = 0


class Interval(NamedTuple):
    """An estimate with its lower and upper bound."""

    value: float
    low: float
    high: float


def share_interval(hits: ArrayLike, clusters: ArrayLike) -> Interval:
    """The mean of hits (n,), or of shares in [0, 1], with its interval; clusters (n,): the video of each.

    The variance is that of a ratio of cluster totals. The effective sample size never exceeds n, even with a negative
    intra-cluster correlation or shares that vary less than hits would, so that the interval is rather too wide. If all
    values are equal, the variance is 0 and a video counts as one question.
    """
    values = np.asarray(hits, dtype=np.float64)
    n = len(values)
    share = float(values.mean())
    sums, sizes = _totals(values, clusters)
    count = len(sizes)
    if count < 2:
        return Interval(share, 0.0, 1.0)
    variance = count / (count - 1) * float(((sums - share * sizes) ** 2).sum()) / n**2
    plain = share * (1 - share) / n
    effective = float(count) if variance == 0 or plain == 0 else n * min(1.0, plain / variance)
    return Interval(share, *_wilson(share, effective, _quantile(count - 1)))


def difference_interval(differences: ArrayLike, clusters: ArrayLike) -> Interval:
    """The mean of per-question differences of shares (n,) with a bootstrap interval that resamples whole videos."""
    values = np.asarray(differences, dtype=np.float64)
    sums, sizes = _totals(values, clusters)
    mean = float(values.mean())
    if len(sizes) < 2:
        return Interval(mean, -1.0, 1.0)
    weights = _draws(len(sizes))
    means = (weights @ sums) / (weights @ sizes)
    # Few videos: resampling C of them has (C − 1) / C of the variance, and percentiles lack Student's t.
    freedom = len(sizes) - 1
    wider = math.sqrt(1 + 1 / freedom) * _quantile(freedom) / NormalDist().inv_cdf((1 + LEVEL) / 2)
    means = mean + (means - mean) * wider
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).clip(-1.0, 1.0)
    return Interval(mean, float(low), float(high))


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p of McNemar's test, from the numbers of discordant pairs."""
    total, fewer = only_first + only_second, min(only_first, only_second)
    # Integers: floats would underflow with many questions.
    term, tail = 1, 0
    for k in range(fewer + 1):
        tail += term
        term = term * (total - k) // (k + 1)
    return min(1.0, float(2 * tail / 2**total))


def holm(p_values: list[float]) -> list[float]:
    """Holm's adjusted p-values for multiple tests."""
    values = np.array(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    values[order] = np.maximum.accumulate(steps).clip(max=1.0)
    return list(map(float, values))


def _totals(values: Array, clusters: ArrayLike) -> tuple[Array, Array]:
    """The sum and the number of the values of each cluster."""
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    return np.bincount(codes, weights=values), np.bincount(codes).astype(np.float64)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 the bound is the share itself, without rounding error.
    return (0.0 if share == 0 else max(0.0, centre - half)), (1.0 if share == 1 else min(1.0, centre + half))


def _quantile(freedom: int) -> float:
    return float(require("scipy.special", "bench").stdtrit(freedom, (1 + LEVEL) / 2))


@lru_cache(maxsize=8)
def _draws(count: int) -> Array:
    """(DRAWS, count) how often each cluster is drawn; cached, since all cells of a table use the same."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(count, np.full(count, 1 / count), size=DRAWS).astype(np.float32)
