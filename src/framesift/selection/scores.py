"""Scores of frames: scaling them, ranking them once per question, and the best frames of any range of indices."""

import numpy as np

from framesift.types.vectors import TIE_TOLERANCE, Array, merge_ties


def min_max(values: Array) -> Array:
    """Scale to [0, 1]; a constant vector becomes zeros."""
    values = merge_ties(values)
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


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
        self.order: Array = np.argsort(-scores, kind="stable")
        self.scores: Array = scores
        drops = -np.diff(scores[self.order])
        if ((drops > 0) & (drops <= TIE_TOLERANCE)).any():
            self.scores = merge_ties(scores)
            self.order = np.argsort(-self.scores, kind="stable")
        self.rank: Array = np.empty(len(scores), dtype=np.int64)
        self.rank[self.order] = np.arange(len(scores))
        # Sparse table for range minima, built on demand: row k holds the best rank among 2^k consecutive frames.
        self._minima = [self.rank]

    def best_in_ranges(self, lo: Array, hi: Array) -> Array:
        """(K,) index of the best frame of each range lo[k] ≤ index < hi[k]; −1 for an empty range."""
        level = np.frexp(hi - lo)[1] - 1  # floor(log2(length)), exactly
        best = np.full(len(lo), -1)
        for k in range(int(level.max(initial=-1)) + 1):
            if k == len(self._minima):
                half, row = 2 ** (k - 1), self._minima[-1]
                self._minima.append(np.minimum(row[:-half], row[half:]))
            at = np.flatnonzero(level == k)
            row = self._minima[k]
            best[at] = self.order[np.minimum(row[lo[at]], row[hi[at] - 2**k])]
        return best

    def top_mean(self, lo: Array, hi: Array, count: int) -> Array:
        """(K,) mean of the `count` largest scores of each range, of all if it holds fewer. No range may be empty."""
        if count > 2:
            return np.array([np.sort(self.scores[a:b])[::-1][:count].mean() for a, b in zip(lo, hi, strict=True)])
        first = self.best_in_ranges(lo, hi)
        if count == 1:
            return self.scores[first]
        others = np.stack((self.best_in_ranges(lo, first), self.best_in_ranges(first + 1, hi)))
        second = np.where(others >= 0, self.scores[others], -np.inf).max(axis=0)
        return np.where(hi - lo > 1, (self.scores[first] + second) / 2, self.scores[first])
