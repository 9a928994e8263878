"""BOLT: frames at even steps of accumulated relevance.

Liu et al., "BOLT: Boost Large Vision-Language Model Without Training for Long-form Video Understanding", CVPR 2025.
"""

import numpy as np

from framesift.selection.gcr.ground import min_max
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of
from framesift.selection.uniform import evenly_spaced
from framesift.selection.validation import check_positive
from framesift.types import Evidence, Selection
from framesift.types.vectors import TIE, Array


def bolt(evidence: Evidence, budget: int, *, alpha: float = 3.0) -> Selection:
    """Inverse transform sampling: B even quantiles through the cumulated, sharpened relevance.

    Input: relevance, min–max normalised and raised to `alpha` (3 for Video-MME, 2.5 for LongVideoBench in the paper).
    The quantiles are linspace(1/B, 1 − 1/B, B). Cost: O(N + B log N).

    Differs: a frame hit twice gives way to the nearest free one (the earlier of two), constant scores give uniform
    frames, and a budget of one takes the median, because the original repeats frames, divides by 0 and takes the end.
    """
    alpha = check_positive("alpha", alpha)
    size = min(budget, len(evidence))
    weights = min_max(evidence.relevance) ** alpha
    if size == len(evidence) or not weights.any():
        chosen = evenly_spaced(len(evidence), size).tolist()
    else:
        chosen = keep_apart(by_quantiles(weights, size), len(weights))
    return selection_of(evidence, budget, "bolt", chosen, "visual", {"alpha": alpha})


def by_quantiles(weights: Array, size: int) -> list[int]:
    """For each quantile the first index at which the cumulated weights reach it; an index may come twice."""
    reached = np.cumsum(weights)
    wanted = np.linspace(1 / size, 1 - 1 / size, size) if size > 1 else np.array([0.5])
    # A sum that misses a quantile by rounding alone has reached it.
    places = np.searchsorted(reached / reached[-1], wanted - TIE)
    indices: list[int] = np.minimum(places, len(weights) - 1).tolist()
    return indices


def keep_apart(wanted: list[int], count: int) -> list[int]:
    """Each wanted index, or the nearest one of 0 … count − 1 that is still free, the earlier of two."""
    taken: set[int] = set()
    chosen = []
    for index in wanted:
        step = 0
        while True:
            near = [i for i in (index - step, index + step) if 0 <= i < count and i not in taken]
            if near:
                break
            step += 1
        taken.add(near[0])
        chosen.append(near[0])
    return chosen


SELECTOR = Selector.of("bolt", bolt, "even steps of accumulated relevance", paper="Liu et al., CVPR 2025")
