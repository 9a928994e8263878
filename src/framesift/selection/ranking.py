"""Frames ranked by relevance once per question, and the best of any stretch of them at once."""

import numpy as np

from framesift.types.vectors import TIE, Array, settle


class Ranking:
    """scores (N,) settled, `order` the frames best first, `rank` the place of each; equal scores rank by index."""

    def __init__(self, scores: Array) -> None:
        self.order: Array = np.argsort(-scores, kind="stable")
        self.scores: Array = scores
        fall = -np.diff(scores[self.order])
        if ((fall > 0) & (fall <= TIE)).any():
            self.scores = settle(scores)
            self.order = np.argsort(-self.scores, kind="stable")
        self.rank: Array = np.empty(len(scores), dtype=np.int64)
        self.rank[self.order] = np.arange(len(scores))
        self._minima = [self.rank]  # row k: the best rank among 2^k neighbours (a sparse table, grown on demand)

    def best(self, lo: Array, hi: Array) -> Array:
        """(K,) index of the best frame of each range lo[k] ≤ index < hi[k]; −1 for an empty range."""
        length = hi - lo
        level = np.frexp(length)[1] - 1  # floor(log2(length)), exactly
        out = np.full(len(lo), -1)
        for k in range(int(level.max(initial=-1)) + 1):
            if k == len(self._minima):
                half, row = 2 ** (k - 1), self._minima[-1]
                self._minima.append(np.minimum(row[:-half], row[half:]))
            at = np.flatnonzero(level == k)
            row = self._minima[k]
            out[at] = self.order[np.minimum(row[lo[at]], row[hi[at] - 2**k])]
        return out

    def top_mean(self, lo: Array, hi: Array, count: int) -> Array:
        """(K,) mean of the `count` largest scores of each range, of all if it holds fewer. No range may be empty."""
        if count > 2:
            return np.array([np.sort(self.scores[a:b])[::-1][:count].mean() for a, b in zip(lo, hi, strict=True)])
        first = self.best(lo, hi)
        if count == 1:
            return self.scores[first]
        others = np.stack((self.best(lo, first), self.best(first + 1, hi)))
        second = np.where(others >= 0, self.scores[others], -np.inf).max(axis=0)
        return np.where(hi - lo > 1, (self.scores[first] + second) / 2, self.scores[first])
