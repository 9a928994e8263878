"""Building the Selection of a selector, adding to its trace, and the warning about distant texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from framesift._utils.text import clock
from framesift.types import CandidateIndex, Event, Evidence, Role, Selection, Slot, VideoSpan
from framesift.types.video import time_label

# A selector may attach a text to frames this near to it; farther away, the video has no frame at the text's time.
TEXT_REACH_S = 2.0


def build_selection(
    evidence: Evidence,
    picked: Iterable[int],
    role: Role = "visual",
    *,
    carried: Mapping[int, Event] | None = None,
    scores: Mapping[int, float] | None = None,
    **trace: Any,
) -> Selection:
    """A selection of these frames, listed in the order picked; `Selector.run` adds its name, budget and options.

    carried: frame index → the event it carries, as a ground slot. scores: of the frames that were scored, for evidence
    without relevance. trace: further entries of the trace, JSON values only.
    """
    given, known = carried or {}, scores or {}
    indices = [CandidateIndex(index) for index in picked]
    slots = tuple(
        Slot(
            int(index),
            float(evidence.times_s[index]),
            "ground" if index in given else role,
            float(evidence.relevance[index]) if evidence.is_scored else known.get(index, 0.0),
            given.get(index),
        )
        for index in indices
    )
    return Selection(slots, "", 0, {"picked": indices} | trace)


def add_to_trace(selection: Selection, **detail: Any) -> Selection:
    """Return the selection with more entries (JSON values only) in its trace."""
    return replace(selection, trace={**selection.trace, **detail})


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
