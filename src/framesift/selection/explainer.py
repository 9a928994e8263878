"""Why each frame was selected and which alternatives were not, in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from framesift._utils.text import clock, ordinal, quoted
from framesift.selection.trace import EventRow, RegionRow, Trace
from framesift.types import Basis, Selection, Slot, VideoSpan
from framesift.types.video import time_label

# A selector may attach a text to frames this near to it; farther away, the video has no frame at the text's time.
TEXT_REACH_S = 2.0


@dataclass(frozen=True)
class Alternative:
    """A frame that was not selected, and the sentence that says why."""

    time_s: float
    sentence: str


@dataclass(frozen=True)
class Reason:
    """The sentences for one slot."""

    why: tuple[str, ...]
    alternatives: tuple[Alternative, ...] = ()


class Explainer:
    """For any selector: its own sentences or the order of its picks, the rank, the best omitted candidate nearby."""

    def __init__(self, selection: Selection, basis: Basis) -> None:
        self.selection, self.basis, self.trace = selection, basis, Trace.of(selection)
        outside = set(range(len(basis.times_s))) - set(basis.considered)
        not_counted = {*basis.skipped, *outside}
        self.unavailable = {*selection.indices, *not_counted}  # as alternatives
        # Candidates that were not considered rank last and are not counted.
        relevance = np.array(basis.relevance, dtype=float)
        relevance[list(not_counted)] = -np.inf
        order = np.argsort(-relevance, kind="stable")
        self.candidates = len(order) - len(not_counted)
        self.rank = np.empty(len(order), dtype=int)
        self.rank[order] = np.arange(1, len(order) + 1)

    def explain_slot(self, slot: Slot) -> Reason:
        picked = self.trace.picked
        order = (
            f"Picked {ordinal(picked.index(slot.index) + 1)} of {len(picked)}" if slot.index in picked else "Selected"
        )
        event = () if slot.event is None else (f"Event at this time: {quoted(slot.event.text)}.",)
        own = {row.index: row.sentences for row in self.trace.reasons}
        why = own.get(slot.index, (f"{order} by {self.selection.method}.", *event))
        return Reason((*why, self.rank_sentence(slot)), self.best_omitted_nearby(slot))

    def rank_sentence(self, slot: Slot) -> str:
        return (
            f"Its relevance to the question ({slot.relevance:.3f}) ranks {ordinal(int(self.rank[slot.index]))} of "
            f"{self.candidates} candidates."
        )

    def best_omitted_nearby(self, slot: Slot) -> tuple[Alternative, ...]:
        """The most relevant omitted candidate between the selected frames before and after this one."""
        position = self.selection.indices.index(slot.index)
        first = self.selection.indices[position - 1] + 1 if position else 0
        last = self.selection.indices[position + 1] if position + 1 < len(self.selection) else len(self.rank)
        omitted = [k for k in range(first, last) if k not in self.unavailable]
        if not omitted:
            return ()
        best = min(omitted, key=lambda k: self.rank[k])
        relevance = float(self.basis.relevance[best])
        sentence = f"The most relevant omitted frame between the selected frames around it ({relevance:.3f})."
        return (Alternative(self.time_s(best), sentence),)

    def time_s(self, index: int) -> float:
        return float(self.basis.times_s[index])

    def label(self, time_s: float) -> str:
        return time_label(self.basis.videos, time_s, short_clock)

    def span(self, row: EventRow | RegionRow) -> str:
        first, last = self.label(row.start_s), self.label(row.end_s)
        return first if first == last else f"{first} – {last}"


def text_without_frame(slot: Slot, videos: Sequence[VideoSpan] = ()) -> str:
    """The warning about a text that is shown on a frame far from its own time; empty if it is not.

    videos: where there are several, those of the joint timeline.
    """
    if slot.event is None or slot.text_distance_s <= TEXT_REACH_S:
        return ""
    times_s = slot.event.start_s, slot.event.end_s, slot.time_s
    start, end, at = (time_label(videos, time_s, lambda time_s: short_clock(round(time_s))) for time_s in times_s)
    return (
        f"the text at {start if start == end else f'{start}–{end}'} has no frame; it is shown on the frame at {at}, "
        f"{slot.text_distance_s:.0f} s away"
    )


def short_clock(time_s: float) -> str:
    """The time as h:mm:ss, with milliseconds only where they are not zero."""
    return clock(time_s).removesuffix(".000")


def as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
