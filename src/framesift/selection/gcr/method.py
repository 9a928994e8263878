"""GCR: Ground, Cover and Refine connected, with a trace of every decision.

Wei et al., "Ground, Cover, and Refine: Evidence-Centric Frame Selection for Long-Video Question Answering".
"""

from typing import Any

import numpy as np

from framesift.errors import OptionError
from framesift.selection.gcr.ablation import fill_without_cover
from framesift.selection.gcr.config import GCRConfig
from framesift.selection.gcr.cover import fill_by_mmr, top_frames
from framesift.selection.gcr.ground import ground
from framesift.selection.gcr.reasons import explain_gcr
from framesift.selection.gcr.refine import evidence_values, omitted_regions, region_gaps, swap_regions
from framesift.selection.gcr.trace import (
    Trace,
    context_trace,
    coverless_trace,
    ground_trace,
    index_rows,
    refinement_trace,
)
from framesift.selection.scores import Ranking
from framesift.selection.selector import Selector
from framesift.selection.similarity_cache import SimilarityCache
from framesift.selection.validation import check_options
from framesift.types import CandidateIndex, Evidence, Role, Selection, Slot, VisualDemand
from framesift.types.vectors import TIE_TOLERANCE


def gcr(evidence: Evidence, budget: int, **options: Any) -> Selection:
    """Select frames that ground events, cover the video and refine the selection with omitted regions.

    options: any field of `GCRConfig`. The trace states what was decided at each step; docs/selection.md explains it.
    """
    check_options("gcr", options, SELECTOR.options)
    _reject_unused_demand(evidence, options)
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
    visual = top_frames(
        ranking, evidence.times_s, anchors, size=min(k_visual, size - len(anchors)), gap_s=config.visual_gap_s
    )
    core = [*anchors, *visual]
    cover: Trace = {"visual": list(map(CandidateIndex, visual))}
    swapped_in: set[int] = set()
    if count <= budget:
        context = sorted(set(range(count)) - set(core))
        cover["context"] = index_rows(context)
        refine: Trace = {"ran": False, "reason": "every candidate is selected"}
    elif config.without == "cover":
        fill = fill_without_cover(ranking, evidence.vectors, core, size=size, top_mean=config.top_mean)
        context, swapped_in = fill.uniform, set(fill.swapped_in.values())
        cover["context"] = index_rows(context)
        refine = coverless_trace(evidence, fill)
    else:
        cache = fill_by_mmr(ranking.scores, evidence.vectors, core, size=size, weight=config.mmr_weight)
        context = cache.selected[len(core) :]
        cover["context"] = context_trace(ranking.scores, cache, len(core), config.mmr_weight)
        refine = _refine(evidence, ranking, cache, context, config, k_refine)
        swaps = refine.get("swaps", ())
        swapped_in, swapped_out = {swap["in"] for swap in swaps}, {swap["out"] for swap in swaps}
        context = [index for index in context if index not in swapped_out]
    roles: dict[int, Role] = dict.fromkeys(context, "context")
    roles |= dict.fromkeys(swapped_in, "refined")
    roles |= dict.fromkeys(visual, "visual")
    roles |= dict.fromkeys(anchors, "ground")
    indices = list(roles)
    times_s, relevance = evidence.times_s[indices].tolist(), evidence.relevance[indices].tolist()
    events = [evidence.events[anchors[index]] if index in anchors else None for index in indices]
    slots = tuple(map(Slot, indices, times_s, roles.values(), relevance, events))
    trace: Trace = {
        "quotas": {"ground": k_ground, "visual": k_visual, "refine": k_refine},
        "ground": ground_trace(evidence, grounding, demand),
        "cover": cover,
        "refine": refine,
    }
    if config.without == "cover" and count >= budget:
        trace["note"] = "Cover is left out: regions, then evenly spaced frames, fill the budget after Ground's anchors"
    return Selection(slots, "", 0, trace)


def _reject_unused_demand(evidence: Evidence, options: dict[str, object]) -> None:
    unused = [name for name in options if name.startswith("demand_")]
    if unused and (not isinstance(evidence.visual_demand, VisualDemand) or evidence.visual_demand.kind == "given"):
        raise OptionError(
            f"{unused[0]} would change nothing: this evidence sets visual_demand = {float(evidence.visual_demand)} "
            "itself; pass visual_demand(question) to use the keyword rules"
        )


def _refine(
    evidence: Evidence, ranking: Ranking, cache: SimilarityCache, context: list[int], config: GCRConfig, max_swaps: int
) -> Trace:
    """Run Refine if the gate is open and swaps are possible; return its part of the trace."""
    regions = omitted_regions(cache.selected, len(evidence))
    largest_s = float(region_gaps(regions, evidence.times_s, evidence.start_s, evidence.duration_s).max())
    share = largest_s / evidence.length_s
    trace: Trace = {"ran": False, "largest_gap_s": largest_s, "gap_share": share, "gate": config.gate}
    if share < config.gate - TIE_TOLERANCE:
        return trace | {"reason": f"the largest gap is {share:.1%} of the video, below the gate of {config.gate:.1%}"}
    if config.without == "refine":
        return trace | {"reason": "it is left out"}
    if max_swaps == 0 or not context:
        return trace | {"reason": "no swap is allowed" if max_swaps == 0 else "there is no context frame to replace"}
    frames = np.array(context)
    values = evidence_values(ranking, cache, regions, frames, top_mean=config.top_mean)
    result = swap_regions(values, evidence.vectors, regions, frames, max_swaps=max_swaps)
    reason = f"the largest gap is {share:.1%} of the video, at or above the gate of {config.gate:.1%}"
    return trace | {"ran": True, "reason": reason} | refinement_trace(evidence, regions, context, values, result)


SELECTOR = Selector(
    "gcr",
    gcr,
    "ground events, cover the video, refine with omitted regions",
    GCRConfig.defaults(),
    paper="Wei et al., Ground, Cover, and Refine",
    needs=("vectors", "events", "demand"),
    gives_text=True,
    explainer=explain_gcr,
)
