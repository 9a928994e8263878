"""Q-Gate: objects, relevance and subtitles as three streams, weighted by what the question asks for.

Wang et al., "Where to Focus: Query-Modulated Multimodal Keyframe Selection for Long Video Understanding", 2026.
"""

from collections.abc import Sequence

import numpy as np

from framesift.errors import OptionError
from framesift.selection.frame_access import Look
from framesift.selection.gcr.ground import min_max
from framesift.selection.grids import (
    check_detector,
    check_objects,
    detector_name,
    find_objects,
    object_weights,
    strongest,
)
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_events, with_trace
from framesift.selection.sampling import softmax
from framesift.selection.validation import check_number, check_positive, check_whole
from framesift.selection.vsi_lite import lines_of, subtitle_scores
from framesift.types import Evidence, Selection
from framesift.types.frame_source import Detector
from framesift.types.vectors import Array, settle

STREAMS = ("objects", "relevance", "subtitles")
REACH_S = 2.0


def q_gate(
    evidence: Evidence,
    budget: int,
    *,
    detector: Detector | None = None,
    weights: Sequence[float] | None = None,
    temperature: float = 0.5,
    grid: int = 4,
) -> Selection:
    """The largest weighted sum of three streams, each min–max normalised, then a softmax over the video.

    Input: pictures, objects, a detector, relevance, and events with their relevance. Cost: every frame is decoded
    and looked at, grid × grid to a call of the detector. weights: of objects, relevance and subtitles, as a language
    model returns them (`LanguageModelNamer.weigh`); by default from keywords, d_q/2, d_q/2 and 1 − d_q. temperature:
    of the softmax.

    Differs: keywords are this library's rules for visual demand; frames are shown to the detector in grids and
    subtitles are spread as in VSI, because the description leaves both open.
    """
    temperature, grid = check_positive("temperature", temperature), check_whole("grid", grid, low=1)
    shares = gate(weights, float(evidence.visual_demand))
    eye, objects = check_detector("q-gate", detector), check_objects("q-gate", evidence)
    look, everyone = Look(evidence), range(len(evidence))
    found = find_objects(look, eye, everyone, objects.phrases, side=grid)
    by_object = np.array([strongest(found[index], object_weights(objects)) for index in everyone])
    said, line = subtitle_scores(evidence, reach_s=REACH_S)
    streams = (by_object, look.scores(everyone), said)
    fused = sum((w * softmax(min_max(s), temperature) for w, s in zip(shares, streams, strict=True)), np.zeros(1))
    # Softmax over N frames makes numbers of about 1/N; ties are told on the scale of one frame's share.
    chosen = Ranking(settle(fused * len(evidence))).order[:budget].tolist()
    given = None if weights is None else list(weights)
    options = {"detector": detector_name(eye), "weights": given, "temperature": temperature, "grid": grid}
    selection = selection_of(evidence, budget, "q-gate", chosen, "visual", options, look=look)
    selection = with_events(selection, lines_of(evidence, line, chosen) if shares[2] > 0 else {})
    return with_trace(selection, objects=list(objects.phrases), gate=dict(zip(STREAMS, shares.tolist(), strict=True)))


def gate(weights: Sequence[float] | None, visual_demand: float) -> Array:
    """(3,) the weight of each stream, summing to 1."""
    if weights is None:
        return np.array([visual_demand / 2, visual_demand / 2, 1 - visual_demand])
    if len(weights) != len(STREAMS):
        raise OptionError(f"weights has {len(weights)} numbers; expected one each for {', '.join(STREAMS)}")
    values = np.array([check_number(f"weights[{k}]", weight, low=0) for k, weight in enumerate(weights)])
    if not values.any():
        raise OptionError("weights are all 0; expected at least one above 0")
    shares: Array = values / values.sum()
    return shares


SELECTOR = Selector.of(
    "q-gate",
    q_gate,
    "objects, relevance and subtitles, weighted by the question",
    paper="Wang et al., 2026",
    needs=("pictures", "detector", "objects", "events"),
)
