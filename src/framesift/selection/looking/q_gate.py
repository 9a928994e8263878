"""Q-Gate: detected objects, relevance and subtitles as three score streams, weighted by the question.

Wang et al., "Where to Focus: Query-Modulated Multimodal Keyframe Selection for Long Video Understanding", 2026.
"""

from collections.abc import Sequence, Sized

import numpy as np

from framesift.errors import OptionError
from framesift.selection.looking.access import Access, detected_scores
from framesift.selection.looking.object_search import object_weights
from framesift.selection.scores import Ranking, min_max, softmax
from framesift.selection.selector import Count, Positive, check_number, selector
from framesift.selection.vsi_lite import events_of_frames, score_by_subtitles
from framesift.types import Array, Evidence, Lookup, Selection
from framesift.types.vectors import merge_ties

STREAMS = ("objects", "relevance", "subtitles")
REACH_S = 2.0


@selector(
    "objects, relevance and subtitles, weighted by the question",
    paper="Wang et al., 2026",
    parts=("detector",),
    needs=("frames", "detector", "objects", "events", "demand"),
)
def q_gate(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    weights: Sequence[float] | None = None,
    temperature: Positive = 0.5,
    grid: Count = 4,
) -> Selection:
    """Select the largest weighted sum of three streams, each min–max normalised, then a softmax over the video.

    Input: decoded frames, objects, a detector, relevance, and events with their relevance. Cost: every frame is
    decoded and searched, grid × grid per call of the detector. weights: of objects, relevance and subtitles; by
    default from keywords, d_q/2, d_q/2 and 1 − d_q. temperature: of the softmax.

    Differs: the keywords are this library's rules for visual demand; the detector gets grids of frames and subtitles
    are spread as in VSI, because the paper leaves both open.
    """
    shares = stream_weights(weights, float(evidence.visual_demand))
    lookup.require("detector")
    objects, access, frames = lookup.require("objects"), Access(evidence, lookup), range(len(evidence))
    object_scores = detected_scores(access.detect(frames, objects.phrases, side=grid), object_weights(objects))
    subtitle_scores, event_of = score_by_subtitles(evidence, reach_s=REACH_S)
    streams = (object_scores, np.array(list(access.scores(frames).values())), subtitle_scores)
    fused = sum((w * softmax(min_max(s), temperature) for w, s in zip(shares, streams, strict=True)), np.zeros(1))
    # Softmax over N frames gives values of about 1/N; ties are merged on the scale of one frame's share.
    indices = Ranking(merge_ties(fused * len(evidence))).order[:budget]
    carried = events_of_frames(evidence, event_of, indices) if shares[2] > 0 else {}
    gate = dict(zip(STREAMS, shares.tolist(), strict=True))
    return access.select(indices, carried=carried, scores=access.known, objects=list(objects.phrases), gate=gate)


def stream_weights(weights: Sequence[float] | None, visual_demand: float) -> Array:
    """(3,) the weight of each stream, summing to 1."""
    if weights is None:
        return np.array([visual_demand / 2, visual_demand / 2, 1 - visual_demand])
    if not isinstance(weights, Sized) or len(weights) != len(STREAMS):
        raise OptionError(f"weights is {weights!r}; expected one number each for {', '.join(STREAMS)}")
    values = np.array([check_number(f"weights[{k}]", weight, low=0) for k, weight in enumerate(weights)])
    if not values.any():
        raise OptionError("weights are all 0; expected at least one above 0")
    return np.asarray(values / values.sum())
