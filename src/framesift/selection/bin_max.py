"""Bin-max: the most relevant frame of each of B equal segments.

TSPO's selection rule for Video-MME without its trained scores: Tang et al., "TSPO: Temporal Sampling Policy
Optimization for Long-form Video Language Understanding", AAAI 2026.
"""

import numpy as np

from framesift.selection.result_builders import build_selection
from framesift.selection.scores import Ranking
from framesift.selection.selector import Selector
from framesift.types import Evidence, Selection


def bin_max(evidence: Evidence, budget: int) -> Selection:
    """Select the best frame of each bin; bin k holds the candidates from k·N // B up to (k + 1)·N // B.

    Input: relevance. Cost: O(N log N).

    Differs: the scores are plain relevance, because the trained ones need TSPO's weights (see `tspo`).
    """
    indices = best_of_bins(Ranking(evidence.relevance), min(budget, len(evidence)))
    return build_selection(evidence, budget, "bin-max", indices, "visual", {})


def best_of_bins(ranking: Ranking, size: int) -> list[int]:
    """The best index of each of `size` ≤ N bins of consecutive frames, ascending."""
    edges = np.arange(size + 1) * len(ranking.scores) // size
    best: list[int] = ranking.best_in_ranges(edges[:-1], edges[1:]).tolist()
    return best


SELECTOR = Selector.of(
    "bin-max", bin_max, "the most relevant frame of each of B equal segments", paper="Tang et al., AAAI 2026"
)
