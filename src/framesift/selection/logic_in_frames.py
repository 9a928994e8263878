"""Logic-in-Frames: T*'s search, with a bonus where objects stand in the relations the question asks about.

Guo et al., "Logic-in-Frames: Dynamic Keyframe Search via Visual Semantic-Logical Verification for Long Video
Understanding", 2025.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from framesift.selection.frame_access import Look
from framesift.selection.grids import check_detector, check_objects, detector_name
from framesift.selection.object_search import Found, Search
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_trace
from framesift.selection.validation import check_number, check_whole
from framesift.types import Evidence, Selection
from framesift.types.frame_source import Box, Detector, Relation
from framesift.types.vectors import Array

WITHIN_S = 5.0  # a temporal relation joins frames at most this far apart


def logic_in_frames(
    evidence: Evidence,
    budget: int,
    *,
    detector: Detector | None = None,
    relation_weight: float = 0.8,
    relation_share: float = 0.5,
    grid: int = 8,
    seed: int = 0,
) -> Selection:
    """T*'s loop; a frame in which a relation of the question holds gains relation_weight × relation_share (0.4).

    Input: pictures, a detector, `evidence.objects` with its relations. Cost: as `t-star`.
    spatial: both objects in one frame. attribute: both in one frame, the centre of one inside the other. temporal: the
    first object in a frame, the second in one up to 5 s later; both frames gain. causal: the same at any later time.
    A frame gains once for each relation. grid, seed, detector: as `t-star`.

    Differs: as `t-star` does; relations are told from boxes alone, because nothing else of the frames is known here.
    """
    gain = check_number("relation_weight", relation_weight, low=0) * check_number(
        "relation_share", relation_share, low=0
    )
    grid, seed = check_whole("grid", grid, low=1), check_whole("seed", seed)
    eye, objects = check_detector("logic-in-frames", detector), check_objects("logic-in-frames", evidence)
    look = Look(evidence)
    bonus = partial(relation_bonus, relations=objects.relations, times_s=evidence.times_s, gain=gain)
    search = Search(look, len(evidence), side=grid, seed=seed, bonus=bonus)
    search.run(eye, objects, budget=budget)
    chosen = search.draw(min(budget, len(evidence)))
    options = {"detector": detector_name(eye), "relation_weight": relation_weight, "relation_share": relation_share}
    options |= {"grid": grid, "seed": seed}
    selection = selection_of(evidence, budget, "logic-in-frames", chosen, "visual", options, look=look)
    held = {kind: 0 for _, kind, _ in objects.relations}
    for relation in objects.relations:
        held[relation[1]] += len(frames_of(relation, search.found, evidence.times_s))
    return with_trace(selection, objects=list(objects.phrases), relations_held=held)


def relation_bonus(found: Found, *, relations: Sequence[Relation], times_s: Array, gain: float) -> Mapping[int, float]:
    """Frame index → what it gains: `gain` for every relation it takes part in."""
    bonus: dict[int, float] = defaultdict(float)
    for relation in relations:
        for index in frames_of(relation, found, times_s):
            bonus[index] += gain
    return bonus


def frames_of(relation: Relation, found: Found, times_s: Array) -> set[int]:
    """The frames looked at in which, or between which, a relation holds."""
    first, kind, second = relation
    having = {
        phrase: sorted(i for i, boxes in found.items() if any(box.phrase == phrase for box in boxes))
        for phrase in (first, second)
    }
    together = set(having[first]) & set(having[second])
    if kind == "spatial":
        return together
    if kind == "attribute":
        return {index for index in together if _overlaps(found[index], first, second)}
    most_s = WITHIN_S if kind == "temporal" else float("inf")
    pairs = [(a, b) for a in having[first] for b in having[second] if 0 < times_s[b] - times_s[a] <= most_s]
    return {index for pair in pairs for index in pair}


def _overlaps(boxes: Sequence[Box], first: str, second: str) -> bool:
    return any(_holds(a, b) or _holds(b, a) for a in boxes if a.phrase == first for b in boxes if b.phrase == second)


def _holds(outer: Box, inner: Box) -> bool:
    x, y = (inner.left + inner.right) / 2, (inner.top + inner.bottom) / 2
    return outer.left <= x <= outer.right and outer.top <= y <= outer.bottom


SELECTOR = Selector.of(
    "logic-in-frames",
    logic_in_frames,
    "search for objects in the relations the question asks about",
    paper="Guo et al., 2025",
    needs=("pictures", "detector", "objects", "peers"),
)
