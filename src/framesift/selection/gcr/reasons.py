"""Why GCR selected each frame: the three stages, each with the numbers that decided."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from framesift._utils.text import ordinal, quoted
from framesift.selection.explainer import Alternative, Explainer, as_sentence
from framesift.selection.gcr.ground import NOT_REACHED
from framesift.selection.trace import CoverTrace, EventRow, GCREventRow, RefineTrace, RegionRow
from framesift.types import Basis, Selection, Slot


class GCRExplainer(Explainer):
    """GCR's three stages, each with the numbers that decided."""

    def __init__(self, selection: Selection, basis: Basis) -> None:
        super().__init__(selection, basis)
        self.cover = self.trace.cover or CoverTrace([], [])
        self.refine = self.trace.refine or RefineTrace(False, "there was nothing to do")
        self.context_values = {row.index: row.value for row in self.refine.context or ()}

    def why(self, slot: Slot) -> tuple[str, ...]:
        if slot.role == "refined":
            span = self.span(self._region(slot))
            return (f"Shows the part at {span}, which the frames selected first left out.",)
        return super().why(slot)

    def details(self, slot: Slot) -> tuple[str, ...]:
        if self.trace.ground is None:
            return super().details(slot)
        if self.trace.note and slot.role == "context":
            return (as_sentence(self.trace.note),)
        by_role = {"ground": self._ground, "visual": self._visual, "context": self._context, "refined": self._refined}
        return tuple(by_role[slot.role](slot))

    def strength(self, slot: Slot) -> float:
        return self._region(slot).value if slot.role == "refined" else super().strength(slot)

    def alternatives(self, slot: Slot) -> tuple[Alternative, ...]:
        if slot.role == "ground" and slot.index in self.event_rank:
            rank = self.event_rank[slot.index]
            others = self._others_during(slot, self.events[rank - 1])
            best = self.most_relevant(others, "A less relevant frame of the same event ({:.3f}).")
            return (*best, *self._next_event(rank))
        if slot.role == "visual":
            everywhere = range(len(self.rank))
            return self.most_relevant(everywhere, "The most relevant omitted frame of the video ({:.3f}).")
        swap = self._swap(slot) if slot.role == "refined" else None
        if swap is None:
            return super().alternatives(slot)
        value = self.context_values[swap["out"]]
        sentence = f"The context frame that it replaced, evidence value {value:.2f}."
        return (Alternative(self.time_s(swap["out"]), sentence),)

    def _ground(self, slot: Slot) -> list[str]:
        rank = self.event_rank[slot.index]
        row, ground = self.events[rank - 1], self.trace.ground
        visual = row.visual_relevance if isinstance(row, GCREventRow) else 0.0
        demand = (ground and ground.visual_demand) or 0.0
        contained = ", ".join(map(quoted, (ground and ground.demand_cues) or ()))
        cues = f", because the question contains {contained}" if contained else ""
        details = [
            f"Its event ({self.span(row)}) ranks {ordinal(rank)} of {len(self.events)} with a score of "
            f"{row.score:.2f}: relevance of its text {row.text_relevance:.3f}, of its frames {visual:.3f}, each "
            f"normalised over all events and weighted {1 - demand:.1f} to {demand:.1f}{cues}."
        ]
        if others := self._others_during(slot, row):
            details.append(f"It is the most relevant of the {len(others) + 1} available frames during the event.")
        return details

    def _next_event(self, rank: int) -> tuple[Alternative, ...]:
        """After the last event that got a frame: the next one, which got none."""
        following = self.events[rank : rank + 1]
        if not following or following[0].outcome != NOT_REACHED:
            return ()
        row = following[0]
        middle = (row.start_s + row.end_s) / 2
        first, times_s = self.basis.considered.start, np.asarray(self.basis.times_s)[self.basis.considered]
        nearest = first + int(np.abs(times_s - middle).argmin())
        sentence = f"The next event by score ({row.score:.2f}), {quoted(row.text)}: the budget for events was used up."
        return (Alternative(self.time_s(nearest), sentence),)

    def _visual(self, slot: Slot) -> list[str]:
        rank = self.cover.visual.index(slot.index) + 1
        return [f"It is the {ordinal(rank)} by relevance among the frames not selected for an event."]

    def _context(self, slot: Slot) -> list[str]:
        rank, row = next((k, row) for k, row in enumerate(self.cover.context, 1) if row.index == slot.index)
        picked = f"Picked {ordinal(rank)} for context by relevance ({slot.relevance:.3f})"
        if row.closest is not None:
            most_similar = f"{row.redundancy:.2f} to {self.label(self.time_s(row.closest))}"
            picked += f" minus similarity to the frames selected before it ({most_similar})"
        return [f"{picked}.", self._refine_sentence(slot)]

    def _refine_sentence(self, slot: Slot) -> str:
        if slot.index not in self.context_values:
            return f"Refine {'ran' if self.refine.ran else 'did not run'}: {self.refine.reason}."
        kept = f"Refine kept it with an evidence value of {self.context_values[slot.index]:.2f}"
        omitted = [row for row in self.refine.regions or () if row.index is None]
        if not omitted:
            return f"{kept}."
        best = max(omitted, key=lambda row: row.value)
        return f"{kept}; the best omitted segment ({self.span(best)}) has {best.value:.2f}: {best.outcome}."

    def _refined(self, slot: Slot) -> list[str]:
        region, swap = self._region(slot), self._swap(slot)
        parts = ", ".join(f"{name} {value:.2f}" for name, value in region.normalised.items())
        details = [f"It represents the segment {self.span(region)}, evidence value {region.value:.2f} ({parts})."]
        if swap is not None:  # without Cover nothing is replaced
            out = self.label(self.time_s(swap["out"]))
            details.append(f"That is {swap['margin']:.2f} more than the context frame it replaced, at {out}.")
        return details

    def _region(self, slot: Slot) -> RegionRow:
        return next(row for row in self.refine.regions or () if row.index == slot.index)

    def _swap(self, slot: Slot) -> Mapping[str, Any] | None:
        return next((swap for swap in self.refine.swaps or () if swap["in"] == slot.index), None)

    def _others_during(self, slot: Slot, row: EventRow) -> list[int]:
        times = np.asarray(self.basis.times_s)
        during = np.flatnonzero((times >= row.start_s) & (times <= row.end_s)).tolist()
        return [k for k in during if k != slot.index and k not in self.unavailable]
