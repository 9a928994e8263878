"""T*: search a video for a question's objects with a detector on grids of frames.

Ye et al., "Re-thinking Temporal Search for Long-Form Video Understanding", CVPR 2025.
"""

import numpy as np

from framesift.selection.looking.object_search import ObjectSearch, spline_curve
from framesift.selection.selector import Amount, Count, Positive, Whole, selector
from framesift.types import Evidence, Lookup, Selection

UNSEEN_SCORE = 1e-6  # of a frame that was not searched


@selector(
    "search grids of frames for the question's objects",
    paper="Ye et al., CVPR 2025",
    parts=("detector",),
    needs=("frames", "detector", "objects", "peers"),
)
def t_star(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    grid: Count = 4,
    share: Positive = 1.0,
    threshold: Amount = 0.7,
    seed: Whole = 0,
) -> Selection:
    """Search grids of frames for the targets, then draw the selection in proportion to the scores.

    Input: decoded frames, the objects of the question (`Lookup.objects`), a detector. Cost: min(1000, share·N) frames
    in whole grids of grid², less if every target is found earlier; a frame with a target is looked at once more, alone,
    and the target is found if the confidence there is above the threshold. Targets weigh 1, cues 0.5; the best quarter
    of a grid spreads to 5 neighbours on each side; the next grid is drawn by a smoothing spline over the searched
    frames. grid, share and threshold are those of the published evaluation; the class of the original has 8, 0.1 and
    0.5. seed: of the draws, as `numpy.random.seed` of the original. detector: a name or an object, see
    docs/looking-selectors.md.

    Differs: with fewer frames than a grid has cells, and with fewer frames with a score than the budget, the original
    raises an error; here cells stay black, and frames without a score share what is left.
    """
    search = ObjectSearch(evidence, lookup, grid, seed, curve=spline_curve, start=UNSEEN_SCORE)
    search.run(share, threshold)
    size, weights = min(budget, len(evidence)), search.scores
    if np.count_nonzero(weights) < size:
        weights = np.maximum(weights, UNSEEN_SCORE)
    return search.selection(search.draw(weights, size))
