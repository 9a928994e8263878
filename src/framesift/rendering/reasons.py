"""Why each frame was chosen and what nearly was, in sentences, from a selection's trace."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from framesift._utils.text import clock
from framesift.types import Basis, Selection, Slot

QUOTED = 90  # characters of an event's text inside a sentence


@dataclass(frozen=True)
class Near:
    """A frame that nearly was: its time and the sentence that says what kept it out."""

    time_s: float
    sentence: str


@dataclass(frozen=True)
class Reason:
    """Sentences for one slot."""

    why: tuple[str, ...]
    nearly: tuple[Near, ...] = ()


def reasons(selection: Selection) -> list[Reason]:
    """One Reason per slot, in order. Works on any selector's trace; says most about GCR's."""
    if selection.basis is None:
        return [Reason((f"Chosen by {selection.method} as {slot.role}.",)) for slot in selection.slots]
    teller = _Gcr(selection, selection.basis) if "ground" in selection.trace else _Plain(selection, selection.basis)
    return [teller.tell(slot) for slot in selection.slots]


class _Plain:
    """What can be said of any selector: the order it picked in, the rank by relevance, the best one left out nearby."""

    def __init__(self, selection: Selection, basis: Basis) -> None:
        self.selection, self.basis, self.trace = selection, basis, selection.trace
        self.chosen = set(selection.indices)
        order = np.argsort(-np.asarray(basis.relevance), kind="stable")
        self.rank = np.empty(len(order), dtype=int)
        self.rank[order] = np.arange(1, len(order) + 1)

    def tell(self, slot: Slot) -> Reason:
        picked = list(self.trace.get("picked", ()))
        why = []
        if slot.index in picked:
            why.append(f"Picked {_nth(picked.index(slot.index) + 1)} of {len(picked)} by {self.selection.method}.")
        else:
            why.append(f"Chosen by {self.selection.method}.")
        if slot.event is not None:
            why.append(f"On screen then: {_quote(slot.event.text)}.")
        return Reason((*why, self._by_relevance(slot)), self._left_out_around(slot))

    def _by_relevance(self, slot: Slot) -> str:
        return (
            f"By relevance to the question ({slot.relevance:.3f}) it is {_nth(int(self.rank[slot.index]))} of "
            f"{len(self.rank)} candidates."
        )

    def _left_out_around(self, slot: Slot) -> tuple[Near, ...]:
        """The most relevant candidate left out between the chosen frames before and after this one."""
        place = self.selection.indices.index(slot.index)
        first = self.selection.indices[place - 1] + 1 if place else 0
        last = self.selection.indices[place + 1] if place + 1 < len(self.selection) else len(self.rank)
        around = [k for k in range(first, last) if k not in self.chosen]
        if not around:
            return ()
        best = min(around, key=lambda k: self.rank[k])
        relevance = float(self.basis.relevance[best])
        return (Near(self.time_s(best), f"The most relevant frame left out on either side of it ({relevance:.3f})."),)

    def time_s(self, index: int) -> float:
        return float(self.basis.times_s[index])

    def at(self, index: int) -> str:
        return short_clock(self.time_s(index))


class _Gcr(_Plain):
    """GCR's three steps, each with the numbers that decided."""

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
        self.kept = {row["index"]: row for row in refine.get("context", ())}
        self.swaps = {swap["in"]: swap for swap in refine.get("swaps", ())}

    def tell(self, slot: Slot) -> Reason:
        if "note" in self.trace and slot.role == "context":
            return Reason((f"{_sentence(self.trace['note'])}", self._by_relevance(slot)))
        told = {"ground": self._ground, "visual": self._visual, "context": self._context, "refined": self._refined}
        return told[slot.role](slot)

    def _ground(self, slot: Slot) -> Reason:
        place, row = next((k, row) for k, row in enumerate(self.events, 1) if row["index"] == slot.index)
        words = f"{_quote(row['text'])} ({_span(row)})"
        cues = f", because the question says {', '.join(_quote(cue) for cue in self.cues)}" if self.cues else ""
        why = [
            f"These words are {_nth(place)} of {len(self.events)} events for this question: {words}.",
            f"The event scores {row['score']:.2f}: likeness of its words {row['text_relevance']:.3f}, of its pictures "
            f"{row['visual_relevance']:.3f}, each scaled over all events and weighted {1 - self.demand:.1f} to "
            f"{self.demand:.1f}{cues}.",
        ]
        inside = [k for k in self._inside(row) if k != slot.index and k not in self.chosen]
        if not inside:
            return Reason((*why, self._by_relevance(slot)), self._next_event(place))
        why.append(f"Of the {len(inside) + 1} free frames while it lasts this one is the most relevant.")
        best = min(inside, key=lambda k: self.rank[k])
        near = Near(self.time_s(best), f"The same words, a less relevant frame ({self.basis.relevance[best]:.3f}).")
        return Reason((*why, self._by_relevance(slot)), (near, *self._next_event(place)))

    def _next_event(self, place: int) -> tuple[Near, ...]:
        """For the last event that got a frame: the one after it, which did not."""
        after = self.events[place : place + 1]
        if not after or after[0]["outcome"] != "not reached":
            return ()
        row = after[0]
        middle = (row["start_s"] + row["end_s"]) / 2
        nearest = int(np.abs(np.asarray(self.basis.times_s) - middle).argmin())
        sentence = (
            f"The next event in line ({row['score']:.2f}), {_quote(row['text'])}: the share for events was used up."
        )
        return (Near(self.time_s(nearest), sentence),)

    def _visual(self, slot: Slot) -> Reason:
        place = self.visual.index(slot.index) + 1
        why = f"A direct hit: {_nth(place)} by relevance among the frames that no event had taken."
        rest = [k for k in range(len(self.rank)) if k not in self.chosen]
        if not rest:
            return Reason((why, self._by_relevance(slot)))
        best = min(rest, key=lambda k: self.rank[k])
        near = Near(
            self.time_s(best), f"The most relevant frame of all that was left out ({self.basis.relevance[best]:.3f})."
        )
        return Reason((why, self._by_relevance(slot)), (near,))

    def _context(self, slot: Slot) -> Reason:
        place, row = self.context[slot.index]
        why = f"Context, picked {_nth(place)} by relevance ({slot.relevance:.3f})"
        if row.get("closest") is not None:
            nearest = f"{row['redundancy']:.2f} to {self.at(row['closest'])}"
            why += f" less its likeness to what was chosen before it ({nearest})"
        return Reason((f"{why}.", self._after_refine(slot)), self._left_out_around(slot))

    def _after_refine(self, slot: Slot) -> str:
        if slot.index not in self.kept:
            ran = "Refine ran" if self.refine.get("ran") else "Refine did not run"
            return f"{ran}: {self.refine.get('reason', 'it had nothing to do')}."
        value = self.kept[slot.index]["value"]
        left = [row for row in self.refine["regions"] if row["index"] is None]
        if not left:
            return f"Refine valued it at {value:.2f} and kept it."
        best = max(left, key=lambda row: row["value"])
        return (
            f"Refine valued it at {value:.2f} and kept it; the best stretch left out ({_span(best)}) is worth "
            f"{best['value']:.2f}: {best['outcome']}."
        )

    def _refined(self, slot: Slot) -> Reason:
        region, swap = self.regions[slot.index], self.swaps.get(slot.index)
        parts = ", ".join(f"{name} {region['normalised'][name]:.2f}" for name in region["normalised"])
        why = f"It speaks for the stretch {_span(region)}, left out before and worth {region['value']:.2f} ({parts})."
        if swap is None:  # with Cover left out nothing is replaced
            return Reason((why, self._by_relevance(slot)), self._left_out_around(slot))
        more = f"That is {swap['margin']:.2f} more than the context frame at {self.at(swap['out'])}, which it replaced."
        gone = self.kept[swap["out"]]
        near = Near(self.time_s(swap["out"]), f"The context frame it replaced, worth {gone['value']:.2f}.")
        return Reason((why, more, self._by_relevance(slot)), (near,))

    def _inside(self, row: Mapping[str, Any]) -> list[int]:
        times = np.asarray(self.basis.times_s)
        return np.flatnonzero((times >= row["start_s"]) & (times <= row["end_s"])).tolist()


def _nth(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _quote(text: str) -> str:
    words = " ".join(text.split())
    return f"“{words if len(words) <= QUOTED else words[: QUOTED - 1] + '…'}”"


def _span(row: Mapping[str, Any]) -> str:
    first, last = short_clock(row["start_s"]), short_clock(row["end_s"])
    return first if first == last else f"{first} – {last}"


def short_clock(time_s: float) -> str:
    """The time without thousandths where there are none."""
    return clock(time_s).removesuffix(".000")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
