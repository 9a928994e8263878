"""Greedy choice of items spread over time, and what resembles those chosen: near-duplicates, repeated texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from framesift.types.vectors import TIE_TOLERANCE, Array, UnitRows, small_products

MAX_BATCH = 256  # candidates compared at once with the chosen frames


@dataclass(frozen=True)
class Choice:
    """One greedy choice and the numbers that decided: value = score − weight · nearness.

    nearest: the item chosen before that lowers the value most; None for the first choice.
    """

    item: int
    score: float
    value: float
    nearness: float
    nearest: int | None


class Spread:
    """The value of every item: score − the largest weight · exp(−(seconds to a chosen item) / width_s) − repeated.

    value (N,): −inf for items that are not available. repeated (N,): what `repeat` sets. Of equal items, the one with
    the lowest priority (N,) is chosen, by default the first.
    """

    def __init__(
        self, score: Array, times_s: Array, *, weight: float, width_s: float, priority: Array | None = None
    ) -> None:
        self.score, self.times_s, self.weight, self.width_s = score, times_s, weight, width_s
        self.value: Array = np.array(score, dtype=np.float64)
        self.penalty: Array = np.zeros(len(score))
        self.repeated: Array = np.zeros(len(score))
        self.distance_s: Array = np.full(len(score), np.inf)
        self.nearest: Array = np.full(len(score), -1)
        self.priority: Array = np.arange(len(score)) if priority is None else priority
        self._available: Array = np.ones(len(score), dtype=bool)

    def best(self) -> int | None:
        """The available item with the largest value; None when none is available."""
        highest = self.value.max(initial=-np.inf)
        if highest == -np.inf:
            return None
        ties = np.flatnonzero(self.value >= highest - TIE_TOLERANCE)
        return int(ties[self.priority[ties].argmin()])

    def leading(self, count: int) -> Array:
        """About `count` available items with the largest values, the best one among them."""
        level = (
            self.value.max() if count == 1 else np.partition(self.value, -min(count, len(self.value)))[-count:].min()
        )
        items: Array = np.flatnonzero((self.value >= level - TIE_TOLERANCE) & self._available)
        return items

    def choose(self, item: int, weight: float | None = None) -> Choice:
        """Take this item, and lower the value of those near it, by another weight if one is given."""
        distance_s, nearest = float(self.distance_s[item]), int(self.nearest[item])
        choice = Choice(
            item,
            float(self.score[item]),
            float(self.value[item]),
            float(np.exp(-distance_s / self.width_s)),
            nearest if nearest >= 0 else None,
        )
        self.remove(item)
        distances_s = np.abs(self.times_s - self.times_s[item])
        penalty = (self.weight if weight is None else weight) * np.exp(-distances_s / self.width_s)
        lower = np.flatnonzero((penalty > self.penalty) | (self.nearest < 0))
        self.penalty[lower], self.distance_s[lower], self.nearest[lower] = penalty[lower], distances_s[lower], item
        self._evaluate(lower[self._available[lower]])
        return choice

    def remove(self, items: Array | int) -> None:
        """Make items unavailable."""
        self.value[items], self._available[items] = -np.inf, False

    def restore(self, items: Array) -> None:
        """Make removed items available again."""
        self._available[items] = True
        self._evaluate(items)

    def repeat(self, items: Array, amount: Array) -> None:
        """Lower the value of available items by what they repeat."""
        self.repeated[items] = amount
        self._evaluate(items)

    def _evaluate(self, items: Array) -> None:
        self.value[items] = self.score[items] - self.penalty[items] - self.repeated[items]


class Repetition:
    """How much texts repeat those chosen, compared for the leading ones only.

    That is the largest cosine with a chosen text, from 0 at the mean cosine of all texts to 1.
    """

    def __init__(self, vectors: UnitRows) -> None:
        self._vectors, self._chosen = vectors, list[int]()
        self._largest = np.zeros(len(vectors))
        self._compared = np.zeros(len(vectors), dtype=np.int64)  # with how many of the chosen texts

    def is_cleared(self, item: int) -> bool:
        """Whether this text was compared with all chosen ones."""
        return bool(self._compared[item] == len(self._chosen))

    def choose(self, item: int) -> None:
        self._chosen.append(item)

    def compare(self, items: Array) -> Array:
        """Compare these texts with the chosen ones: how much each repeats."""
        newer = self._chosen[int(self._compared[items].min()) :]
        self._compared[items] = len(self._chosen)
        mean = self._vectors.mean_cosine
        cosines = self._vectors.products(self._vectors.exact(np.array(newer)), items).max(axis=1)
        self._largest[items] = np.maximum(self._largest[items], (cosines - mean) / max(1.0 - mean, TIE_TOLERANCE))
        largest: Array = self._largest[items]
        return largest


class DuplicateFilter:
    """Finds candidates whose cosine with a chosen frame is above the threshold, comparing leading candidates only.

    batch: how many candidates to compare next; it grows while all of them are duplicates.
    """

    def __init__(self, vectors: UnitRows, chosen: Sequence[int], threshold: float) -> None:
        self.batch = 1
        self.found: list[int] = []
        self._vectors, self._threshold = vectors, threshold
        self._chosen = list(chosen)
        self._compared = np.zeros(len(vectors), dtype=np.int64)  # with how many of the chosen frames

    def is_cleared(self, index: int) -> bool:
        """Whether this candidate was compared with all chosen frames."""
        return bool(self._compared[index] == len(self._chosen))

    def choose(self, index: int) -> None:
        self._chosen.append(index)
        self.batch = 1

    def find(self, candidates: Array, nearest: Array) -> Array:
        """Compare the candidates with the chosen frames; return, and add to `found`, those that resemble one.

        nearest: the chosen frame nearest in time to each candidate, which it resembles most often.
        """
        newer = self._chosen[int(self._compared[candidates].min()) :]
        self._compared[candidates] = len(self._chosen)
        rows = self._vectors.float32
        limit = self._threshold + self._vectors.float32_error + TIE_TOLERANCE
        duplicate = np.einsum("cd,cd->c", rows(candidates), rows(nearest)) > limit
        others = np.flatnonzero(~duplicate)
        if len(others):
            duplicate[others] = self._resembles(candidates[others], newer)
        duplicates: Array = candidates[duplicate]
        self.found += duplicates.tolist()
        self.batch = 1 if len(duplicates) < len(candidates) else min(4 * self.batch, MAX_BATCH)
        return duplicates

    def _resembles(self, candidates: Array, chosen: Sequence[int]) -> Array:
        """(C,) bool: whether the cosine with one of the chosen frames is above the threshold, decided in float64."""
        rows, error = self._vectors.float32, self._vectors.float32_error
        largest = small_products(rows(candidates), rows(np.array(chosen))).max(axis=1).astype(np.float64)
        undecided = np.flatnonzero(np.abs(largest - self._threshold) <= error + TIE_TOLERANCE)
        if len(undecided):
            exact = self._vectors.products(self._vectors.exact(np.array(chosen)), candidates[undecided])
            largest[undecided] = exact.max(axis=1)
        above: Array = largest > self._threshold + TIE_TOLERANCE
        return above
