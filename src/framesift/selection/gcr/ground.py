"""Ground: the events most relevant to the question, each anchored to a frame of its own.

Arrays only; `method.py` connects the stages.
"""

from dataclasses import dataclass

import numpy as np

from framesift.selection.scores import Ranking, min_max
from framesift.types.vectors import Array, merge_ties

NOT_REACHED, ANCHORED, NO_FREE_FRAME = "not reached", "anchored", "no free frame"


@dataclass(frozen=True)
class Grounding:
    """The result for every event. Arrays are (E,), in the order of the events; anchor is −1 where there is none."""

    text: Array
    visual: Array
    score: Array
    order: Array
    anchor: Array
    outcome: list[str]

    @property
    def anchors(self) -> dict[int, int]:
        """Frame index → event index, best event first."""
        anchored = self.order[self.anchor[self.order] >= 0]
        return dict(zip(self.anchor[anchored].tolist(), anchored.tolist(), strict=True))


def ground(
    ranking: Ranking,
    times_s: Array,
    event_times_s: Array,
    event_relevance: Array,
    *,
    demand: float,
    size: int,
    top_mean: int = 2,
) -> Grounding:
    """Score every event against the question and anchor the best `size` of them to a frame each.

    event_times_s (E, 2): start and end; event_relevance (E,). Ties go to the earlier start, then the earlier event.
    """
    count = len(event_times_s)
    start_s, end_s = event_times_s.T
    lo, hi = event_frame_ranges(times_s, start_s, end_s)
    visual = ranking.top_mean(lo, hi, top_mean)
    # R(e) = (1 − d_q)·text relevance + d_q·visual relevance, both min–max normalised.
    score = merge_ties((1.0 - demand) * min_max(event_relevance) + demand * min_max(visual))
    order = np.lexsort((np.arange(count), start_s, -score))
    anchor = np.full(count, -1)
    outcome = [NOT_REACHED] * count
    free = np.ones(len(times_s), dtype=bool)
    anchored = 0
    for e in order:
        if anchored == size:
            break
        rank = np.where(free[lo[e] : hi[e]], ranking.rank[lo[e] : hi[e]], len(times_s))
        best = int(rank.min())
        if best == len(times_s):
            outcome[e] = NO_FREE_FRAME
            continue
        anchor[e] = ranking.order[best]
        free[anchor[e]] = False
        outcome[e] = ANCHORED
        anchored += 1
    return Grounding(event_relevance, visual, score, order, anchor, outcome)


def event_frame_ranges(times_s: Array, start_s: Array, end_s: Array) -> tuple[Array, Array]:
    """The candidates of each event as index ranges lo ≤ index < hi, never empty.

    Those with start ≤ time ≤ end; if there is none, the one nearest the middle (the earlier of two).
    """
    lo = np.searchsorted(times_s, start_s, side="left")
    hi = np.searchsorted(times_s, end_s, side="right")
    empty = lo == hi
    middle_s = (start_s[empty] + end_s[empty]) / 2
    after = np.clip(np.searchsorted(times_s, middle_s), 1, max(len(times_s) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(times_s) - 1)
    nearest = np.where(middle_s - times_s[before] <= times_s[after] - middle_s, before, after)
    lo[empty], hi[empty] = nearest, nearest + 1
    return lo, hi
