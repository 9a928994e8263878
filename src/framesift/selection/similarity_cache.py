"""The cosines of candidates with a growing set of selected frames, and the largest of each."""

from collections.abc import Sequence

import numpy as np

from framesift.types.vectors import TIE_TOLERANCE, Array, UnitRows

# Rows compared exactly at a time, so that copies of many rows stay small.
EXACT_ROWS = 256

# A dot product of two rows by themselves takes this many times longer than as a part of a matrix product.
DOT_COST = 8

BELOW_ALL_COSINES = -2.0


class SimilarityCache:
    """The selected frames, and the cosines of the candidates with them.

    estimates (S, N) float32: row k has the cosines with the k-th selected frame, within `error` of the true ones, and
    BELOW_ALL_COSINES for the frame itself. The first `compared` rows are complete; the others have only what was added.
    approximate (N,) float32: the largest of the complete rows. exact_so_far (N,) float64: the largest cosine with the
    frames that were selected when `exact` was last called for the candidate. A largest cosine can only grow with the
    set, so both give lower bounds.
    all_alike: whether most candidates are too much alike for estimates to tell them apart.
    """

    def __init__(self, vectors: UnitRows, selected: Sequence[int], size: int = 0) -> None:
        """size: the number of frames up to which the set may grow."""
        self.vectors = vectors
        self.error = vectors.float32_error
        self.selected = list(selected)
        self.compared = 0
        self.all_alike = False
        self.estimates: Array = np.zeros((max(size, len(self.selected)), len(vectors)), dtype=np.float32)
        self.estimates[np.arange(len(self.selected)), self.selected] = BELOW_ALL_COSINES
        self.approximate: Array = np.full(len(vectors), BELOW_ALL_COSINES, dtype=np.float32)
        self.exact_so_far: Array = np.full(len(vectors), BELOW_ALL_COSINES)
        self._exact_compared: Array = np.zeros(len(vectors), dtype=np.int64)

    def add(self, frame: int, candidates: Array | slice, cosines: Array | float) -> None:
        """Select a frame, with what is known of its cosines with some candidates."""
        row = self.estimates[len(self.selected)]
        row[candidates] = cosines
        row[frame] = BELOW_ALL_COSINES
        self.selected.append(frame)

    def update(self) -> None:
        """Compare every candidate with the frames selected since the last update."""
        if newer := self.selected[self.compared :]:
            rows = self.estimates[self.compared : len(self.selected)]
            rows[...] = self.vectors.float32_products(self.vectors.float32(np.array(newer))).T
            rows[np.arange(len(newer)), newer] = BELOW_ALL_COSINES
            self.mark_complete()

    def mark_complete(self) -> None:
        """Use the rows of all selected frames for the largest estimates."""
        rows = self.estimates[self.compared : len(self.selected)]
        np.maximum(self.approximate, rows.max(axis=0, initial=BELOW_ALL_COSINES), out=self.approximate)
        self.compared = len(self.selected)

    def lower_bound(self, indices: Array) -> Array:
        """(K,) float64: what the largest cosine of each of these candidates with the selected frames is at least."""
        return np.maximum(self.exact_so_far[indices], self.approximate[indices].astype(np.float64) - self.error)

    def exact(self, indices: Array) -> Array:
        """(K,) float64: the largest cosine of each of these candidates with the selected frames other than itself.

        0 where there is no other selected frame, as in MMR from an empty set.
        """
        count = len(self.vectors)
        parts = [indices[start : start + EXACT_ROWS] for start in range(0, len(indices), EXACT_ROWS)]
        if len(indices) > count // 2:  # to read all rows costs less than a copy of most
            parts = [np.arange(count)]
        for part in parts:
            first = int(self._exact_compared[part].min())
            if first < len(self.selected):
                cosines = self._largest_cosines(part, self.estimates[first : len(self.selected), part], first)
                self.exact_so_far[part] = np.maximum(self.exact_so_far[part], cosines.max(axis=0))
                self._exact_compared[part] = len(self.selected)
        largest = self.exact_so_far[indices]
        return np.where(largest > BELOW_ALL_COSINES, largest, 0.0)

    def closest_before(self, first: int) -> tuple[Array, Array]:
        """The position among the selected frames of the closest one before each from `first` on, and the cosine.

        Of a tie, the frame that was selected first.
        """
        frames, positions = np.array(self.selected[first:], dtype=int), np.arange(len(self.selected))
        is_later = positions[:, None] >= positions[first:]
        estimates = np.where(is_later, BELOW_ALL_COSINES, self.estimates[: len(self.selected), frames])
        cosines = self._largest_cosines(frames, estimates, 0)
        cosines[is_later] = BELOW_ALL_COSINES
        closest = (cosines >= cosines.max(axis=0) - TIE_TOLERANCE).argmax(axis=0)
        return closest, cosines[closest, np.arange(len(frames))]

    def _largest_cosines(self, frames: Array, estimates: Array, first: int) -> Array:
        """(P, K) float64: exact cosines of frames (K,) with the selected ones from `first` on.

        estimates (P, K): those of the same pairs. All but the largest of each frame may be BELOW_ALL_COSINES, as is
        that of a frame with itself.
        """
        vectors, others = self.vectors, np.array(self.selected[first:])
        if not (self.all_alike or vectors.repeats):
            near = (estimates >= estimates.max(axis=0) - 2 * self.error) & (estimates > BELOW_ALL_COSINES)
            if DOT_COST * np.count_nonzero(near) <= near.size:
                cosines = np.full(near.shape, BELOW_ALL_COSINES)
                other, frame = near.nonzero()
                cosines[other, frame] = vectors.pair_products(others[other], frames[frame])
                return cosines
        all_rows = len(frames) == len(vectors)
        # NumPy takes ten times longer for the maxima of many short rows than of few long ones.
        cosines = np.ascontiguousarray(vectors.products(vectors.exact(others), slice(None) if all_rows else frames).T)
        cosines[others[:, None] == frames] = BELOW_ALL_COSINES
        return cosines

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
