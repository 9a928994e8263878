"""Ground: the events most relevant to the question, each anchored to a frame of its own.

Arrays only; `method.py` connects the stages.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from framesift.selection.scores import Ranking, min_max
from framesift.selection.trace import GCREventRow, event_columns, rows_of
from framesift.types import CandidateIndex, Evidence
from framesift.types.vectors import Array, merge_ties

NOT_REACHED, ANCHORED, NO_FREE_FRAME = "not reached", "anchored", "no free frame"


@dataclass(frozen=True)
class Grounding:
    """The result for every event. Arrays are (E,), in the order of the events.

    anchors: frame index → event index, best event first.
    """

    visual: Array
    score: Array
    anchors: dict[int, int]
    outcome: list[str]


def ground(evidence: Evidence, ranking: Ranking, *, demand: float, size: int, top_mean: int) -> Grounding:
    """Score every event against the question and anchor the best `size` of them to a frame each.

    Ties go to the earlier start, then the earlier event.
    """
    start_s, end_s = evidence.event_times_s.T
    lo, hi = event_frame_ranges(evidence.times_s, start_s, end_s)
    visual = ranking.top_mean(lo, hi, top_mean)
    # R(e) = (1 − d_q)·text relevance + d_q·visual relevance, both min–max normalised.
    text_score, visual_score = min_max(np.stack((evidence.event_relevance, visual), axis=1)).T
    score = merge_ties((1.0 - demand) * text_score + demand * visual_score)
    outcome = [NOT_REACHED] * len(score)
    anchors: dict[int, int] = {}
    rank = ranking.rank.copy()
    for e in np.lexsort((start_s, -score)).tolist():
        if len(anchors) == size:
            break
        best = int(rank[lo[e] : hi[e]].min())
        outcome[e] = NO_FREE_FRAME
        if best < len(rank):
            frame = int(ranking.order[best])
            rank[frame] = len(rank)  # no longer free
            anchors[frame] = e
            outcome[e] = ANCHORED
    return Grounding(visual, score, anchors, outcome)


def event_rows(evidence: Evidence, grounding: Grounding) -> Any:
    """One row of the trace per event."""
    frames = {event: CandidateIndex(frame) for frame, event in grounding.anchors.items()}
    indices = map(frames.get, range(len(evidence.events)))
    numbers = evidence.event_relevance.tolist(), grounding.score.tolist()
    return rows_of(
        GCREventRow, *event_columns(evidence), *numbers, grounding.outcome, indices, grounding.visual.tolist()
    )


def event_frame_ranges(times_s: Array, start_s: Array, end_s: Array) -> tuple[Array, Array]:
    """The candidates of each event as index ranges lo ≤ index < hi, never empty.

    Those with start ≤ time ≤ end; if there is none, the one nearest the middle (the earlier of two).
    """
    lo = np.searchsorted(times_s, start_s, side="left")
    hi = np.searchsorted(times_s, end_s, side="right")
    empty = lo == hi
    if not empty.any():
        return lo, hi
    middle_s = (start_s[empty] + end_s[empty]) / 2
    after = np.clip(np.searchsorted(times_s, middle_s), 1, max(len(times_s) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(times_s) - 1)
    nearest = np.where(middle_s - times_s[before] <= times_s[after] - middle_s, before, after)
    lo[empty], hi[empty] = nearest, nearest + 1
    return lo, hi
