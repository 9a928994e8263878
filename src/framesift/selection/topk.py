"""Top-k: the most relevant frames, however alike."""

from framesift.selection.gcr.cover import best_frames
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of
from framesift.types import Evidence, Selection


def topk(evidence: Evidence, budget: int) -> Selection:
    """The frames with the largest relevance; ties go to the earlier frame."""
    chosen = best_frames(Ranking(evidence.relevance), evidence.times_s, (), size=min(budget, len(evidence)))
    return selection_of(evidence, budget, "topk", chosen, "visual", {})


SELECTOR = Selector("topk", topk, "the most relevant frames, however alike", {})
