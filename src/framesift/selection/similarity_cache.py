"""The largest cosine of every candidate with a growing set of selected frames."""

from collections.abc import Sequence

import numpy as np

from framesift.types.vectors import Array, UnitRows

# Rows compared exactly at a time, so that copies of many rows stay small.
EXACT_ROWS = 256

BELOW_ALL_COSINES = -2.0


class SimilarityCache:
    """The selected frames and, for every candidate, its largest cosine with some of them.

    approximate (N,) float32: the largest with the first `compared` selected frames, within `error` of the true one.
    exact_so_far (N,) float64: the largest with the frames that were selected when `exact` was last called for the
    candidate. A largest cosine can only grow with the set, so both give lower bounds.
    all_alike: whether most candidates are too much alike for estimates to tell them apart.
    """

    def __init__(self, vectors: UnitRows, selected: Sequence[int]) -> None:
        self.vectors = vectors
        self.error = vectors.float32_error
        self.selected = list(selected)
        self.compared = 0
        self.all_alike = False
        self.approximate: Array = np.full(len(vectors), BELOW_ALL_COSINES, dtype=np.float32)
        self.exact_so_far: Array = np.full(len(vectors), BELOW_ALL_COSINES)
        self._exact_compared: Array = np.zeros(len(vectors), dtype=np.int64)

    def update(self) -> None:
        """Compare every candidate with the frames selected since the last update."""
        if newer := self.selected[self.compared :]:
            cosines = self.vectors.float32_products(self.vectors.float32_rows[newer])
            np.maximum(self.approximate, _row_maxima(cosines), out=self.approximate)
            self.compared = len(self.selected)

    def lower_bound(self) -> Array:
        """(N,) float64: what the largest cosine of each candidate with the selected frames is at least."""
        return np.maximum(self.exact_so_far, self.approximate.astype(np.float64) - self.error)

    def exact(self, indices: Array) -> Array:
        """(K,) float64: the largest cosine of each of these candidates with the selected frames other than itself.

        0 where there is no other selected frame, as in MMR from an empty set.
        """
        if len(indices) > len(self.vectors) // 2:  # to read all rows costs less than a copy of most
            self._update_exactly(np.arange(len(self.vectors)), None)
        else:
            for start in range(0, len(indices), EXACT_ROWS):
                part = indices[start : start + EXACT_ROWS]
                self._update_exactly(part, part)
        largest = self.exact_so_far[indices]
        return np.where(largest > BELOW_ALL_COSINES, largest, 0.0)

    def _update_exactly(self, indices: Array, rows: Array | None) -> None:
        newer = np.array(self.selected[self._exact_compared[indices].min() :], dtype=np.int64)
        cosines = self.vectors.products(self.vectors.rows[newer], rows)
        cosines[indices[:, None] == newer] = BELOW_ALL_COSINES
        self.exact_so_far[indices] = np.maximum(self.exact_so_far[indices], _row_maxima(cosines))
        self._exact_compared[indices] = len(self.selected)

    def region_max_cosines(self, start: Array, stop: Array) -> Array:
        """(G,) float64: the largest cosine of a selected frame with any frame of each region start ≤ index < stop.

        The regions are all maximal runs of frames that are not selected.
        """
        is_omitted = np.ones(len(self.vectors), dtype=bool)
        is_omitted[self.selected] = False
        frames = np.flatnonzero(is_omitted)
        region = np.repeat(np.arange(len(start)), stop - start)
        undecided = np.arange(len(frames))
        if not self.all_alike:
            self.update()
            top = np.maximum.reduceat(self.approximate[frames], np.searchsorted(frames, start))
            undecided = np.flatnonzero(self.approximate[frames] >= top[region] - 2 * self.error)
        largest = np.full(len(start), BELOW_ALL_COSINES)
        np.maximum.at(largest, region[undecided], self.exact(frames[undecided]))
        return largest


def _row_maxima(cosines: Array) -> Array:
    """(N,) the largest of each row (N, K); NumPy takes ten times longer for many short rows than for few long ones."""
    maxima: Array = np.ascontiguousarray(cosines.T).max(axis=0, initial=BELOW_ALL_COSINES)
    return maxima
