"""The parts of GCR's trace: JSON values that state what each stage decided and why."""

from collections.abc import Iterable
from typing import Any

from framesift.selection.gcr.ablation import CoverlessFill
from framesift.selection.gcr.ground import Grounding
from framesift.selection.gcr.refine import DIMENSIONS, EvidenceValues, Refinement, Regions
from framesift.selection.similarity_cache import SimilarityCache
from framesift.types import CandidateIndex, Evidence, VisualDemand
from framesift.types.vectors import Array

Trace = dict[str, Any]


def ground_trace(evidence: Evidence, grounding: Grounding, demand: float) -> Trace:
    """The visual demand used, and one row per event."""
    given = evidence.visual_demand
    frames = {event: CandidateIndex(frame) for frame, event in grounding.anchors.items()}
    columns = zip(
        evidence.event_positions,
        evidence.events,
        grounding.text.tolist(),
        grounding.visual.tolist(),
        grounding.score.tolist(),
        map(frames.get, range(len(evidence.events))),
        grounding.outcome,
        strict=True,
    )
    rows = [
        {
            "position": position,
            "start_s": event.start_s,
            "end_s": event.end_s,
            "text": event.text,
            "text_relevance": text,
            "visual_relevance": visual,
            "score": score,
            "outcome": outcome,
            "index": frame,
        }
        for position, event, text, visual, score, frame, outcome in columns
    ]
    return {
        "visual_demand": demand,
        "demand_kind": given.kind if isinstance(given, VisualDemand) else "given",
        "demand_cues": list(given.cues) if isinstance(given, VisualDemand) else [],
        "events_outside": evidence.events_outside,
        "events": rows,
    }


def index_rows(frames: Iterable[int]) -> list[Trace]:
    """One row per frame with nothing but its index."""
    return [{"index": CandidateIndex(index)} for index in frames]


def context_trace(relevance: Array, cache: SimilarityCache, core: int, weight: float) -> list[Trace]:
    """One row per context frame in the order picked, with the selected frame it was closest to at that time.

    core: how many of the selected frames are anchors. weight: that of relevance in MMR.
    """
    selected = cache.selected
    closest, redundancy = cache.closest_before(core)
    if core == 0:  # nothing was selected before the first frame
        redundancy[0] = 0.0
    score = weight * relevance[selected[core:]] - (1 - weight) * redundancy
    selected = list(map(CandidateIndex, selected))
    columns = zip(selected[core:], score.tolist(), redundancy.tolist(), closest.tolist(), strict=True)
    return [
        {"index": index, "score": s, "redundancy": r, "closest": None if index == selected[0] else selected[position]}
        for index, s, r, position in columns
    ]


def refinement_trace(
    evidence: Evidence, regions: Regions, context: list[int], values: EvidenceValues, result: Refinement
) -> Trace:
    """The swaps, and one row per region and per context frame with its evidence value."""
    return {
        "swaps": [
            {"out": CandidateIndex(out), "in": CandidateIndex(into), "margin": margin}
            for out, into, margin in result.swaps
        ],
        "regions": _region_rows(evidence, regions, values, result),
        "context": _with_values(index_rows(context), values, len(regions)),
    }


def coverless_trace(evidence: Evidence, fill: CoverlessFill) -> Trace:
    """Refine's part of the trace when Cover is left out and regions fill the budget."""
    result = Refinement([], fill.swapped_in, dict.fromkeys(range(len(fill.regions)), "the budget is full"))
    rows = _region_rows(evidence, fill.regions, fill.values, result)
    return {"ran": True, "reason": "Cover is left out, so regions fill the budget", "swaps": [], "regions": rows}


def _region_rows(evidence: Evidence, regions: Regions, values: EvidenceValues, result: Refinement) -> list[Trace]:
    first, last = regions.start, regions.stop - 1
    columns = (first, last, evidence.times_s[first], evidence.times_s[last])
    rows = [
        {
            "first": CandidateIndex(first),
            "last": CandidateIndex(last),
            "start_s": start_s,
            "end_s": end_s,
            "outcome": "swapped in" if region in result.swapped_in else result.rejections[region],
            "index": CandidateIndex(result.swapped_in[region]) if region in result.swapped_in else None,
        }
        for region, (first, last, start_s, end_s) in enumerate(zip(*(c.tolist() for c in columns), strict=True))
    ]
    return _with_values(rows, values, 0)


def _with_values(rows: list[Trace], values: EvidenceValues, offset: int) -> list[Trace]:
    """Add to each row its raw and normalised dimensions and their mean; `offset` is the first row's position."""
    part = slice(offset, offset + len(rows))
    columns = (values.raw, values.normalised, values.value)
    for row, raw, normalised, value in zip(rows, *(column[part].tolist() for column in columns), strict=True):
        row |= zip(DIMENSIONS, raw, strict=True)
        row["normalised"] = dict(zip(DIMENSIONS, normalised, strict=True))
        row["value"] = value
    return rows
