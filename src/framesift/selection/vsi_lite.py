"""VSI-lite: VSI's fusion of subtitles and pictures, with relevance in place of its object detector.

He et al., "VSI: Visual-Subtitle Integration for Keyframe Selection to Enhance Long Video Understanding", CVPR 2026
Findings.
`vsi` is the whole method; this is its half that needs no detector, and it is named so.
"""

import numpy as np

from framesift.selection.gcr.ground import min_max
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_events
from framesift.selection.validation import check_number
from framesift.types import Event, Evidence, Selection
from framesift.types.vectors import Array, settle

# Of an event's cosine with the question: at or below DROPPED it says nothing, above DOUBLED the rest counts twice.
DROPPED = 0.2
DOUBLED = 0.5


def vsi_lite(evidence: Evidence, budget: int, *, weight: float = 0.4, reach_s: float = 2.0) -> Selection:
    """The largest of (1 − weight)·relevance + weight·subtitles, each min–max normalised.

    Input: relevance of frames and of events (the paper's is a sentence encoder's: `event_encoder="minilm"`).
    Cost: O(N log N + E). weight: of the subtitles. reach_s: seconds before and after a line that it speaks for.
    A frame inside a line's reach carries the line that gave it most.

    Differs: relevance replaces the detector's scores, and there is no search loop, because no detector is needed then.
    """
    weight, reach_s = check_number("weight", weight, low=0, high=1), check_number("reach_s", reach_s, low=0)
    said, line = subtitle_scores(evidence, reach_s=reach_s)
    fused = (1 - weight) * min_max(evidence.relevance) + weight * min_max(said)
    chosen = Ranking(settle(fused)).order[:budget].tolist()
    options = {"weight": weight, "reach_s": reach_s}
    selection = selection_of(evidence, budget, "vsi-lite", chosen, "visual", options)
    return with_events(selection, lines_of(evidence, line, chosen))


def subtitle_scores(evidence: Evidence, *, reach_s: float) -> tuple[Array, Array]:
    """(N,) what the subtitles say for each frame, and (N,) the event that says it; −1 for none.

    An event's strength is its cosine with the question: 0 at or below 0.2, the part above 0.5 counted twice. It is
    spread over [start − reach, end + reach] by a Gaussian around the middle whose second deviation lies at the
    ends. Where events overlap the strongest speaks; of equals the earlier start, then the earlier event.
    """
    cosine = evidence.event_relevance
    strength = np.where(cosine > DROPPED, cosine + np.maximum(cosine - DOUBLED, 0.0), 0.0)
    start_s, end_s = evidence.event_times_s.T
    first = np.searchsorted(evidence.times_s, start_s - reach_s, side="left").tolist()
    after = np.searchsorted(evidence.times_s, end_s + reach_s, side="right").tolist()
    middle, half = (start_s + end_s) / 2, (end_s - start_s) / 2 + reach_s
    # A line without length and reach speaks for the frame at its moment alone.
    fall = np.where(half > 0, -2.0 / np.where(half > 0, half, 1.0) ** 2, 0.0)
    said, line = np.zeros(len(evidence)), np.full(len(evidence), -1)
    for e in np.lexsort((np.arange(len(strength)), start_s)).tolist():
        if strength[e] == 0 or first[e] == after[e]:
            continue
        reach = slice(first[e], after[e])
        here = strength[e] * np.exp(fall[e] * (evidence.times_s[reach] - middle[e]) ** 2)
        more = here > said[reach]
        said[reach][more], line[reach][more] = here[more], e
    return said, line


def lines_of(evidence: Evidence, line: Array, chosen: list[int]) -> dict[int, Event]:
    """The event of each chosen frame that has one."""
    return {index: evidence.events[line[index]] for index in chosen if line[index] >= 0}


SELECTOR = Selector.of(
    "vsi-lite",
    vsi_lite,
    "relevance and subtitles fused, VSI without its detector",
    paper="He et al., CVPR 2026 Findings",
    needs=("events",),
)
