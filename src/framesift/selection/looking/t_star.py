"""T*: search a video for a question's objects with a detector on grids of frames.

Ye et al., "Re-thinking Temporal Search for Long-Form Video Understanding", CVPR 2025.
"""

import numpy as np

from framesift.selection.looking.object_search import ObjectSearch, SearchOptions, spline_curve
from framesift.selection.selector import Selector
from framesift.types import Evidence, Selection
from framesift.types.lookup import Lookup

UNSEEN_SCORE = 1e-6  # of a frame that was not searched


def t_star(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    grid: int = 8,
    share: float = 0.1,
    threshold: float = 0.5,
    seed: int = 0,
) -> Selection:
    """Search grids of frames for the targets, then draw the selection in proportion to the scores.

    Input: decoded frames, the objects of the question (`Lookup.objects`), a detector. Cost: min(1000, share·N) frames
    in whole grids of grid², less if every target is found earlier; a frame with a target is looked at once more, alone,
    and the target is found if the confidence there is above the threshold. Targets weigh 1, cues 0.5; the best quarter
    of a grid spreads to 5 neighbours on each side; the next grid is drawn by a smoothing spline over the searched
    frames. seed: of the draws, as `numpy.random.seed` of the original. detector: a name or an object, see
    docs/selectors.md.

    Differs: with fewer frames than a grid has cells, and with fewer frames with a score than the budget, the original
    raises an error; here cells stay black, and frames without a score share what is left.
    """
    options = SearchOptions(grid, share, threshold, seed)
    search = ObjectSearch(evidence, lookup, options, curve=spline_curve, start=UNSEEN_SCORE)
    search.run()
    size, weights = min(budget, len(evidence)), search.scores
    if np.count_nonzero(weights) < size:
        weights = np.maximum(weights, UNSEEN_SCORE)
    return search.selection(search.draw(weights, size))


SELECTOR = Selector.of(
    "t-star",
    t_star,
    "search grids of frames for the question's objects",
    paper="Ye et al., CVPR 2025",
    parts=("detector",),
    needs=("pictures", "detector", "objects", "peers"),
)
