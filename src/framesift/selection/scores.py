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
        self.scores: Array = scores
        self.order: Array = np.argsort(-scores)
        if (np.diff(scores[self.order]) >= -TIE_TOLERANCE).any():  # a stable sort takes several times longer
            self.scores = merge_ties(scores)
            self.order = np.argsort(-self.scores, kind="stable")
        self.rank: Array = np.empty(len(scores), dtype=np.int64)
        self.rank[self.order] = np.arange(len(scores))

    def best_in_ranges(self, lo: Array, hi: Array) -> Array:
        """(K,) index of the best frame of each range lo[k] ≤ index < hi[k]; −1 for an empty range."""
        # reduceat takes the minimum from lo[0] to hi[0], then from there to lo[1], …; every second one is discarded.
        edges = np.stack((lo, hi), axis=1).ravel()
        best = np.minimum.reduceat(np.append(self.rank, len(self.rank)), edges)[::2]
        return np.where(lo < hi, np.append(self.order, -1)[best], -1)

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
