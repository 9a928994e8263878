"""Why each frame was selected and which alternatives were not, in sentences."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from framesift._utils.text import clock, ordinal, quoted
from framesift.selection.trace import EventRow, RegionRow, Trace
from framesift.types import Basis, Event, Selection, Slot, VideoSpan
from framesift.types.video import time_label

# A selector may attach a text to frames this near to it; farther away, the video has no frame at the text's time.
TEXT_REACH_S = 2.0
PINNED = "Kept because it is pinned."
MATCH = 0.5  # strength of a frame at the level of chance; without that, from which its picture is called a match


@dataclass(frozen=True)
class Alternative:
    """A frame that was not selected, and the sentence that says why."""

    time_s: float
    sentence: str


@dataclass(frozen=True)
class Reason:
    """Why a frame was selected: `why` in plain sentences, the numbers behind them in `details`.

    strength: from 0 to 1, of what the frame was selected for, its text or its picture; it orders frames and decides
    what `why` says.
    """

    why: tuple[str, ...]
    alternatives: tuple[Alternative, ...] = ()
    details: tuple[str, ...] = ()
    strength: float = 0.0


class Explainer:
    """For any selector: its own sentences, else what the frame shows; its ranks; the best omitted candidate nearby."""

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
        counted = relevance[np.isfinite(relevance)]
        self.median, self.highest = (float(np.median(counted)), float(counted.max())) if len(counted) else (0.0, 0.0)
        self.events = sorted(self.trace.events, key=lambda row: (-row.score, row.start_s, row.position))
        self.event_rank = {row.index: k for k, row in enumerate(self.events, 1) if row.index is not None}

    def explain_slot(self, slot: Slot) -> Reason:
        rank = (
            f"Its picture ranks {ordinal(int(self.rank[slot.index]))} of {self.candidates} candidates for the "
            f"question: cosine {slot.relevance:.3f}."
        )
        if slot.index in self.trace.pinned:
            return Reason((PINNED, *self.beside(slot)), details=(rank,), strength=1.0)
        own = {row.index: tuple(row.sentences) for row in self.trace.reasons}
        why = own.get(slot.index) or (*self.why(slot), *self.beside(slot))
        return Reason(why, self.alternatives(slot), (*self.details(slot), rank), self.strength(slot))

    def why(self, slot: Slot) -> tuple[str, ...]:
        """What the frame is shown for, in sentences for anyone."""
        if slot.role == "ground" and slot.event is not None:
            return (f"Shown because {says(slot.event)}",)
        is_match = slot.role == "visual" and self.scaled(slot) >= MATCH
        return (self.picture_sentence(slot) if is_match else self.cover_sentence(slot),)

    def beside(self, slot: Slot) -> tuple[str, ...]:
        """What is said at the time of a frame that was selected for its picture."""
        return () if slot.event is None or slot.role == "ground" else (f"There {says(slot.event)}",)

    def details(self, slot: Slot) -> tuple[str, ...]:
        """The numbers that decided, but for the rank of the picture."""
        details, picked = [], self.trace.picked
        if slot.index in self.event_rank:
            rank = self.event_rank[slot.index]
            row = self.events[rank - 1]
            details.append(
                f"Its text ranks {ordinal(rank)} of {len(self.events)} for the question: score {row.score:.2f}, "
                f"cosine {row.text_relevance:.2f}."
            )
        share = None if self.trace.ground is None else self.trace.ground.share
        if slot.role == "ground" and share is not None:
            details.append(f"Text gets up to {share:.0%} of the frames, by how far the best text stands out.")
        if slot.index in picked:
            order = ordinal(picked.index(slot.index) + 1)
            details.append(f"Picked {order} of {len(picked)} by {self.selection.method}.")
        return tuple(details)

    def strength(self, slot: Slot) -> float:
        is_ground, picked = slot.role == "ground", self.trace.picked
        if is_ground and slot.index in self.event_rank:
            return min(max(self.events[self.event_rank[slot.index] - 1].score, 0.0), 1.0)
        if is_ground and slot.index in picked:
            return 1.0 - picked.index(slot.index) / len(picked)
        chance = self.basis.chance
        if chance is not None and chance.high > chance.low:
            return min(max(MATCH * (slot.relevance - chance.low) / (chance.high - chance.low), 0.0), 1.0)
        return self.scaled(slot)

    def scaled(self, slot: Slot) -> float:
        """The relevance of the frame's picture, from 0 for the video's median and less to 1 for the best."""
        above = max(slot.relevance - self.median, 0.0)
        return above / (self.highest - self.median) if above else 0.0

    def picture_sentence(self, slot: Slot) -> str:
        rank, chance = int(self.rank[slot.index]), self.basis.chance
        if chance is not None and slot.relevance <= chance.high:
            place = "" if rank == 1 else f"{ordinal(rank)} "
            return f"The {place}closest of {self.candidates} pictures, though no closer than chance."
        if rank == 1:
            return "Best match for the picture that the question describes."
        return f"Looks like what the question describes: {ordinal(rank)} best of {self.candidates} frames."

    def cover_sentence(self, slot: Slot) -> str:
        """The part of the video between the selected frames before and after this one."""
        position, times_s = self.selection.indices.index(slot.index), self.selection.times_s
        start_s, end_s = self.basis.window or (0.0, self.basis.duration_s)
        if position:
            start_s = times_s[position - 1]
        if position + 1 < len(times_s):
            end_s = times_s[position + 1]
        first, last = (time_label(self.basis.videos, time_s, minutes) for time_s in (start_s, end_s))
        return f"Covers {first}–{last}, which no other frame shows."

    def alternatives(self, slot: Slot) -> tuple[Alternative, ...]:
        """The most relevant omitted candidate between the selected frames before and after this one."""
        edges = [-1, *self.selection.indices, len(self.rank)]
        position = edges.index(slot.index)
        between = range(edges[position - 1] + 1, edges[position + 1])
        return self.most_relevant(
            between, "The most relevant omitted frame between the selected frames around it ({:.3f})."
        )

    def most_relevant(self, among: Iterable[int], sentence: str) -> tuple[Alternative, ...]:
        """The best of some candidates that was not selected. sentence: with a place for its relevance."""
        omitted = (k for k in among if k not in self.unavailable)
        best = min(omitted, key=self.rank.__getitem__, default=None)
        if best is None:
            return ()
        return (Alternative(self.time_s(best), sentence.format(self.basis.relevance[best])),)

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


def says(event: Event) -> str:
    """What a text is: said, or visible on the screen."""
    return f"{'the screen shows' if event.source == 'screen' else 'someone says'}: {quoted(event.text)}"


def minutes(time_s: float) -> str:
    """The time as m:ss, with hours only where there are some."""
    return clock(math.floor(time_s)).removesuffix(".000").removeprefix("0:").removeprefix("0")


def short_clock(time_s: float) -> str:
    """The time as h:mm:ss, with milliseconds only where they are not zero."""
    return clock(time_s).removesuffix(".000")


def as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
