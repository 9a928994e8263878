"""Logic-in-Frames: T*'s search, with a bonus for frames in which objects stand in the question's relations.

Guo et al., "Logic-in-Frames: Dynamic Keyframe Search via Visual Semantic-Logical Verification for Long Video
Understanding", NeurIPS 2025.
"""

from collections import Counter

from framesift.selection.looking.object_search import ObjectSearch, RelationBonus, best_frames, spline_curve
from framesift.selection.selector import Amount, Count, Positive, Whole, selector
from framesift.types import Evidence, Lookup, Selection


@selector(
    "search for objects in the relations the question asks about",
    paper="Guo et al., NeurIPS 2025",
    parts=("detector",),
    needs=("frames", "detector", "objects", "peers"),
)
def logic_in_frames(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    relation_weight: Amount = 0.3,
    relation_share: Amount = 0.5,
    grid: Count = 4,
    share: Positive = 1.0,
    threshold: Amount = 0.7,
    seed: Whole = 0,
) -> Selection:
    """T*'s loop with relation_weight × relation_share for frames in which a relation holds; the best are selected.

    Input: decoded frames, a detector, `Lookup.objects` with their relations. Cost: as `t-star`; the search also goes on
    until every relation has held. Only the frames of one grid are compared, and a relation that held in a grid gives
    nothing in later ones. spatial: both objects in one frame. attribute: both in one frame, their boxes overlapping by
    more than half of the smaller. temporal: the first object in a frame and the second in the same or a later cell,
    less than 5 s apart in either direction. causal: the same with the second object's frame at any later time. Each
    pair of frames that holds gains, both frames of it. grid, share, threshold, seed, detector: as `t-star`.

    Differs: equal scores rank by index; objects that only a relation names are detected too; fewer frames than a grid
    has cells are no error. The defaults are those of its command line.
    """
    relations = lookup.require("objects").relations
    bonus = RelationBonus(relations if relation_weight > 0 else (), evidence.times_s, relation_weight * relation_share)
    search = ObjectSearch(evidence, lookup, grid, seed, curve=spline_curve, bonus=bonus)
    search.run(share, threshold)
    held = Counter(kind for _, kind, _ in bonus.held)
    return search.selection(best_frames(search.scores, budget)).with_trace(relations_held=dict(held))
