"""Top-k: the most relevant frames, however similar."""

from framesift.selection.gcr.cover import top_frames
from framesift.selection.result_builders import build_selection
from framesift.selection.scores import Ranking
from framesift.selection.selector import Selector
from framesift.types import Evidence, Selection


def topk(evidence: Evidence, budget: int) -> Selection:
    """Select the frames with the largest relevance; ties go to the earlier frame."""
    indices = top_frames(Ranking(evidence.relevance), evidence.times_s, (), size=min(budget, len(evidence)))
    return build_selection(evidence, indices)


SELECTOR = Selector("topk", topk, "the most relevant frames, however similar", {})
