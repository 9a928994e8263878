"""Why each frame was selected and which alternatives were not, in sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from framesift._utils.text import clock, ordinal, quoted
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


class Explainer:
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
            return Reason((*self.sentences[slot.index], self.rank_sentence(slot)), self.best_omitted_nearby(slot))
        picked = list(self.trace.get("picked", ()))
        why = []
        if slot.index in picked:
            why.append(f"Picked {ordinal(picked.index(slot.index) + 1)} of {len(picked)} by {self.selection.method}.")
        else:
            why.append(f"Selected by {self.selection.method}.")
        if slot.event is not None:
            why.append(f"Event at this time: {quoted(slot.event.text)}.")
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

    def clock_at(self, index: int) -> str:
        return self.label(self.time_s(index))

    def label(self, time_s: float) -> str:
        return time_label(self.basis.videos, time_s, short_clock)

    def span(self, row: Mapping[str, Any]) -> str:
        first, last = self.label(row["start_s"]), self.label(row["end_s"])
        return first if first == last else f"{first} – {last}"


def short_clock(time_s: float) -> str:
    """The time as h:mm:ss, with milliseconds only where they are not zero."""
    return clock(time_s).removesuffix(".000")


def as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
