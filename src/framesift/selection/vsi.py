"""VSI: T*'s search for objects, led by what the subtitles say.

He et al., "VSI: Visual-Subtitle Integration for Keyframe Selection to Enhance Long Video Understanding", CVPR 2026
Findings.
"""

import numpy as np

from framesift.selection.frame_access import Look
from framesift.selection.gcr.ground import min_max
from framesift.selection.grids import check_detector, check_objects, detector_name
from framesift.selection.object_search import Search
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_events, with_trace
from framesift.selection.validation import check_number, check_whole
from framesift.selection.vsi_lite import lines_of, subtitle_scores
from framesift.types import Evidence, Selection
from framesift.types.frame_source import Detector
from framesift.types.vectors import TIE, Array


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
    """T*'s loop on 4 × 4 grids; what is likely next is (1 − weight)·seen + weight·said, each min–max normalised.

    Input: pictures, objects, a detector, and events with their relevance (the paper's is a sentence encoder's:
    `event_encoder="minilm"`). Cost: as `t-star`. weight: of the subtitles. reach_s: seconds around a line that it
    speaks for; `vsi_lite.subtitle_scores` tells how. A frame inside a line's reach carries the line. grid, seed and
    detector: as `t-star`.

    Differs: as `t-star` does, because it is the same loop.
    """
    weight, reach_s = check_number("weight", weight, low=0, high=1), check_number("reach_s", reach_s, low=0)
    grid, seed = check_whole("grid", grid, low=1), check_whole("seed", seed)
    eye, objects = check_detector("vsi", detector), check_objects("vsi", evidence)
    said, line = subtitle_scores(evidence, reach_s=reach_s)
    text = weight * min_max(said)

    def blend(seen: Array) -> Array:
        low, high = float(seen.min()), float(seen.max())
        # As min_max, less its care for ties: a draw has none, and this runs once a grid.
        scaled = (seen - low) / (high - low) if high - low > TIE else np.zeros(len(seen))
        return (1 - weight) * scaled + text

    look = Look(evidence)
    search = Search(look, len(evidence), side=grid, seed=seed, blend=blend)
    search.run(eye, objects, budget=budget)
    chosen = search.draw(min(budget, len(evidence)))
    options = {"detector": detector_name(eye), "weight": weight, "reach_s": reach_s, "grid": grid, "seed": seed}
    selection = selection_of(evidence, budget, "vsi", chosen, "visual", options, look=look)
    selection = with_events(selection, lines_of(evidence, line, chosen))
    return with_trace(selection, objects=list(objects.phrases), found=sum(map(bool, search.found.values())))


SELECTOR = Selector.of(
    "vsi",
    vsi,
    "search for objects, led by the subtitles",
    paper="He et al., CVPR 2026 Findings",
    needs=("pictures", "detector", "objects", "events", "peers"),
)
