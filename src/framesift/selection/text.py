"""Text: frames of the events whose text matches the question best, whatever the frames' own relevance.

Ground's text path alone, from Wei et al., "Ground, Cover, and Refine: Evidence-Centric Frame Selection for Long-Video
Question Answering": GCR reduced to what the subtitles decide.
"""

import numpy as np

from framesift.selection.gcr.ground import event_frame_ranges
from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import selector
from framesift.types import Evidence, Selection


@selector(
    "frames of the events whose text matches the question",
    paper="Wei et al., Ground, Cover, and Refine",
    needs=("events",),
)
def text(evidence: Evidence, budget: int) -> Selection:
    """In order of text relevance, events take their best free frame, round after round.

    Input: relevance of frames and of events. Cost: O(N log N + E log E). Ties go to the earlier start, then to the
    earlier event. Frames outside all events come last, by relevance, and carry no text.

    Differs: GCR gives text a part of the budget, one frame per event; here it gets all of it, so an event can take
    several frames.
    """
    ranking = Ranking(evidence.relevance)
    event_of = assign_frames(evidence, ranking, budget)
    indices = ranking.fill(list(event_of), budget)
    carried = {index: evidence.events[e] for index, e in event_of.items()}
    events = len(set(event_of.values()))
    return Selection.of(evidence, indices, carried=carried, events=events, events_outside=evidence.events_outside)


def assign_frames(evidence: Evidence, ranking: Ranking, size: int) -> dict[int, int]:
    """Frame index → event index, in the order taken: at most `size`, fewer when the events hold no more frames."""
    start_s, end_s = evidence.event_times_s.T
    lo, hi = event_frame_ranges(evidence.times_s, start_s, end_s)
    score = min_max(evidence.event_relevance)
    pending = np.lexsort((np.arange(len(score)), start_s, -score)).tolist()
    best_first = {e: iter(sorted(range(lo[e], hi[e]), key=ranking.rank.__getitem__)) for e in pending}
    event_of: dict[int, int] = {}
    while best_first and len(event_of) < size:
        for e in tuple(best_first):
            if len(event_of) == size:
                break
            index = next((index for index in best_first[e] if index not in event_of), None)
            if index is None:
                del best_first[e]
            else:
                event_of[index] = e
    return event_of
