"""Why each frame was selected and which alternatives were not, in sentences, from the trace of a selection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from framesift._utils.records import shown
from framesift._utils.text import clock, ordinal, quoted
from framesift.errors import FramesiftError, InputError
from framesift.selection.result_builders import text_without_frame
from framesift.types import Basis, Selection, Slot
from framesift.types.video import time_label


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


@contextmanager
def trace_errors(selection: Selection) -> Iterator[None]:
    """Report an unusable trace, which may come from a file or another package, as an InputError."""
    try:
        yield
    except FramesiftError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, StopIteration) as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise InputError(
            f"the trace of a selection by {shown(selection.method)} can't be read ({reason}); select the frames again"
        ) from error


def explain(selection: Selection) -> list[Reason]:
    """One Reason per slot, in order, from the trace of any selector.

    A selector that explains itself puts rows {"index", "sentences"} under "reasons".
    """
    if selection.basis is None:
        return [Reason((f"Selected by {selection.method} as {slot.role}.",)) for slot in selection.slots]
    has_stages = "ground" in selection.trace and "reasons" not in selection.trace
    explainer = _GcrExplainer if has_stages else _Explainer
    with trace_errors(selection):
        explain_slot = explainer(selection, selection.basis).explain_slot
        return [_with_remarks(explain_slot(slot), slot, selection.basis) for slot in selection.slots]


def _with_remarks(reason: Reason, slot: Slot, basis: Basis) -> Reason:
    """The reason, with what is unusual about the frame."""
    remarks = []
    if distant := text_without_frame(slot, basis.videos):
        remarks.append(_sentence(distant))
    if slot.index in basis.damaged:
        remarks.append("The frame is damaged: it was decoded with errors, and no other frame covers its minute.")
    return replace(reason, why=(*reason.why, *remarks))


class _Explainer:
    """For any selector: its own sentences or the order of its picks, the rank, the best omitted candidate nearby."""

    def __init__(self, selection: Selection, basis: Basis) -> None:
        self.selection, self.basis, self.trace = selection, basis, selection.trace
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
        self.sentences = {row["index"]: list(map(str, row["sentences"])) for row in self.trace.get("reasons", ())}

    def explain_slot(self, slot: Slot) -> Reason:
        if slot.index in self.sentences:
            return Reason((*self.sentences[slot.index], self._rank_sentence(slot)), self._best_omitted_nearby(slot))
        picked = list(self.trace.get("picked", ()))
        why = []
        if slot.index in picked:
            why.append(f"Picked {ordinal(picked.index(slot.index) + 1)} of {len(picked)} by {self.selection.method}.")
        else:
            why.append(f"Selected by {self.selection.method}.")
        if slot.event is not None:
            why.append(f"Event at this time: {quoted(slot.event.text)}.")
        return Reason((*why, self._rank_sentence(slot)), self._best_omitted_nearby(slot))

    def _rank_sentence(self, slot: Slot) -> str:
        return (
            f"Its relevance to the question ({slot.relevance:.3f}) ranks {ordinal(int(self.rank[slot.index]))} of "
            f"{self.candidates} candidates."
        )

    def _best_omitted_nearby(self, slot: Slot) -> tuple[Alternative, ...]:
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

    def clock_at(self, index: int) -> str:
        return self.label(self.time_s(index))

    def label(self, time_s: float) -> str:
        return time_label(self.basis.videos, time_s, short_clock)

    def _span(self, row: Mapping[str, Any]) -> str:
        first, last = self.label(row["start_s"]), self.label(row["end_s"])
        return first if first == last else f"{first} – {last}"


class _GcrExplainer(_Explainer):
    """GCR's three stages, each with the numbers that decided."""

    def __init__(self, selection: Selection, basis: Basis) -> None:
        super().__init__(selection, basis)
        ground, cover, refine = (self.trace.get(name, {}) for name in ("ground", "cover", "refine"))
        self.events: list[Mapping[str, Any]] = sorted(
            ground.get("events", ()), key=lambda row: (-row["score"], row["start_s"], row["position"])
        )
        self.demand, self.cues = ground.get("visual_demand", 0.5), ground.get("demand_cues", ())
        self.visual: list[int] = list(cover.get("visual", ()))
        self.context = {row["index"]: (k, row) for k, row in enumerate(cover.get("context", ()), 1)}
        self.refine: Mapping[str, Any] = refine
        self.regions = {row["index"]: row for row in refine.get("regions", ()) if row["index"] is not None}
        self.context_values = {row["index"]: row["value"] for row in refine.get("context", ())}
        self.swaps = {swap["in"]: swap for swap in refine.get("swaps", ())}

    def explain_slot(self, slot: Slot) -> Reason:
        if "note" in self.trace and slot.role == "context":
            return Reason((f"{_sentence(self.trace['note'])}", self._rank_sentence(slot)))
        by_role = {"ground": self._ground, "visual": self._visual, "context": self._context, "refined": self._refined}
        return by_role[slot.role](slot)

    def _ground(self, slot: Slot) -> Reason:
        rank, row = next((k, row) for k, row in enumerate(self.events, 1) if row["index"] == slot.index)
        cues = f", because the question contains {', '.join(quoted(cue) for cue in self.cues)}" if self.cues else ""
        why = [
            f"Its event ({self._span(row)}) ranks {ordinal(rank)} of {len(self.events)} for the question.",
            f"The event {quoted(row['text'])} scores {row['score']:.2f}: relevance of its text "
            f"{row['text_relevance']:.3f}, of its frames {row['visual_relevance']:.3f}, each normalised over all "
            f"events and weighted {1 - self.demand:.1f} to {self.demand:.1f}{cues}.",
        ]
        others = [k for k in self._during(row) if k != slot.index and k not in self.unavailable]
        if not others:
            return Reason((*why, self._rank_sentence(slot)), self._next_event(rank))
        why.append(f"It is the most relevant of the {len(others) + 1} available frames during the event.")
        best = min(others, key=lambda k: self.rank[k])
        same_event = Alternative(
            self.time_s(best), f"A less relevant frame of the same event ({self.basis.relevance[best]:.3f})."
        )
        return Reason((*why, self._rank_sentence(slot)), (same_event, *self._next_event(rank)))

    def _next_event(self, rank: int) -> tuple[Alternative, ...]:
        """After the last event that got a frame: the next one, which got none."""
        following = self.events[rank : rank + 1]
        if not following or following[0]["outcome"] != "not reached":
            return ()
        row = following[0]
        middle = (row["start_s"] + row["end_s"]) / 2
        first, times_s = self.basis.considered.start, np.asarray(self.basis.times_s)[self.basis.considered]
        nearest = first + int(np.abs(times_s - middle).argmin())
        sentence = (
            f"The next event by score ({row['score']:.2f}), {quoted(row['text'])}: the budget for events was used up."
        )
        return (Alternative(self.time_s(nearest), sentence),)

    def _visual(self, slot: Slot) -> Reason:
        rank = self.visual.index(slot.index) + 1
        why = f"A visual match: {ordinal(rank)} by relevance among the frames not selected for an event."
        omitted = [k for k in range(len(self.rank)) if k not in self.unavailable]
        if not omitted:
            return Reason((why, self._rank_sentence(slot)))
        best = min(omitted, key=lambda k: self.rank[k])
        sentence = f"The most relevant omitted frame of the video ({self.basis.relevance[best]:.3f})."
        return Reason((why, self._rank_sentence(slot)), (Alternative(self.time_s(best), sentence),))

    def _context(self, slot: Slot) -> Reason:
        rank, row = self.context[slot.index]
        why = f"Context, picked {ordinal(rank)} by relevance ({slot.relevance:.3f})"
        if row.get("closest") is not None:
            most_similar = f"{row['redundancy']:.2f} to {self.clock_at(row['closest'])}"
            why += f" minus similarity to the frames selected before it ({most_similar})"
        return Reason((f"{why}.", self._refine_sentence(slot)), self._best_omitted_nearby(slot))

    def _refine_sentence(self, slot: Slot) -> str:
        if slot.index not in self.context_values:
            ran = "Refine ran" if self.refine.get("ran") else "Refine did not run"
            return f"{ran}: {self.refine.get('reason', 'there was nothing to do')}."
        kept = f"Refine kept it with an evidence value of {self.context_values[slot.index]:.2f}"
        omitted = [row for row in self.refine["regions"] if row["index"] is None]
        if not omitted:
            return f"{kept}."
        best = max(omitted, key=lambda row: row["value"])
        return f"{kept}; the best omitted segment ({self._span(best)}) has {best['value']:.2f}: {best['outcome']}."

    def _refined(self, slot: Slot) -> Reason:
        region, swap = self.regions[slot.index], self.swaps.get(slot.index)
        parts = ", ".join(f"{name} {region['normalised'][name]:.2f}" for name in region["normalised"])
        why = f"It represents the omitted segment {self._span(region)}, evidence value {region['value']:.2f} ({parts})."
        if swap is None:  # without Cover nothing is replaced
            return Reason((why, self._rank_sentence(slot)), self._best_omitted_nearby(slot))
        more = f"That is {swap['margin']:.2f} more than the context frame it replaced, at {self.clock_at(swap['out'])}."
        value = self.context_values[swap["out"]]
        replaced = Alternative(
            self.time_s(swap["out"]), f"The context frame that it replaced, evidence value {value:.2f}."
        )
        return Reason((why, more, self._rank_sentence(slot)), (replaced,))

    def _during(self, row: Mapping[str, Any]) -> list[int]:
        times = np.asarray(self.basis.times_s)
        return np.flatnonzero((times >= row["start_s"]) & (times <= row["end_s"])).tolist()


def short_clock(time_s: float) -> str:
    """The time as h:mm:ss, with milliseconds only where they are not zero."""
    return clock(time_s).removesuffix(".000")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
