"""Logic-in-Frames: T*'s search, with a bonus for frames in which objects stand in the question's relations.

Guo et al., "Logic-in-Frames: Dynamic Keyframe Search via Visual Semantic-Logical Verification for Long Video
Understanding", NeurIPS 2025.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from framesift.selection.looking.object_search import Detections, ObjectSearch, SearchOptions, best_frames, spline_curve
from framesift.selection.result_builders import add_to_trace
from framesift.selection.selector import Selector
from framesift.selection.validation import check_number
from framesift.types import Evidence, Selection
from framesift.types.lookup import Box, Lookup, Relation
from framesift.types.vectors import Array

TEMPORAL_LIMIT_S = 5.0  # a temporal relation joins frames less than this far apart
OVERLAP = 0.5  # of the smaller box, above which two boxes are one thing and its attribute


def logic_in_frames(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    relation_weight: float = 0.3,
    relation_share: float = 0.5,
    grid: int = 4,
    share: float = 1.0,
    threshold: float = 0.7,
    seed: int = 0,
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
    weight = check_number("relation_weight", relation_weight, low=0)
    gain = weight * check_number("relation_share", relation_share, low=0)
    options = SearchOptions(grid, share, threshold, seed)
    relations = lookup.require("objects").relations
    bonus = RelationBonus(relations, evidence.times_s, gain) if weight > 0 else None
    search = ObjectSearch(evidence, lookup, options, curve=spline_curve, bonus=bonus)
    search.run()
    held = Counter(kind for _, kind, _ in (bonus.held if bonus else ()))
    return add_to_trace(search.selection(best_frames(search.scores, budget)), relations_held=dict(held))


class RelationBonus:
    """Adds `gain` to the frames of a grid for each pair of them in which a relation holds, once per relation.

    held: the relations that have held.
    """

    def __init__(self, relations: Sequence[Relation], times_s: Array, gain: float) -> None:
        self._open, self._times_s, self._gain = list(relations), times_s, gain
        self.held: list[Relation] = []

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def add(self, batch: Sequence[int], detections: Detections, scores: list[float]) -> list[float]:
        scores = list(scores)
        for relation in tuple(self._open):
            pairs = list(pairs_with_relation(relation, batch, detections, self._times_s))
            for pair in pairs:
                for position in pair:
                    scores[position] += self._gain
            if pairs:
                self._open.remove(relation)
                self.held.append(relation)
        return scores


def pairs_with_relation(
    relation: Relation, batch: Sequence[int], detections: Detections, times_s: Array
) -> Iterator[tuple[int, ...]]:
    """Yield the positions in the batch that gain: one for a relation within a frame, two for one between frames."""
    first, kind, second = relation
    with_first, with_second = (
        [k for k, index in enumerate(batch) if any(box.phrase == phrase for box in detections[index])]
        for phrase in (first, second)
    )
    if kind in ("spatial", "attribute"):
        for k in with_first:
            if k in with_second and (kind == "spatial" or _overlap(detections[batch[k]], first, second)):
                yield (k,)
        return
    for i in with_first:
        for j in with_second:
            step_s = times_s[batch[j]] - times_s[batch[i]]
            if j >= i and (abs(step_s) < TEMPORAL_LIMIT_S if kind == "temporal" else step_s > 0):
                yield i, j


def _overlap(boxes: Sequence[Box], first: str, second: str) -> bool:
    """Whether the last boxes of two phrases overlap; a pixel counts as 1, as in the original."""
    a, b = ([box for box in boxes if box.phrase == phrase][-1] for phrase in (first, second))
    width = max(0.0, min(a.right, b.right) - max(a.left, b.left) + 1)
    height = max(0.0, min(a.bottom, b.bottom) - max(a.top, b.top) + 1)
    areas = [(box.right - box.left + 1) * (box.bottom - box.top + 1) for box in (a, b)]
    return width * height / min(areas) > OVERLAP


SELECTOR = Selector.of(
    "logic-in-frames",
    logic_in_frames,
    "search for objects in the relations the question asks about",
    paper="Guo et al., NeurIPS 2025",
    parts=("detector",),
    needs=("pictures", "detector", "objects", "peers"),
)
