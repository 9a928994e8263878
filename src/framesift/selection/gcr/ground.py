"""Ground: the question's best events, each with a real frame of its own.

Arrays only. `gcr.py` does the wiring.
"""

from dataclasses import dataclass

import numpy as np

from framesift.selection.ranking import Ranking
from framesift.types.vectors import Array, settle

NOT_REACHED, ANCHORED, NO_FREE_FRAME = "not reached", "anchored", "no free frame"


@dataclass(frozen=True)
class Grounding:
    """What became of each event. Arrays are (E,), in the order of the events; anchor is −1 where there is none."""

    text: Array
    visual: Array
    score: Array
    order: Array
    anchor: Array
    outcome: list[str]

    @property
    def anchors(self) -> dict[int, int]:
        """Frame index → event index, best event first."""
        placed = self.order[self.anchor[self.order] >= 0]
        return dict(zip(self.anchor[placed].tolist(), placed.tolist(), strict=True))


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
    """Score every event against the question and give the best `size` of them a frame each.

    event_times_s (E, 2): start and end; event_relevance (E,). Ties go to the earlier start, then the earlier event.
    """
    count = len(event_times_s)
    start_s, end_s = event_times_s.T
    lo, hi = event_frames(times_s, start_s, end_s)
    visual = ranking.top_mean(lo, hi, top_mean)
    score = settle((1.0 - demand) * min_max(event_relevance) + demand * min_max(visual))
    order = np.lexsort((np.arange(count), start_s, -score))
    anchor = np.full(count, -1)
    outcome = [NOT_REACHED] * count
    free = np.ones(len(times_s), dtype=bool)
    placed = 0
    for e in order:
        if placed == size:
            break
        rank = np.where(free[lo[e] : hi[e]], ranking.rank[lo[e] : hi[e]], len(times_s))
        best = int(rank.min())
        if best == len(times_s):
            outcome[e] = NO_FREE_FRAME
            continue
        anchor[e] = ranking.order[best]
        free[anchor[e]] = False
        outcome[e] = ANCHORED
        placed += 1
    return Grounding(event_relevance, visual, score, order, anchor, outcome)


def event_frames(times_s: Array, start_s: Array, end_s: Array) -> tuple[Array, Array]:
    """The candidates of each event as index ranges lo ≤ index < hi, never empty.

    Those with start ≤ time ≤ end; if there is none, the one nearest the middle (the earlier of two).
    """
    lo = np.searchsorted(times_s, start_s, side="left")
    hi = np.searchsorted(times_s, end_s, side="right")
    empty = lo == hi
    middle = (start_s[empty] + end_s[empty]) / 2
    after = np.clip(np.searchsorted(times_s, middle), 1, max(len(times_s) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(times_s) - 1)
    nearest = np.where(middle - times_s[before] <= times_s[after] - middle, before, after)
    lo[empty], hi[empty] = nearest, nearest + 1
    return lo, hi


def min_max(values: Array) -> Array:
    """Scale to [0, 1]; a constant vector becomes zeros."""
    values = settle(values)
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    return (values - low) / (high - low) if high > low else np.zeros(len(values))
