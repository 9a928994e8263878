"""The baselines: evenly spaced frames, the most relevant ones, MMR, and the best of even bins."""

from functools import partial
from typing import Annotated

import numpy as np

from framesift.selection.gcr.cover import fill_by_mmr
from framesift.selection.scores import Ranking
from framesift.selection.selector import Share, check_choice, selector
from framesift.types import Array, Evidence, Selection
from framesift.types.vectors import merge_ties

CONVENTIONS = ("centres", "ends", "interior")


@selector("evenly spaced frames, independent of the question")
def uniform(
    evidence: Evidence,
    budget: int,
    *,
    convention: Annotated[str, partial(check_choice, choices=CONVENTIONS)] = "centres",
) -> Selection:
    """Select evenly spaced frames, by each of the common conventions.

    convention: "centres", the middle of each of B equal bins; "ends", first and last frame included (lmms-eval's
    linspace); "interior", the inner points of B + 1 equal steps (VLMEvalKit).
    """
    return Selection.of(evidence, evenly_spaced(len(evidence), budget, convention), "context", looked_at=0)


def evenly_spaced(count: int, size: int, convention: str = "centres") -> Array:
    """`size` distinct indices out of `count`, ascending; all of them where there are no more."""
    size = min(size, count)
    place = np.arange(size)
    if size == count:
        return place
    if convention == "ends":
        return np.linspace(0, count - 1, size).astype(int)
    if convention == "interior":
        return (place + 1) * count // (size + 1)
    return (2 * place + 1) * count // (2 * size)


@selector("the most relevant frames, however similar")
def topk(evidence: Evidence, budget: int) -> Selection:
    """Select the frames with the largest relevance; ties go to the earlier frame."""
    return Selection.of(evidence, Ranking(evidence.relevance).order[:budget])


@selector("relevant and mutually dissimilar frames", paper="Carbonell and Goldstein, SIGIR 1998", needs=("vectors",))
def mmr(evidence: Evidence, budget: int, *, weight: Share = 0.5) -> Selection:
    """Select by greedy maximal marginal relevance (Carbonell and Goldstein, 1998) from an empty set.

    weight: of relevance against redundancy, from 0 to 1.
    """
    size = min(budget, len(evidence))
    filled = fill_by_mmr(merge_ties(evidence.relevance), evidence.vectors, (), size=size, weight=weight)
    return Selection.of(evidence, filled.selected, "context")


@selector("the most relevant frame of each of B even bins", paper="Tang et al., AAAI 2026")
def bin_max(evidence: Evidence, budget: int) -> Selection:
    """Select the best frame of each bin; a bin is the frames nearest to one of B evenly spaced ones, ends included.

    TSPO's selection rule for Video-MME without its trained scores: Tang et al., "TSPO: Temporal Sampling Policy
    Optimization for Long-form Video Language Understanding", AAAI 2026.

    Input: relevance. Cost: O(N log N). The spaced frames are those of linspace(0, N − 1, B), rounded half to even; a
    frame halfway between two belongs to the earlier.

    Differs: the scores are plain relevance, because the trained ones need TSPO's weights (see `tspo`).
    """
    return Selection.of(evidence, best_of_bins(Ranking(evidence.relevance), budget))


def best_of_bins(ranking: Ranking, size: int) -> Array:
    """The best index of each of `size` bins, ascending; all indices where there are no more."""
    count = len(ranking.scores)
    size = min(size, count)
    centres = np.rint(np.arange(size) * ((count - 1) / max(size - 1, 1))).astype(int)
    starts = np.concatenate(([0], (centres[:-1] + centres[1:]) // 2 + 1))
    return ranking.best_in_ranges(starts, np.append(starts[1:], count))
