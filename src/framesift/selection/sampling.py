"""Distributing a budget, filling a selection up, and seeded sampling without replacement."""

from collections.abc import Sequence

import numpy as np

from framesift.selection.scores import Ranking
from framesift.selection.validation import check_whole
from framesift.types.vectors import TIE_TOLERANCE, Array, merge_ties


def largest_remainder(shares: Array, size: int) -> list[int]:
    """Round `shares` (which sum to 1) of `size` to integers that sum to `size`; ties go to the earlier share."""
    exact = np.asarray(shares, dtype=np.float64) * size
    # The tolerance keeps an integer that was missed by rounding alone from being rounded down.
    counts = np.floor(exact + TIE_TOLERANCE).astype(int)
    order = np.argsort(-merge_ties(exact - counts), kind="stable")
    counts[order[: size - int(counts.sum())]] += 1
    rounded: list[int] = counts.tolist()
    return rounded


def fill_by_relevance(ranking: Ranking, selected: Sequence[int], size: int) -> list[int]:
    """Grow `selected` to `size` frames with the best-ranked of the others."""
    taken = set(selected)
    free = (index for index in ranking.order.tolist() if index not in taken)
    return [*selected, *(index for index, _ in zip(free, range(size - len(selected)), strict=False))]


def seeded_generator(seed: object) -> np.random.Generator:
    """The generator of a seed: a whole number, or a generator that is used as it is."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(check_whole("seed", seed))


def gumbel_noise(rng: np.random.Generator, count: int) -> Array:
    """(count,) standard Gumbel samples, from uniform ones: NumPy keeps those the same across versions."""
    # 1 − u lies in (0, 1]; the smallest positive float keeps the outer logarithm finite.
    noise: Array = -np.log(np.maximum(-np.log(1.0 - rng.random(count)), np.finfo(np.float64).tiny))
    return noise
