"""Scores of frames: scaling and ranking them, the best of any range of indices, and sharing a budget by scores."""

from collections.abc import Sequence

import numpy as np

from framesift.types.vectors import TIE_TOLERANCE, Array, merge_ties


def min_max(values: Array) -> Array:
    """Scale to [0, 1], or each column of (K, C); a constant vector becomes zeros."""
    values = merge_ties(values)
    low = values.min(axis=0, initial=np.inf)
    span = values.max(axis=0, initial=-np.inf) - low
    scaled: Array = (values - low) / np.where(span > 0, span, 1.0)
    return scaled


def softmax(values: Array, temperature: float = 1.0) -> Array:
    """exp(values / temperature), normalised to sum to 1."""
    scaled = np.asarray(values, dtype=np.float64) / temperature
    powers = np.exp(scaled - scaled.max())
    probabilities: Array = powers / powers.sum()
    return probabilities


class Ranking:
    """Frames ranked by score, best first; equal scores rank by index.

    scores (N,) with near-ties merged; order (N,) frame indices, best first; rank (N,) the position of each frame in it.
    """

    def __init__(self, scores: Array) -> None:
        self.scores: Array = scores
        self.order: Array = np.argsort(-scores)
        if (np.diff(scores[self.order]) >= -TIE_TOLERANCE).any():  # a stable sort takes several times longer
            self.scores = merge_ties(scores)
            self.order = np.argsort(-self.scores, kind="stable")
        # The rank after the last stands for no frame.
        self._rank: Array = np.full(len(scores) + 1, len(scores))
        self._rank[self.order] = np.arange(len(scores))
        self.rank: Array = self._rank[:-1]

    def best_in_ranges(self, lo: Array, hi: Array) -> Array:
        """(K,) index of the best frame of each range lo[k] ≤ index < hi[k]; −1 for an empty range."""
        best = self._best_ranks(lo, hi)
        return np.where(best < len(self.rank), self.order[np.minimum(best, len(self.rank) - 1)], -1)

    def fill(self, selected: Sequence[int], size: int) -> list[int]:
        """Grow `selected` to `size` frames with the best-ranked of the others, as far as there are any."""
        taken = set(selected)
        others = [index for index in self.order.tolist() if index not in taken]
        return [*selected, *others[: size - len(selected)]]

    def _best_ranks(self, lo: Array, hi: Array) -> Array:
        """(K,) the best rank in each range; the number of frames for an empty range."""
        # reduceat takes the minimum from lo[0] to hi[0], then from there to lo[1], …; every second one is discarded.
        edges = np.empty(2 * len(lo), dtype=np.int64)
        edges[::2], edges[1::2] = lo, hi
        return np.where(lo < hi, np.minimum.reduceat(self._rank, edges)[::2], len(self.rank))

    def top_mean(self, lo: Array, hi: Array, count: int) -> Array:
        """(K,) mean of the `count` largest scores of each range, of all if it holds fewer. No range may be empty."""
        if count > 2:
            return np.array([np.sort(self.scores[a:b])[::-1][:count].mean() for a, b in zip(lo, hi, strict=True)])
        first = self.order[self._best_ranks(lo, hi)]
        if count == 1:
            return self.scores[first]
        others = np.minimum(self._best_ranks(lo, first), self._best_ranks(first + 1, hi))
        second = np.where(others < len(self.rank), self.order[np.minimum(others, len(self.rank) - 1)], first)
        return (self.scores[first] + self.scores[second]) / 2


def largest_remainder(shares: Array, size: int) -> list[int]:
    """Round `shares` (which sum to 1) of `size` to integers that sum to `size`; ties go to the earlier share."""
    exact = np.asarray(shares, dtype=np.float64) * size
    # The tolerance keeps an integer that was missed by rounding alone from being rounded down.
    counts = np.floor(exact + TIE_TOLERANCE).astype(int)
    order = np.argsort(-merge_ties(exact - counts), kind="stable")
    counts[order[: size - int(counts.sum())]] += 1
    rounded: list[int] = counts.tolist()
    return rounded
