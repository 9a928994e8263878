"""VSI: T*'s search for objects, guided by the subtitles.

He et al., "VSI: Visual-Subtitle Integration for Keyframe Selection to Enhance Long Video Understanding", CVPR 2026
Findings.
"""

import numpy as np

from framesift.selection.looking.object_search import ObjectSearch, best_frames, linear_curve
from framesift.selection.selector import Amount, Count, Positive, Share, Whole, selector
from framesift.selection.vsi_lite import events_of_frames, resample_subtitle_scores, score_by_subtitles
from framesift.types import Array, Evidence, Lookup, Selection


@selector(
    "search for objects, guided by subtitles",
    paper="He et al., CVPR 2026 Findings",
    parts=("detector",),
    needs=("frames", "detector", "objects", "events"),
)
def vsi(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    weight: Share = 0.4,
    reach_s: Amount = 2.0,
    fps: Positive | None = None,
    grid: Count = 4,
    share: Positive = 1.0,
    threshold: Amount = 0.7,
    seed: Whole = 0,
) -> Selection:
    """T*'s loop on 4 × 4 grids, with subtitles added to the scores after each grid; the largest scores are selected.

    Input: decoded frames, objects, a detector, and events with their relevance (the paper's is a sentence encoder's:
    `event_encoder="minilm"`). Cost: as `t-star`. Scores become (1 − weight)·scores + weight·subtitles, both min–max
    normalised, a constant one to 0.5. weight: of the subtitles, that of the original's class; its command line has 0.3.
    reach_s: seconds around an event that it scores, see `vsi_lite.score_by_subtitles`; fps: the video's, for scores as
    in the original, see `vsi_lite.resample_subtitle_scores`; selecting from an indexed video sets it. A frame within an
    event's reach carries the event. grid, share, threshold, seed and detector: as `t-star`.

    Differs: equal scores rank by index; fewer frames than a grid has cells are no error.
    """
    subtitle_scores, event_of = score_by_subtitles(evidence, reach_s=reach_s)
    if fps is not None:
        subtitle_scores = resample_subtitle_scores(evidence, fps, reach_s=reach_s)
    weighted_subtitles = weight * _normalise(subtitle_scores)

    def fuse(scores: Array) -> Array:
        return (1 - weight) * _normalise(scores) + weighted_subtitles

    search = ObjectSearch(evidence, lookup, grid, seed, curve=linear_curve, fuse=fuse)
    search.run(share, threshold)
    indices = best_frames(search.scores, budget)
    return search.selection(indices, carried=events_of_frames(evidence, event_of, indices))


def _normalise(scores: Array) -> Array:
    """Scale to [0, 1]; a constant vector becomes 0.5."""
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.full(len(scores), 0.5)
