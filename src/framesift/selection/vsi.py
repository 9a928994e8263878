"""VSI: T*'s search for objects, guided by the subtitles.

He et al., "VSI: Visual-Subtitle Integration for Keyframe Selection to Enhance Long Video Understanding", CVPR 2026
Findings.
"""

import numpy as np

from framesift.selection.frame_access import FrameAccess
from framesift.selection.grids import detector_name, require_detector, require_objects
from framesift.selection.object_search import ObjectSearch
from framesift.selection.result_builders import add_to_trace, attach_events, build_selection
from framesift.selection.scores import min_max
from framesift.selection.selector import Selector
from framesift.selection.validation import check_number, check_whole
from framesift.selection.vsi_lite import events_of_frames, score_by_subtitles
from framesift.types import Evidence, Selection
from framesift.types.frame_source import Detector
from framesift.types.vectors import TIE_TOLERANCE, Array


def vsi(
    evidence: Evidence,
    budget: int,
    *,
    detector: Detector | None = None,
    weight: float = 0.4,
    reach_s: float = 2.0,
    grid: int = 4,
    seed: int = 0,
) -> Selection:
    """T*'s loop on 4 × 4 grids, sampling by (1 − weight)·objects + weight·subtitles, each min–max normalised.

    Input: decoded frames, objects, a detector, and events with their relevance (the paper's is a sentence encoder's:
    `event_encoder="minilm"`). Cost: as `t-star`. weight: of the subtitles. reach_s: seconds around an event that it
    scores, see `vsi_lite.score_by_subtitles`. A frame within an event's reach carries the event. grid, seed and
    detector: as `t-star`.

    Differs: as `t-star`, because it is the same loop.
    """
    weight, reach_s = check_number("weight", weight, low=0, high=1), check_number("reach_s", reach_s, low=0)
    grid, seed = check_whole("grid", grid, low=1), check_whole("seed", seed)
    detector, objects = require_detector("vsi", detector), require_objects("vsi", evidence)
    subtitle_scores, event_of = score_by_subtitles(evidence, reach_s=reach_s)
    weighted_subtitles = weight * min_max(subtitle_scores)

    def fuse(object_scores: Array) -> Array:
        low, high = float(object_scores.min()), float(object_scores.max())
        # min_max without merging ties: they do not matter to a random sample, and this runs once per grid.
        span = high - low
        scaled = (object_scores - low) / span if span > TIE_TOLERANCE else np.zeros(len(object_scores))
        return (1 - weight) * scaled + weighted_subtitles

    access = FrameAccess(evidence)
    search = ObjectSearch(access, len(evidence), side=grid, seed=seed, fuse=fuse)
    search.run(detector, objects, budget=budget)
    indices = search.sample(min(budget, len(evidence)))
    options = {"detector": detector_name(detector), "weight": weight, "reach_s": reach_s, "grid": grid, "seed": seed}
    selection = build_selection(evidence, budget, "vsi", indices, "visual", options, access=access)
    selection = attach_events(selection, events_of_frames(evidence, event_of, indices))
    return add_to_trace(selection, objects=list(objects.phrases), found=sum(map(bool, search.detections.values())))


SELECTOR = Selector.of(
    "vsi",
    vsi,
    "search for objects, guided by the subtitles",
    paper="He et al., CVPR 2026 Findings",
    needs=("pictures", "detector", "objects", "events", "peers"),
)
