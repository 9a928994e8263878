"""Logic-in-Frames: T*'s search, with a bonus for frames in which objects stand in the question's relations.

Guo et al., "Logic-in-Frames: Dynamic Keyframe Search via Visual Semantic-Logical Verification for Long Video
Understanding", 2025.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from framesift.selection.frame_access import FrameAccess
from framesift.selection.grids import detector_name, require_detector, require_objects
from framesift.selection.object_search import Detections, ObjectSearch
from framesift.selection.result_builders import add_to_trace, build_selection
from framesift.selection.selector import Selector
from framesift.selection.validation import check_number, check_whole
from framesift.types import Evidence, Selection
from framesift.types.frame_source import Box, Detector, Relation
from framesift.types.vectors import Array

TEMPORAL_LIMIT_S = 5.0  # a temporal relation joins frames at most this far apart


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

    Input: decoded frames, a detector, `evidence.objects` with its relations. Cost: as `t-star`.
    spatial: both objects in one frame. attribute: both in one frame, the centre of one inside the other. temporal: the
    first object in a frame, the second in one up to 5 s later; both frames gain. causal: the same at any later time.
    A frame gains once for each relation. grid, seed, detector: as `t-star`.

    Differs: as `t-star`; relations are derived from boxes alone, because a detector gives nothing else.
    """
    weight = check_number("relation_weight", relation_weight, low=0)
    gain = weight * check_number("relation_share", relation_share, low=0)
    grid, seed = check_whole("grid", grid, low=1), check_whole("seed", seed)
    detector, objects = require_detector("logic-in-frames", detector), require_objects("logic-in-frames", evidence)
    access = FrameAccess(evidence)
    bonus = partial(relation_bonus, relations=objects.relations, times_s=evidence.times_s, gain=gain)
    search = ObjectSearch(access, len(evidence), side=grid, seed=seed, bonus=bonus)
    search.run(detector, objects, budget=budget)
    indices = search.sample(min(budget, len(evidence)))
    options = {
        "detector": detector_name(detector),
        "relation_weight": relation_weight,
        "relation_share": relation_share,
        "grid": grid,
        "seed": seed,
    }
    selection = build_selection(evidence, budget, "logic-in-frames", indices, "visual", options, access=access)
    frames_per_kind = {kind: 0 for _, kind, _ in objects.relations}
    for relation in objects.relations:
        frames_per_kind[relation[1]] += len(frames_with_relation(relation, search.detections, evidence.times_s))
    return add_to_trace(selection, objects=list(objects.phrases), relations_held=frames_per_kind)


def relation_bonus(
    detections: Detections, *, relations: Sequence[Relation], times_s: Array, gain: float
) -> Mapping[int, float]:
    """Frame index → its bonus: `gain` for every relation it takes part in."""
    bonus: dict[int, float] = defaultdict(float)
    for relation in relations:
        for index in frames_with_relation(relation, detections, times_s):
            bonus[index] += gain
    return bonus


def frames_with_relation(relation: Relation, detections: Detections, times_s: Array) -> set[int]:
    """The searched frames in which, or between which, a relation holds."""
    first, kind, second = relation
    frames = {
        phrase: sorted(i for i, boxes in detections.items() if any(box.phrase == phrase for box in boxes))
        for phrase in (first, second)
    }
    with_both = set(frames[first]) & set(frames[second])
    if kind == "spatial":
        return with_both
    if kind == "attribute":
        return {index for index in with_both if _overlap(detections[index], first, second)}
    limit_s = TEMPORAL_LIMIT_S if kind == "temporal" else float("inf")
    pairs = [(a, b) for a in frames[first] for b in frames[second] if 0 < times_s[b] - times_s[a] <= limit_s]
    return {index for pair in pairs for index in pair}


def _overlap(boxes: Sequence[Box], first: str, second: str) -> bool:
    """Whether a box of one phrase contains the centre of a box of the other."""
    return any(
        _contains_centre(a, b) or _contains_centre(b, a)
        for a in boxes
        if a.phrase == first
        for b in boxes
        if b.phrase == second
    )


def _contains_centre(outer: Box, inner: Box) -> bool:
    x, y = (inner.left + inner.right) / 2, (inner.top + inner.bottom) / 2
    return outer.left <= x <= outer.right and outer.top <= y <= outer.bottom


SELECTOR = Selector.of(
    "logic-in-frames",
    logic_in_frames,
    "search for objects in the relations the question asks about",
    paper="Guo et al., 2025",
    needs=("pictures", "detector", "objects", "peers"),
)
