"""T*: search a video for a question's objects with a detector on grids of frames.

Ye et al., "Re-thinking Temporal Search for Long-Form Video Understanding", CVPR 2025.
"""

from framesift.selection.frame_access import FrameAccess
from framesift.selection.grids import detector_name, require_detector, require_objects
from framesift.selection.object_search import ObjectSearch
from framesift.selection.result_builders import add_to_trace, build_selection
from framesift.selection.selector import Selector
from framesift.selection.validation import check_whole
from framesift.types import Evidence, Selection
from framesift.types.frame_source import Detector


def t_star(
    evidence: Evidence, budget: int, *, detector: Detector | None = None, grid: int = 8, seed: int = 0
) -> Selection:
    """Sample grids of frames, detect objects in them, sample near detections; the last sample is the selection.

    Input: decoded frames, the objects of the question (`evidence.objects`), a detector. Cost: min(1000, 0.1 N) frames
    are decoded, grid² of them per call of the detector. Targets weigh 1, cues 0.5; a score spreads to 5 neighbours on
    each side; a spline over the searched frames is the next distribution. grid: frames along a side. seed: of the
    samples. detector: a name or an object, see docs/selectors.md.

    Differs: the samples are seeded; the spline never overshoots; every frame keeps a thousandth of the largest weight;
    no early stop when all targets are detected, because the right confidence threshold depends on the detector.
    """
    grid, seed = check_whole("grid", grid, low=1), check_whole("seed", seed)
    detector, objects = require_detector("t-star", detector), require_objects("t-star", evidence)
    access = FrameAccess(evidence)
    search = ObjectSearch(access, len(evidence), side=grid, seed=seed)
    search.run(detector, objects, budget=budget)
    indices = search.sample(min(budget, len(evidence)))
    options = {"detector": detector_name(detector), "grid": grid, "seed": seed}
    selection = build_selection(evidence, budget, "t-star", indices, "visual", options, access=access)
    return add_to_trace(selection, objects=list(objects.phrases), found=sum(map(bool, search.detections.values())))


SELECTOR = Selector.of(
    "t-star",
    t_star,
    "search grids of frames for the question's objects",
    paper="Ye et al., CVPR 2025",
    needs=("pictures", "detector", "objects", "peers"),
)
