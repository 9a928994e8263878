"""Building the Selection of a selector that gives all its frames one role, and adding to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from framesift._utils.text import clock
from framesift.selection.frame_access import FrameAccess
from framesift.types import Event, Evidence, Role, Selection, Slot, VideoSpan
from framesift.types.video import time_label

# A selector may attach a text to frames this near to it; farther away, the video has no frame at the text's time.
TEXT_REACH_S = 2.0


def build_selection(
    evidence: Evidence,
    budget: int,
    method: str,
    indices: Iterable[int],
    role: Role,
    options: Mapping[str, object],
    *,
    access: FrameAccess | None = None,
) -> Selection:
    """Build the Selection and its trace from frame indices in the order they were picked.

    access: for selectors that do not inspect every frame; it counts those they did.
    """
    picked = [int(index) for index in indices]
    relevance = (lambda index: float(evidence.relevance[index])) if access is None else access.relevance
    slots = tuple(Slot(i, float(evidence.times_s[i]), role, relevance(i)) for i in picked)
    trace: dict[str, Any] = {
        "candidates": len(evidence),
        "duration_s": evidence.length_s,
        "options": dict(options),
        "looked_at": len(evidence) if access is None else access.frames_inspected,
        "picked": picked,
    }
    if len(evidence) < budget:
        trace["note"] = all_selected_note(len(evidence), budget)
    return Selection(slots, method, budget, trace)


def all_selected_note(candidates: int, budget: int) -> str:
    """The trace's note for a budget above the number of candidates."""
    if candidates == 1:
        return f"there is one candidate for a budget of {budget}: it is selected"
    return f"there are {candidates} candidates for a budget of {budget}: all are selected"


def add_to_trace(selection: Selection, **detail: Any) -> Selection:
    """Return the selection with more entries (JSON values only) in its trace."""
    return replace(selection, trace={**selection.trace, **detail})


def attach_events(selection: Selection, events: Mapping[int, Event]) -> Selection:
    """Return the selection with the frames in `events` (frame index → event) as ground slots that carry their event."""
    slots = tuple(
        replace(slot, role="ground", event=events[slot.index]) if slot.index in events else slot
        for slot in selection.slots
    )
    return replace(selection, slots=slots)


def text_without_frame(slot: Slot, videos: Sequence[VideoSpan] = ()) -> str:
    """The warning about a text that is shown on a frame far from its own time; empty if it is not.

    videos: where there are several, those of the joint timeline.
    """
    if slot.event is None or slot.text_distance_s <= TEXT_REACH_S:
        return ""
    times_s = slot.event.start_s, slot.event.end_s, slot.time_s
    start, end, at = (time_label(videos, time_s, _to_the_second) for time_s in times_s)
    return (
        f"the text at {start if start == end else f'{start}–{end}'} has no frame; it is shown on the frame at {at}, "
        f"{slot.text_distance_s:.0f} s away"
    )


def _to_the_second(time_s: float) -> str:
    return clock(round(time_s)).removesuffix(".000")
