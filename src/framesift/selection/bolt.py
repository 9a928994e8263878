"""BOLT: frames at equal steps of cumulative relevance.

Liu et al., "BOLT: Boost Large Vision-Language Model Without Training for Long-form Video Understanding", CVPR 2025.
"""

import numpy as np

from framesift.selection.baselines import evenly_spaced
from framesift.selection.selector import Positive, selector
from framesift.types import Array, Evidence, Selection
from framesift.types.vectors import TIE_TOLERANCE


@selector("equal steps of cumulative relevance", paper="Liu et al., CVPR 2025")
def bolt(evidence: Evidence, budget: int, *, alpha: Positive = 3.0) -> Selection:
    """Inverse transform sampling: B evenly spaced quantiles of the cumulative, sharpened relevance.

    Input: relevance, min–max normalised and raised to `alpha` (3 for Video-MME, 2.5 for LongVideoBench in the paper).
    The quantiles are linspace(1/B, 1 − 1/B, B). Cost: O(N + B log N).

    Differs: a frame hit twice is replaced by the nearest free one (the earlier of two), constant scores give uniform
    frames, and a budget of 1 takes the median, because the original repeats frames, divides by 0 and takes the end.
    """
    size = min(budget, len(evidence))
    above_minimum = evidence.relevance - evidence.relevance.min()
    peak = above_minimum.max()
    if size == len(evidence) or peak <= TIE_TOLERANCE:
        indices = evenly_spaced(len(evidence), size).tolist()
    else:
        indices = nearest_free(quantile_indices((above_minimum / peak) ** alpha, size), len(evidence))
    return Selection.of(evidence, indices)


def quantile_indices(weights: Array, size: int) -> list[int]:
    """For each quantile the first index at which the cumulative weights reach it; an index may occur twice."""
    # Normalising before summing decides which frame a quantile reaches that equals a sum but for its rounding.
    cumulative = np.cumsum(weights / weights.sum())
    quantiles = np.linspace(1 / size, 1 - 1 / size, size) if size > 1 else np.array([0.5])
    return list(np.searchsorted(cumulative, quantiles))


def nearest_free(wanted: list[int], count: int) -> list[int]:
    """Each wanted index, or the nearest one of 0 … count − 1 that is still free, the earlier of two."""
    taken: dict[int, None] = {}
    for index in wanted:
        near = (i for step in range(count) for i in (index - step, index + step))
        taken[next(i for i in near if 0 <= i < count and i not in taken)] = None
    return list(taken)
