"""The parts of GCR's trace: JSON values that state what each stage decided and why."""

from typing import Any

import numpy as np

from framesift.selection.gcr.ablation import CoverlessFill
from framesift.selection.gcr.ground import Grounding
from framesift.selection.gcr.refine import DIMENSIONS, EvidenceValues, Refinement, Regions
from framesift.selection.similarity_cache import SimilarityCache
from framesift.types import Evidence, VisualDemand
from framesift.types.vectors import Array, dot_products

Trace = dict[str, Any]


def ground_trace(evidence: Evidence, grounding: Grounding, demand: float) -> Trace:
    """The visual demand used, and one row per event."""
    given = evidence.visual_demand
    columns = zip(
        evidence.event_positions,
        evidence.events,
        grounding.text.tolist(),
        grounding.visual.tolist(),
        grounding.score.tolist(),
        grounding.anchor.tolist(),
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
            "index": anchor if anchor >= 0 else None,
        }
        for position, event, text, visual, score, anchor, outcome in columns
    ]
    return {
        "visual_demand": demand,
        "demand_kind": given.kind if isinstance(given, VisualDemand) else "given",
        "demand_cues": list(given.cues) if isinstance(given, VisualDemand) else [],
        "events_outside": evidence.events_outside,
        "events": rows,
    }


def context_trace(relevance: Array, cache: SimilarityCache, core: int, weight: float) -> list[Trace]:
    """One row per context frame in the order picked, with the selected frame it was closest to at that time.

    core: how many of the selected frames are anchors. weight: that of relevance in MMR.
    """
    selected = np.array(cache.selected)
    rows = cache.vectors.rows[selected]
    cosines = dot_products(rows[core:], rows)
    # A context frame was compared only with the frames selected before it.
    cosines[np.arange(len(selected))[None, :] >= np.arange(core, len(selected))[:, None]] = -np.inf
    closest = cosines.argmax(axis=1)
    trace = []
    for k, index in enumerate(selected[core:].tolist()):
        is_first = core + k == 0
        redundancy = 0.0 if is_first else float(cosines[k, closest[k]])
        trace.append(
            {
                "index": index,
                "score": weight * float(relevance[index]) - (1 - weight) * redundancy,
                "redundancy": redundancy,
                "closest": None if is_first else int(selected[closest[k]]),
            }
        )
    return trace


def refinement_trace(
    evidence: Evidence, regions: Regions, context: list[int], values: EvidenceValues, result: Refinement
) -> Trace:
    """The swaps, and one row per region and per context frame with its evidence value."""
    return {
        "swaps": [{"out": out, "in": into, "margin": margin} for out, into, margin in result.swaps],
        "regions": _region_rows(evidence, regions, values, result),
        "context": _with_values([{"index": index} for index in context], values, len(regions)),
    }


def coverless_trace(evidence: Evidence, fill: CoverlessFill) -> Trace:
    """Refine's part of the trace when Cover is left out and regions fill the budget."""
    result = Refinement([], fill.swapped_in, dict.fromkeys(range(len(fill.regions)), "the budget is full"))
    rows = _region_rows(evidence, fill.regions, fill.values, result)
    return {"ran": True, "reason": "Cover is left out, so regions fill the budget", "swaps": [], "regions": rows}


def _region_rows(evidence: Evidence, regions: Regions, values: EvidenceValues, result: Refinement) -> list[Trace]:
    rows: list[Trace] = []
    for region, (first, after) in enumerate(zip(regions.start.tolist(), regions.stop.tolist(), strict=True)):
        rows.append(
            {
                "first": first,
                "last": after - 1,
                "start_s": float(evidence.times_s[first]),
                "end_s": float(evidence.times_s[after - 1]),
                "outcome": "swapped in" if region in result.swapped_in else result.rejections[region],
                "index": result.swapped_in.get(region),
            }
        )
    return _with_values(rows, values, 0)


def _with_values(rows: list[Trace], values: EvidenceValues, offset: int) -> list[Trace]:
    """Add to each row its raw and normalised dimensions and their mean; `offset` is the first row's position."""
    part = slice(offset, offset + len(rows))
    columns = zip(
        rows, values.raw[part].tolist(), values.normalised[part].tolist(), values.value[part].tolist(), strict=True
    )
    return [
        row
        | dict(zip(DIMENSIONS, raw, strict=True))
        | {"normalised": dict(zip(DIMENSIONS, normalised, strict=True)), "value": value}
        for row, raw, normalised, value in columns
    ]
