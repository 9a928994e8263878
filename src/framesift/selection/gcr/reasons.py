"""Why GCR selected each frame: the three stages, each with the numbers that decided."""

import numpy as np

from framesift._utils.text import ordinal, quoted
from framesift.selection.explainer import Alternative, Explainer, Reason, as_sentence
from framesift.selection.gcr.ground import NOT_REACHED
from framesift.selection.trace import CoverTrace, EventRow, GCREventRow, GroundTrace, RefineTrace
from framesift.types import Basis, Selection, Slot


class GCRExplainer(Explainer):
    """GCR's three stages, each with the numbers that decided."""

    def __init__(self, selection: Selection, basis: Basis) -> None:
        super().__init__(selection, basis)
        self.ground = self.trace.ground or GroundTrace(0, [])
        self.cover = self.trace.cover or CoverTrace([], [])
        self.refine = self.trace.refine or RefineTrace(False, "there was nothing to do")
        self.events = sorted(self.ground.events, key=lambda row: (-row.score, row.start_s, row.position))
        self.context_values = {row.index: row.value for row in self.refine.context or ()}

    def explain_slot(self, slot: Slot) -> Reason:
        if self.trace.ground is None:
            return super().explain_slot(slot)
        if self.trace.note and slot.role == "context":
            return Reason((as_sentence(self.trace.note), self.rank_sentence(slot)))
        by_role = {"ground": self._ground, "visual": self._visual, "context": self._context, "refined": self._refined}
        return by_role[slot.role](slot)

    def _ground(self, slot: Slot) -> Reason:
        rank, row = next((k, row) for k, row in enumerate(self.events, 1) if row.index == slot.index)
        visual = row.visual_relevance if isinstance(row, GCREventRow) else 0.0
        demand, contained = self.ground.visual_demand or 0.0, ", ".join(map(quoted, self.ground.demand_cues or ()))
        cues = f", because the question contains {contained}" if contained else ""
        why = [
            f"Its event ({self.span(row)}) ranks {ordinal(rank)} of {len(self.events)} for the question.",
            f"The event {quoted(row.text)} scores {row.score:.2f}: relevance of its text "
            f"{row.text_relevance:.3f}, of its frames {visual:.3f}, each normalised over all "
            f"events and weighted {1 - demand:.1f} to {demand:.1f}{cues}.",
        ]
        others = [k for k in self._during(row) if k != slot.index and k not in self.unavailable]
        if not others:
            return Reason((*why, self.rank_sentence(slot)), self._next_event(rank))
        why.append(f"It is the most relevant of the {len(others) + 1} available frames during the event.")
        best = min(others, key=lambda k: self.rank[k])
        same_event = Alternative(
            self.time_s(best), f"A less relevant frame of the same event ({self.basis.relevance[best]:.3f})."
        )
        return Reason((*why, self.rank_sentence(slot)), (same_event, *self._next_event(rank)))

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

    def _visual(self, slot: Slot) -> Reason:
        rank = self.cover.visual.index(slot.index) + 1
        why = f"A visual match: {ordinal(rank)} by relevance among the frames not selected for an event."
        omitted = [k for k in range(len(self.rank)) if k not in self.unavailable]
        if not omitted:
            return Reason((why, self.rank_sentence(slot)))
        best = min(omitted, key=lambda k: self.rank[k])
        sentence = f"The most relevant omitted frame of the video ({self.basis.relevance[best]:.3f})."
        return Reason((why, self.rank_sentence(slot)), (Alternative(self.time_s(best), sentence),))

    def _context(self, slot: Slot) -> Reason:
        rank, row = next((k, row) for k, row in enumerate(self.cover.context, 1) if row.index == slot.index)
        why = f"Context, picked {ordinal(rank)} by relevance ({slot.relevance:.3f})"
        if row.closest is not None:
            most_similar = f"{row.redundancy:.2f} to {self.label(self.time_s(row.closest))}"
            why += f" minus similarity to the frames selected before it ({most_similar})"
        return Reason((f"{why}.", self._refine_sentence(slot)), self.best_omitted_nearby(slot))

    def _refine_sentence(self, slot: Slot) -> str:
        if slot.index not in self.context_values:
            return f"Refine {'ran' if self.refine.ran else 'did not run'}: {self.refine.reason}."
        kept = f"Refine kept it with an evidence value of {self.context_values[slot.index]:.2f}"
        omitted = [row for row in self.refine.regions or () if row.index is None]
        if not omitted:
            return f"{kept}."
        best = max(omitted, key=lambda row: row.value)
        return f"{kept}; the best omitted segment ({self.span(best)}) has {best.value:.2f}: {best.outcome}."

    def _refined(self, slot: Slot) -> Reason:
        region = next(row for row in self.refine.regions or () if row.index == slot.index)
        swap = next((swap for swap in self.refine.swaps or () if swap["in"] == slot.index), None)
        parts = ", ".join(f"{name} {value:.2f}" for name, value in region.normalised.items())
        why = f"It represents the omitted segment {self.span(region)}, evidence value {region.value:.2f} ({parts})."
        if swap is None:  # without Cover nothing is replaced
            return Reason((why, self.rank_sentence(slot)), self.best_omitted_nearby(slot))
        out_s, value = self.time_s(swap["out"]), self.context_values[swap["out"]]
        more = f"That is {swap['margin']:.2f} more than the context frame it replaced, at {self.label(out_s)}."
        replaced = Alternative(out_s, f"The context frame that it replaced, evidence value {value:.2f}.")
        return Reason((why, more, self.rank_sentence(slot)), (replaced,))

    def _during(self, row: EventRow) -> list[int]:
        times = np.asarray(self.basis.times_s)
        return np.flatnonzero((times >= row.start_s) & (times <= row.end_s)).tolist()
