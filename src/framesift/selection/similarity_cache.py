"""The largest cosine of every candidate with a growing set of selected frames."""

from collections.abc import Sequence

import numpy as np

from framesift.types.vectors import Array, UnitRows, dot_products, small_products

# Rows compared exactly at a time, so that copies of many rows stay small.
EXACT_ROWS = 256

BELOW_ALL_COSINES = -2.0


class SimilarityCache:
    """The selected frames and, for every candidate, its largest cosine with some of them.

    approximate (N,) float32: the largest with the first `compared` selected frames, within `error` of the true one.
    exact_so_far (N,) float64: the largest with the frames that were selected when `exact` was last called for the
    candidate. A largest cosine can only grow with the set, so both give lower bounds.
    """

    def __init__(self, vectors: UnitRows, selected: Sequence[int]) -> None:
        self.vectors = vectors
        self.error = vectors.float32_error
        self.selected = list(selected)
        self.compared = 0
        self.approximate: Array = np.full(len(vectors), BELOW_ALL_COSINES, dtype=np.float32)
        self.exact_so_far: Array = np.full(len(vectors), BELOW_ALL_COSINES)
        self._exact_compared: Array = np.zeros(len(vectors), dtype=np.int64)

    def update(self) -> None:
        """Compare every candidate with the frames selected since the last update."""
        rows = self.vectors.float32_rows
        if newer := self.selected[self.compared :]:
            np.maximum(self.approximate, small_products(rows, rows[newer]).max(axis=1), out=self.approximate)
            self.compared = len(self.selected)

    def exact(self, indices: Array) -> Array:
        """(K,) float64: the largest cosine of each of these candidates with the selected frames other than itself.

        0 where there is no other selected frame, as in MMR from an empty set.
        """
        for start in range(0, len(indices), EXACT_ROWS):
            self._update_exactly(indices[start : start + EXACT_ROWS])
        largest = self.exact_so_far[indices]
        return np.where(largest > BELOW_ALL_COSINES, largest, 0.0)

    def _update_exactly(self, indices: Array) -> None:
        newer = np.array(self.selected[self._exact_compared[indices].min() :], dtype=np.int64)
        cosines = dot_products(self.vectors.rows[indices], self.vectors.rows[newer])
        cosines[indices[:, None] == newer] = BELOW_ALL_COSINES
        largest = cosines.max(axis=1, initial=BELOW_ALL_COSINES)
        self.exact_so_far[indices] = np.maximum(self.exact_so_far[indices], largest)
        self._exact_compared[indices] = len(self.selected)

    def region_max_cosines(self, start: Array, stop: Array) -> Array:
        """(G,) float64: the largest cosine of a selected frame with any frame of each region start ≤ index < stop.

        The regions are all maximal runs of frames that are not selected.
        """
        self.update()
        is_omitted = np.ones(len(self.vectors), dtype=bool)
        is_omitted[self.selected] = False
        frames = np.flatnonzero(is_omitted)
        region = np.searchsorted(stop, frames, side="right")
        top = np.maximum.reduceat(self.approximate[frames], np.searchsorted(frames, start))
        undecided = np.flatnonzero(self.approximate[frames] >= top[region] - 2 * self.error)
        largest = np.full(len(start), BELOW_ALL_COSINES)
        np.maximum.at(largest, region[undecided], self.exact(frames[undecided]))
        return largest
