"""Text: frames of the events whose words fit the question, blind to how well the pictures do.

Ground's text path alone, from Wei et al., "Ground, Cover, and Refine: Evidence-Centric Frame Selection for Long-Video
Question Answering". What is left of GCR when only the subtitles may decide.
"""

import numpy as np

from framesift.selection.gcr.ground import event_frames, min_max
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_events, with_trace
from framesift.selection.sampling import next_best
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array


def text(evidence: Evidence, budget: int) -> Selection:
    """In order of how well their words fit the question, events take their best free frame, round after round.

    Input: relevance of frames and of events. Cost: O(N log N + E log E). Ties go to the earlier start, then to the
    earlier event. Frames outside all events come last, by relevance, and carry no text.

    Differs: GCR gives text a part of the budget, one frame an event; here it gets all, so events have several turns.
    """
    ranking = Ranking(evidence.relevance)
    size = min(budget, len(evidence))
    carried = take_turns(ranking, evidence.times_s, evidence.event_times_s, evidence.event_relevance, size=size)
    chosen = next_best(ranking, list(carried), size)
    selection = selection_of(evidence, budget, "text", chosen, "visual", {})
    selection = with_events(selection, {index: evidence.events[e] for index, e in carried.items()})
    return with_trace(selection, events=len(set(carried.values())), events_outside=evidence.events_outside)


def take_turns(
    ranking: Ranking, times_s: Array, event_times_s: Array, event_relevance: Array, *, size: int
) -> dict[int, int]:
    """Frame index → event index, in the order taken: at most `size`, fewer when the events hold no more frames."""
    start_s, end_s = event_times_s.T
    lo, hi = event_frames(times_s, start_s, end_s)
    score = min_max(event_relevance)
    waiting = np.lexsort((np.arange(len(score)), start_s, -score)).tolist()
    carried: dict[int, int] = {}
    free = np.ones(len(times_s), dtype=bool)
    while waiting and len(carried) < size:
        again = []
        for e in waiting:
            if len(carried) == size:
                break
            rank = np.where(free[lo[e] : hi[e]], ranking.rank[lo[e] : hi[e]], len(free))
            if rank.min() == len(free):
                continue
            index = int(ranking.order[rank.min()])
            carried[index], free[index] = e, False
            again.append(e)
        waiting = again
    return carried


SELECTOR = Selector.of(
    "text",
    text,
    "frames of the events whose words fit the question",
    paper="Wei et al., Ground, Cover, and Refine",
    needs=("events",),
)
