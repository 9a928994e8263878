"""Top-k: the most relevant frames, however alike."""

from framesift.records import Evidence, Selection
from framesift.select.cover import best_frames
from framesift.select.plain import selection_of
from framesift.select.ranking import Ranking
from framesift.select.registry import Selector


def topk(evidence: Evidence, budget: int) -> Selection:
    """The frames with the largest relevance; ties go to the earlier frame."""
    chosen = best_frames(Ranking(evidence.relevance), evidence.times_s, (), size=min(budget, len(evidence)))
    return selection_of(evidence, budget, "topk", chosen, "visual", {})


SELECTOR = Selector("topk", topk, "the most relevant frames, however alike", {})
