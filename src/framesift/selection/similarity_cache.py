"""The largest cosine of every candidate with a growing set of selected frames."""

from collections.abc import Sequence

import numpy as np

from framesift.types.vectors import Array, UnitRows, dot_products

# Rows per product: few enough for a BLAS to skip its repacking, which costs more than such a narrow product.
BLOCK_ROWS = 64


class SimilarityCache:
    """The selected frames and, for every candidate i, its largest cosine with the first compared[i] of them.

    approximate (N,) float32: within `error` of the true cosine. A candidate's largest cosine can only grow with the
    set, so a comparison with some of the selected frames gives a lower bound for all of them.
    """

    def __init__(self, vectors: UnitRows, selected: Sequence[int], *, compare_first: int) -> None:
        """Start from `selected`, comparing every candidate with the first `compare_first` of them."""
        self.vectors = vectors
        self.error = vectors.float32_error
        self.selected = list(selected)
        self.approximate: Array = np.empty(len(vectors), dtype=np.float32)
        self.compared: Array = np.full(len(vectors), min(compare_first, len(selected)))
        first = vectors.float32_rows[self.selected[:compare_first]].T
        for start in range(0, len(vectors), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            (vectors.float32_rows[part] @ first).max(axis=1, out=self.approximate[part])

    def update(self, indices: Array) -> None:
        """Compare these candidates with all selected frames."""
        newer = self.vectors.float32_rows[self.selected[self.compared[indices].min(initial=len(self.selected)) :]].T
        if newer.size and len(indices):
            cosines = (self.vectors.float32_rows[indices] @ newer).max(axis=1)
            self.approximate[indices] = np.maximum(self.approximate[indices], cosines)
            self.compared[indices] = len(self.selected)

    def exact(self, indices: Array) -> Array:
        """(K,) float64: the largest cosine of each of these candidates with the selected frames other than itself.

        0 where there is no other selected frame, as in MMR from an empty set.
        """
        cosines = dot_products(self.vectors.rows[indices], self.vectors.rows[self.selected])
        cosines[indices[:, None] == np.array(self.selected)] = -np.inf
        largest: Array = cosines.max(axis=1)
        return np.where(np.isfinite(largest), largest, 0.0)

    def region_max_cosines(self, start: Array, stop: Array) -> Array:
        """(G,) float64: the largest cosine of a selected frame with any frame of each region start ≤ index < stop.

        The regions lie between selected frames, so the step distances at their ends give a lower bound. Only frames
        that could exceed it, by the upper bound of their shot, are compared with the selected frames.
        """
        steps = self.vectors.step_distances
        count = len(self.approximate)
        largest = np.maximum(
            np.where(start > 0, 1.0 - steps[start - 1], -np.inf),
            np.where(stop < count, 1.0 - steps[np.minimum(stop, count - 1) - 1], -np.inf),
        )
        selected = self.vectors.float32_rows[self.selected].T
        region = np.repeat(np.arange(len(start)), stop - start)
        frames = np.arange(len(region)) + np.repeat(start - np.cumsum(stop - start) + (stop - start), stop - start)
        shots = self.vectors.shots
        limit = shots.max_cosines((shots.centres @ selected).max(axis=1) + self.error)[shots.shot_of_row[frames]]
        possible = np.flatnonzero(limit >= largest[region] - 2 * self.error)
        frames, region = frames[possible], region[possible]
        approximate = (self.vectors.float32_rows[frames] @ selected).max(axis=1, initial=-np.inf)
        top = largest.copy()
        np.maximum.at(top, region, approximate)
        undecided = np.flatnonzero(approximate >= top[region] - 2 * self.error)
        np.maximum.at(largest, region[undecided], self.exact(frames[undecided]))
        return largest
