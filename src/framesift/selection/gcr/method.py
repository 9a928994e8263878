"""GCR: Ground, Cover and Refine, wired together and explained.

Wei et al., "Ground, Cover, and Refine: Evidence-Centric Frame Selection for Long-Video Question Answering".
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from framesift.errors import OptionError
from framesift.selection.gcr.ablation import Filling, fill_without_cover
from framesift.selection.gcr.config import GCRConfig
from framesift.selection.gcr.cover import best_frames, fill_by_mmr
from framesift.selection.gcr.ground import Grounding, ground
from framesift.selection.gcr.refine import DIMENSIONS, Refinement, Worth, exchange, gaps, omitted_regions, worth
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector, check_options
from framesift.selection.similarity_cache import Nearness
from framesift.types import Evidence, Role, Selection, Slot, VisualDemand
from framesift.types.vectors import TIE, Array

Trace = dict[str, Any]


def gcr(evidence: Evidence, budget: int, **options: Any) -> Selection:
    """Choose frames that ground events, cover the video and leave nothing valuable out.

    options: any field of `GCRConfig`. The trace says what was decided at each step; docs/selection.md explains it.
    """
    check_options("gcr", options, GCRConfig.defaults())
    _refuse_idle_demand(evidence, options)
    config = GCRConfig(**options)
    k_ground, k_visual, k_refine = config.quotas(budget)
    count = len(evidence)
    size = min(budget, count)
    ranking = Ranking(evidence.relevance)
    demand = config.demand(evidence.visual_demand)
    grounding = ground(
        ranking,
        evidence.times_s,
        evidence.event_times_s,
        evidence.event_relevance,
        demand=demand,
        size=min(k_ground, size),
        top_mean=config.top_mean,
    )
    anchors = grounding.anchors
    visual = best_frames(
        ranking, evidence.times_s, anchors, size=min(k_visual, size - len(anchors)), gap_s=config.visual_gap_s
    )
    core = [*anchors, *visual]
    cover: Trace = {"visual": visual}
    if count <= budget:
        context = sorted(set(range(count)) - set(core))
        cover["context"] = [{"index": index} for index in context]
        entered: set[int] = set()
        refine: Trace = {"ran": False, "reason": "every candidate is taken"}
    elif config.without == "cover":
        filling = fill_without_cover(ranking, evidence.vectors, core, size=size, top_mean=config.top_mean)
        context, entered = filling.spread, set(filling.entered.values())
        cover["context"] = [{"index": index} for index in context]
        refine = _filling_trace(evidence, filling)
    else:
        near = fill_by_mmr(ranking.scores, evidence.vectors, core, size=size, weight=config.mmr_weight)
        context = near.members[len(core) :]
        cover["context"] = _context_trace(ranking.scores, near, len(core), config.mmr_weight)
        refine = _refine(evidence, ranking, near, context, config, k_refine)
        entered = {swap["in"] for swap in refine.get("swaps", ())}
        context = [f for f in context if f not in {swap["out"] for swap in refine.get("swaps", ())}]
    roles: dict[int, Role] = dict.fromkeys(context, "context")
    roles |= dict.fromkeys(entered, "refined")
    roles |= dict.fromkeys(visual, "visual")
    roles |= dict.fromkeys(anchors, "ground")
    slots = tuple(_slot(evidence, index, role, anchors) for index, role in roles.items())
    trace: Trace = {
        "candidates": count,
        "duration_s": evidence.duration_s,
        "options": asdict(config),
        "looked_at": count,
        "quotas": {"ground": k_ground, "visual": k_visual, "refine": k_refine},
        "ground": _ground_trace(evidence, grounding, demand),
        "cover": cover,
        "refine": refine,
    }
    if config.without == "cover":
        trace["note"] = "Cover is left out: regions, then evenly spaced frames, take what Ground's anchors leave"
    if count < budget:
        trace["note"] = f"the video has {count} candidates for a budget of {budget}: all are taken"
    return Selection(slots, "gcr", budget, trace)


def _slot(evidence: Evidence, index: int, role: Role, anchors: dict[int, int]) -> Slot:
    event = evidence.events[anchors[index]] if index in anchors else None
    return Slot(index, float(evidence.times_s[index]), role, float(evidence.relevance[index]), event)


def _refuse_idle_demand(evidence: Evidence, options: dict[str, object]) -> None:
    idle = [name for name in options if name.startswith("demand_")]
    if idle and (not isinstance(evidence.visual_demand, VisualDemand) or evidence.visual_demand.kind == "given"):
        raise OptionError(
            f"{idle[0]} would change nothing: this evidence states visual_demand = {float(evidence.visual_demand)} "
            "itself; pass visual_demand(question) to let the keyword rules decide"
        )


def _refine(
    evidence: Evidence, ranking: Ranking, near: Nearness, context: list[int], config: GCRConfig, most: int
) -> Trace:
    """Run Refine if the gate is open and there is something to swap; what happened, as the trace's part."""
    start, stop = omitted_regions(near.members, len(evidence))
    spans = gaps(start, stop, evidence.times_s, evidence.duration_s)
    largest_s = float(spans.max())
    share = largest_s / evidence.duration_s
    trace: Trace = {"ran": False, "largest_gap_s": largest_s, "gap_share": share, "gate": config.gate}
    if share < config.gate - TIE:
        return trace | {"reason": f"the largest gap is {share:.1%} of the video, below the gate of {config.gate:.1%}"}
    if config.without == "refine":
        return trace | {"reason": "it is left out"}
    if most == 0 or not context:
        return trace | {"reason": "no swap is allowed" if most == 0 else "there is no context frame to replace"}
    frames = np.array(context)
    values = worth(ranking, near, start, stop, frames, top_mean=config.top_mean)
    result = exchange(values, evidence.vectors, start, stop, frames, most=most)
    trace |= {
        "ran": True,
        "reason": f"the largest gap is {share:.1%} of the video, at or above the gate of {config.gate:.1%}",
        "swaps": [{"out": out, "in": into, "margin": margin} for out, into, margin in result.swaps],
        "regions": _region_trace(evidence, start, stop, values, result),
        "context": _worth_rows([{"index": index} for index in context], values, len(start)),
    }
    return trace


