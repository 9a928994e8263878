"""How close candidates come to a growing set of chosen frames."""

from collections.abc import Sequence

import numpy as np

from framesift.types.vectors import Array, UnitRows, row_products

# Rows multiplied at a time: few enough for a BLAS to skip its repacking, which costs more than such a narrow product.
BLOCK_ROWS = 64


class Nearness:
    """The chosen frames and, for every candidate, its largest cosine with the first known[i] of them.

    rough (N,) float32: within `error` of the truth. A candidate's largest cosine can only grow with the set, so what
    is known of some members is a lower bound for all.
    """

    def __init__(self, vectors: UnitRows, chosen: Sequence[int], *, known: int) -> None:
        """Start from `chosen`, comparing every candidate with the first `known` of them."""
        self.vectors = vectors
        self.error = vectors.rough_error
        self.members = list(chosen)
        self.rough: Array = np.empty(len(vectors), dtype=np.float32)
        self.known: Array = np.full(len(vectors), min(known, len(chosen)))
        first = vectors.rough[self.members[:known]].T
        for start in range(0, len(vectors), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            (vectors.rough[part] @ first).max(axis=1, out=self.rough[part])

    def update(self, indices: Array) -> None:
        """Compare these candidates with all members."""
        newer = self.vectors.rough[self.members[self.known[indices].min(initial=len(self.members)) :]].T
        if newer.size and len(indices):
            closest = (self.vectors.rough[indices] @ newer).max(axis=1)
            self.rough[indices] = np.maximum(self.rough[indices], closest)
            self.known[indices] = len(self.members)

    def exact(self, indices: Array) -> Array:
        """(K,) float64: the largest cosine of each of these candidates with the members, itself left out.

        0 where there is no other member, as in MMR from an empty set.
        """
        cosines = row_products(self.vectors.rows[indices], self.vectors.rows[self.members])
        cosines[indices[:, None] == np.array(self.members)] = -np.inf
        closest: Array = cosines.max(axis=1)
        return np.where(np.isfinite(closest), closest, 0.0)

    def closest_of_regions(self, start: Array, stop: Array) -> Array:
        """(G,) float64: the largest cosine between any member and any frame of each region start ≤ index < stop.

        The regions lie between members. The frames next to them give a first value, the steps of the video; only frames
        that could come closer, by what their shot says, are compared with all members.
        """
        steps = self.vectors.steps
        least = np.maximum(
            np.where(start > 0, 1.0 - steps[start - 1], -np.inf),
            np.where(stop < len(self.rough), 1.0 - steps[np.minimum(stop, len(self.rough) - 1) - 1], -np.inf),
        )
        members = self.vectors.rough[self.members].T
        region = np.repeat(np.arange(len(start)), stop - start)
        frames = np.arange(len(region)) + np.repeat(start - np.cumsum(stop - start) + (stop - start), stop - start)
        shots = self.vectors.shots
        limit = shots.limits((shots.centres @ members).max(axis=1) + self.error)[shots.of_row[frames]]
        possible = np.flatnonzero(limit >= least[region] - 2 * self.error)
        frames, region = frames[possible], region[possible]
        rough = (self.vectors.rough[frames] @ members).max(axis=1, initial=-np.inf)
        top = least.copy()
        np.maximum.at(top, region, rough)
        in_doubt = np.flatnonzero(rough >= top[region] - 2 * self.error)
        np.maximum.at(least, region[in_doubt], self.exact(frames[in_doubt]))
        return least
