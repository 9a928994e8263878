"""The Selection of a selector that gives its frames one role, and what may be added to it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from framesift.selection.frame_access import Look
from framesift.types import Event, Evidence, Role, Selection, Slot


def selection_of(
    evidence: Evidence,
    budget: int,
    method: str,
    chosen: Iterable[int],
    role: Role,
    options: Mapping[str, object],
    *,
    look: Look | None = None,
) -> Selection:
    """chosen: frame indices in the order they were picked, which the trace keeps. look: of a selector that used one."""
    picked = [int(index) for index in chosen]
    relevance = (lambda index: float(evidence.relevance[index])) if look is None else look.relevance
    slots = tuple(Slot(i, float(evidence.times_s[i]), role, relevance(i)) for i in picked)
    trace: dict[str, Any] = {
        "candidates": len(evidence),
        "duration_s": evidence.duration_s,
        "options": dict(options),
        "looked_at": len(evidence) if look is None else look.looked_at,
        "picked": picked,
    }
    if len(evidence) < budget:
        trace["note"] = f"the video has {len(evidence)} candidates for a budget of {budget}: all are taken"
    return Selection(slots, method, budget, trace)


def with_trace(selection: Selection, **detail: Any) -> Selection:
    """The same selection, with more said of how it came about (JSON values only)."""
    return replace(selection, trace={**selection.trace, **detail})


def with_events(selection: Selection, events: Mapping[int, Event]) -> Selection:
    """The same selection; the frames named in `events` are ground slots that carry their event."""
    slots = tuple(
        replace(slot, role="ground", event=events[slot.index]) if slot.index in events else slot
        for slot in selection.slots
    )
    return replace(selection, slots=slots)
