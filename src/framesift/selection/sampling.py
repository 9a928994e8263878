"""Small steps that several selectors share: spreading a budget, filling what is short, drawing by a seed."""

from collections.abc import Collection, Sequence

import numpy as np

from framesift.selection.ranking import Ranking
from framesift.types.vectors import TIE, Array, settle


def softmax(values: Array, temperature: float = 1.0) -> Array:
    scaled = np.asarray(values, dtype=np.float64) / temperature
    powers = np.exp(scaled - scaled.max())
    out: Array = powers / powers.sum()
    return out


def largest_remainder(shares: Array, size: int) -> list[int]:
    """Whole numbers that sum to `size` in the given shares (which sum to 1); ties go to the earlier."""
    exact = np.asarray(shares, dtype=np.float64) * size
    # A share that is a whole number but for rounding counts as one.
    whole = np.floor(exact + TIE).astype(int)
    order = np.argsort(-settle(exact - whole), kind="stable")
    whole[order[: size - int(whole.sum())]] += 1
    counts: list[int] = whole.tolist()
    return counts


def next_best(ranking: Ranking, chosen: Sequence[int], size: int) -> list[int]:
    """`chosen`, then the best frames not among them until there are `size`."""
    taken: Collection[int] = set(chosen)
    free = (index for index in ranking.order.tolist() if index not in taken)
    return [*chosen, *(index for index, _ in zip(free, range(size - len(chosen)), strict=False))]


def gumbel(rng: np.random.Generator, count: int) -> Array:
    """(count,) standard Gumbel numbers, from uniform ones: numpy keeps those the same from version to version."""
    # 1 − u lies in (0, 1], and the smallest number above 0 keeps the inner logarithm from being 0.
    spread: Array = -np.log(np.maximum(-np.log(1.0 - rng.random(count)), np.finfo(np.float64).tiny))
    return spread


def draw(rng: np.random.Generator, weights: Array, size: int) -> list[int]:
    """`size` distinct indices, each next one with a chance in proportion to its weight; zeros come last.

    The largest of log weight + Gumbel noise are such a draw (Yellott, 1977).
    """
    with np.errstate(divide="ignore"):
        keys = np.log(np.asarray(weights, dtype=np.float64)) + gumbel(rng, len(weights))
    if size == len(keys):
        leading = np.arange(size)
    else:  # only the leading keys need an order; those equal to the last of them come along
        leading = np.flatnonzero(keys >= np.partition(keys, len(keys) - size)[len(keys) - size])
    order: list[int] = leading[np.argsort(-keys[leading], kind="stable")][:size].tolist()
    return order
