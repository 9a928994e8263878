"""How well the text of each event matches the question: meaning and shared words together."""

from dataclasses import dataclass

import numpy as np

from framesift.selection.gcr.ground import event_frame_ranges
from framesift.selection.scores import min_max
from framesift.types import Evidence
from framesift.types.vectors import TIE_TOLERANCE, Array

UNRELATED_PERCENTILE = 10.0  # of the events' scores: taken as that of a text unrelated to the question


@dataclass(frozen=True)
class EventMatch:
    """How well each event's text matches the question.

    cosine, lexical (E,) as given; score (E,) both together, scaled to [0, 1]; order (E,) best first, of equal ones the
    earlier start first; lo, hi (E,) the range of each event's frames. stand_out: how far the best one is from a text
    unrelated to the question, which is 0 away, towards one of the same meaning, which is 1 away. stands_out (E,) bool:
    whether an event is at least a given share as far.
    """

    cosine: Array
    lexical: Array
    score: Array
    order: Array
    lo: Array
    hi: Array
    stand_out: float
    stands_out: Array


def match_events(evidence: Evidence, *, lexical: float, floor: float) -> EventMatch:
    """Score every event's text against the question: its cosine, and `lexical` times the words they share.

    floor: the share of the best event's distance from an unrelated text that an event must have to stand out.

    A cosine counts from that of an unrelated text, so that an encoder for which all texts are alike gives the same
    scores as one for which they are not.
    """
    start_s, end_s = evidence.event_times_s.T
    lo, hi = event_frame_ranges(evidence.times_s, start_s, end_s)
    count = len(start_s)
    raw, distance, stand_out = np.zeros(count), np.zeros(count), 0.0
    if count:
        unrelated = float(np.percentile(evidence.event_relevance, UNRELATED_PERCENTILE))
        raw = (evidence.event_relevance - unrelated) / max(1.0 - unrelated, TIE_TOLERANCE)
        raw = raw + lexical * evidence.event_lexical
        distance = raw - np.percentile(raw, UNRELATED_PERCENTILE)
        stand_out = float(distance.max())
    score = min_max(raw)
    order = np.lexsort((np.arange(count), start_s, -score))
    stands_out = distance >= floor * stand_out - TIE_TOLERANCE
    return EventMatch(evidence.event_relevance, evidence.event_lexical, score, order, lo, hi, stand_out, stands_out)