def _filling_trace(evidence: Evidence, filling: Filling) -> Trace:
    """What Refine's regions did when they filled a budget that Cover had not."""
    result = Refinement([], filling.entered, dict.fromkeys(range(len(filling.start)), "the budget is full"))
    rows = _region_trace(evidence, filling.start, filling.stop, filling.values, result)
    return {"ran": True, "reason": "Cover is left out, so its regions fill the budget", "swaps": [], "regions": rows}


def _ground_trace(evidence: Evidence, grounding: Grounding, demand: float) -> Trace:
    stated = evidence.visual_demand
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
        "demand_kind": stated.kind if isinstance(stated, VisualDemand) else "given",
        "demand_cues": list(stated.cues) if isinstance(stated, VisualDemand) else [],
        "events_outside": evidence.events_outside,
        "events": rows,
    }


def _context_trace(relevance: Array, near: Nearness, core: int, weight: float) -> list[Trace]:
    """Each context frame in the order picked, with what it was closest to when it was picked."""
    members = np.array(near.members)
    picked = members[core:]
    rows = near.vectors.rows[members].astype(np.float64)
    cosines = rows[core:] @ rows.T
    # The frame in row k of `picked` knew the members before it alone.
    cosines[np.arange(len(members))[None, :] >= np.arange(core, len(members))[:, None]] = -np.inf
    closest = cosines.argmax(axis=1)
    out = []
    for k, index in enumerate(picked.tolist()):
        alone = core + k == 0
        redundancy = 0.0 if alone else float(cosines[k, closest[k]])
        out.append(
            {
                "index": index,
                "score": weight * float(relevance[index]) - (1 - weight) * redundancy,
                "redundancy": redundancy,
                "closest": None if alone else int(members[closest[k]]),
            }
        )
    return out


def _region_trace(evidence: Evidence, start: Array, stop: Array, values: Worth, result: Refinement) -> list[Trace]:
    rows: list[Trace] = []
    for region, (first, after) in enumerate(zip(start.tolist(), stop.tolist(), strict=True)):
        entered = region in result.entered
        rows.append(
            {
                "first": first,
                "last": after - 1,
                "start_s": float(evidence.times_s[first]),
                "end_s": float(evidence.times_s[after - 1]),
                "outcome": "swapped in" if entered else result.refusals[region],
                "index": result.entered.get(region),
            }
        )
    return _worth_rows(rows, values, 0)


def _worth_rows(rows: list[Trace], values: Worth, offset: int) -> list[Trace]:
    """Add to each row its three raw and normalised dimensions and their mean."""
    part = slice(offset, offset + len(rows))
    columns = zip(
        rows, values.raw[part].tolist(), values.scaled[part].tolist(), values.value[part].tolist(), strict=True
    )
    return [
        row
        | dict(zip(DIMENSIONS, raw, strict=True))
        | {"normalised": dict(zip(DIMENSIONS, scaled, strict=True)), "value": value}
        for row, raw, scaled, value in columns
    ]


SELECTOR = Selector(
    "gcr",
    gcr,
    "ground events, cover the video, refine what was left out",
    GCRConfig.defaults(),
    paper="Wei et al., Ground, Cover, and Refine",
    needs=("vectors", "events"),
)
