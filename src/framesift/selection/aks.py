"""AKS: split the video where no frames stand out, take the best of each part.

Tang et al., "Adaptive Keyframe Sampling for Long Video Understanding", CVPR 2025.
"""

from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import Finite, Whole, selector
from framesift.types import Array, CandidateIndex, Evidence, Selection
from framesift.types.vectors import TIE_TOLERANCE


@selector("halve the video until frames stand out, take the best of each part", paper="Tang et al., CVPR 2025")
def aks(evidence: Evidence, budget: int, *, t1: Finite = 0.8, t2: Finite = -100.0, depth: Whole = 5) -> Selection:
    """Halve the video until a part's best frames stand out, then take each part's share of the budget from its best.

    Input: relevance, min–max normalised. Cost: a partition per part, O(N · depth).
    t1: a part is not split further when the mean of its B largest scores exceeds its mean by more than this; t2: and
    its standard deviation exceeds this; depth: the largest number of halvings. A part at depth d gives its int(B / 2^d)
    best frames.

    Differs: the depth is at most floor(log2 B), and missing frames come from the next best scores, because the
    original gives a part of B < 32 no frame at all and its evaluation then falls back to uniform.
    """
    ranking = Ranking(evidence.relevance)
    if len(evidence) <= budget:
        parts, indices = [(0, len(evidence), 0)], list(range(len(evidence)))
    else:
        parts = split(min_max(evidence.relevance), budget, t1=t1, t2=t2, max_depth=min(depth, budget.bit_length() - 1))
        indices = []
        for start, stop, level in parts:
            indices += (start + ranking.rank[start:stop].argsort()[: budget >> level]).tolist()
        indices = ranking.fill(indices, budget)
    rows = [
        {"first": CandidateIndex(a), "last": CandidateIndex(b - 1), "depth": level} for a, b, level in parts if b > a
    ]
    return Selection.of(evidence, indices, parts=rows)


def split(scores: Array, budget: int, *, t1: float, t2: float, max_depth: int) -> list[tuple[int, int, int]]:
    """The final parts as (start, stop, depth), in order of time. scores (N,) from 0 to 1."""
    parts = []
    pending = [(0, len(scores), 0)]
    while pending:
        start, stop, level = pending.pop()
        if level == max_depth or stop == start or _stands_out(scores[start:stop], budget, t1, t2):
            parts.append((start, stop, level))
            continue
        middle = start + (stop - start) // 2
        pending += [(middle, stop, level + 1), (start, middle, level + 1)]
    return parts


def _stands_out(part: Array, budget: int, t1: float, t2: float) -> bool:
    place = max(len(part) - budget, 0)
    best = part if place == 0 else part[part.argpartition(place)[place:]]
    return bool(best.mean() - part.mean() > t1 + TIE_TOLERANCE and part.std() > t2 + TIE_TOLERANCE)
