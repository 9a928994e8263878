"""Bin-max: the most relevant frame of each of B bins around evenly spaced frames.

TSPO's selection rule for Video-MME without its trained scores: Tang et al., "TSPO: Temporal Sampling Policy
Optimization for Long-form Video Language Understanding", AAAI 2026.
"""

import numpy as np

from framesift.selection.result_builders import build_selection
from framesift.selection.scores import Ranking
from framesift.selection.selector import Selector
from framesift.types import Evidence, Selection


def bin_max(evidence: Evidence, budget: int) -> Selection:
    """Select the best frame of each bin; a bin is the frames nearest to one of B evenly spaced ones, ends included.

    Input: relevance. Cost: O(N log N). The spaced frames are those of linspace(0, N − 1, B), rounded half to even; a
    frame halfway between two belongs to the earlier.

    Differs: the scores are plain relevance, because the trained ones need TSPO's weights (see `tspo`).
    """
    return build_selection(evidence, best_of_bins(Ranking(evidence.relevance), min(budget, len(evidence))))


def best_of_bins(ranking: Ranking, size: int) -> list[int]:
    """The best index of each of `size` ≤ N bins, ascending."""
    count = len(ranking.scores)
    centres = np.rint(np.arange(size) * ((count - 1) / max(size - 1, 1))).astype(int)
    starts = np.concatenate(([0], (centres[:-1] + centres[1:]) // 2 + 1))
    best: list[int] = ranking.best_in_ranges(starts, np.append(starts[1:], count)).tolist()
    return best


SELECTOR = Selector.of(
    "bin-max", bin_max, "the most relevant frame of each of B even bins", paper="Tang et al., AAAI 2026"
)
