"""The Selection of a selector that gives all its frames one role."""

from collections.abc import Iterable, Mapping
from typing import Any

from framesift.records import Evidence, Role, Selection, Slot


def selection_of(
    evidence: Evidence, budget: int, method: str, chosen: Iterable[int], role: Role, options: Mapping[str, object]
) -> Selection:
    """chosen: frame indices in the order they were picked, which the trace keeps."""
    picked = [int(index) for index in chosen]
    slots = tuple(Slot(i, float(evidence.times_s[i]), role, float(evidence.relevance[i])) for i in picked)
    trace: dict[str, Any] = {
        "candidates": len(evidence),
        "duration_s": evidence.duration_s,
        "options": dict(options),
        "picked": picked,
    }
    if len(evidence) < budget:
        trace["note"] = f"the video has {len(evidence)} candidates for a budget of {budget}: all are taken"
    return Selection(slots, method, budget, trace)
