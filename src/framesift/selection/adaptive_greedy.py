"""Adaptive greedy: relevance plus facility location, frame by frame.

Huang and Zhu, "Adaptive Greedy Frame Selection for Long Video Understanding", 2026 (arXiv 2603.20180).
"""

import numpy as np

from framesift.selection.baselines import evenly_spaced
from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import Count, Share, selector
from framesift.types import Evidence, Selection
from framesift.types.vectors import TIE_TOLERANCE, Array

POOL = 1000


@selector("relevance plus facility location, greedily", paper="Huang and Zhu, 2026", needs=("vectors",))
def adaptive_greedy(evidence: Evidence, budget: int, *, weight: Share = 0.5, pool: Count = POOL) -> Selection:
    """Greedily maximise weight × mean relevance of the frames + (1 − weight) × how well they represent the video.

    Input: frame vectors. Cost: O(pool²·D + B·pool²). Relevance is min–max normalised and divided by the budget;
    representation is the mean over all frames of the largest cosine with a selected frame, at least 0. Both lie in
    [0, 1], so that the sum is monotone and submodular. weight: 1 is top-k, 0 coverage alone; the paper chooses among
    four weights by the type of the question. pool: at most this many evenly spaced frames are considered.

    Differs: the paper has no public code and takes the cosines from DINOv2; here they are the index's own. Ties go to
    the earlier frame.
    """
    among = evenly_spaced(len(evidence), pool, "ends")
    relevance = min_max(evidence.relevance)[among] / budget
    rows = np.asarray(evidence.vectors.rows, dtype=np.float64)[among]
    similarity = np.maximum(rows @ rows.T, 0.0)
    indices = among[greedy(relevance, similarity, min(budget, len(among)), weight=weight)].tolist()
    return Selection.of(evidence, Ranking(evidence.relevance).fill(indices, budget))


def greedy(relevance: Array, similarity: Array, size: int, *, weight: float) -> list[int]:
    """Positions in the order of their marginal gain. relevance (P,), similarity (P, P) of at least 0."""
    covered = np.zeros(len(relevance))
    is_free = np.ones(len(relevance), dtype=bool)
    chosen = []
    for _ in range(size):
        coverage = np.maximum(similarity - covered[:, None], 0.0).mean(axis=0)
        gains = np.where(is_free, weight * relevance + (1 - weight) * coverage, -np.inf)
        best = int(np.flatnonzero(gains >= gains.max() - TIE_TOLERANCE)[0])
        chosen.append(best)
        is_free[best] = False
        covered = np.maximum(covered, similarity[:, best])
    return chosen
