"""T*: search a video for a question's objects by looking at grids of its frames.

Ye et al., "Re-thinking Temporal Search for Long-Form Video Understanding", CVPR 2025.
"""

from framesift.selection.frame_access import Look
from framesift.selection.grids import check_detector, check_objects, detector_name
from framesift.selection.object_search import Search
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_trace
from framesift.selection.validation import check_whole
from framesift.types import Evidence, Selection
from framesift.types.frame_source import Detector


def t_star(
    evidence: Evidence, budget: int, *, detector: Detector | None = None, grid: int = 8, seed: int = 0
) -> Selection:
    """Draw grids of frames, find objects in them, draw where they were found; the last draw is the selection.

    Input: pictures, the objects of the question (`evidence.objects`), a detector. Cost: min(1000, 0.1 N) frames are
    decoded, grid² of them to a call of the detector. Targets weigh 1, cues 0.5; a score is spread to 5 neighbours on
    each side; a spline over the frames looked at is the next distribution. grid: frames along a side. seed: of the
    draws. detector: a name or an object, see docs/selectors.md.

    Differs: the draws are seeded; the spline never overshoots; every frame keeps a thousandth of the best one's chance;
    no early stop when all targets are found, because how sure is sure enough depends on the detector.
    """
    grid, seed = check_whole("grid", grid, low=1), check_whole("seed", seed)
    eye, objects = check_detector("t-star", detector), check_objects("t-star", evidence)
    look = Look(evidence)
    search = Search(look, len(evidence), side=grid, seed=seed)
    search.run(eye, objects, budget=budget)
    chosen = search.draw(min(budget, len(evidence)))
    options = {"detector": detector_name(eye), "grid": grid, "seed": seed}
    selection = selection_of(evidence, budget, "t-star", chosen, "visual", options, look=look)
    return with_trace(selection, objects=list(objects.phrases), found=sum(map(bool, search.found.values())))


SELECTOR = Selector.of(
    "t-star",
    t_star,
    "search grids of frames for the question's objects",
    paper="Ye et al., CVPR 2025",
    needs=("pictures", "detector", "objects", "peers"),
)
