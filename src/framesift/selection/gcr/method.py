"""GCR: Ground, Cover and Refine connected, with a trace of every decision.

Wei et al., "Ground, Cover, and Refine: Evidence-Centric Frame Selection for Long-Video Question Answering".
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from framesift.errors import OptionError
from framesift.selection.gcr.cover import context_rows, fill_by_mmr, top_frames
from framesift.selection.gcr.ground import event_rows, ground
from framesift.selection.gcr.reasons import GCRExplainer
from framesift.selection.gcr.refine import (
    evidence_values,
    fill_by_regions,
    omitted_regions,
    region_gaps,
    region_rows,
    swap_regions,
    value_rows,
)
from framesift.selection.scores import Ranking
from framesift.selection.selector import Amount, Count, Share, check_choice, check_fields, selector
from framesift.selection.similarity_cache import SimilarityCache
from framesift.selection.trace import CoverTrace, GroundTrace, RefineTrace, ValueRow
from framesift.types import CandidateIndex, Evidence, Role, Selection, VisualDemand
from framesift.types.selection import make_slots
from framesift.types.vectors import TIE_TOLERANCE

STAGES = ("ground", "cover", "refine")


@dataclass(frozen=True)
class GCRConfig:
    """The settings of GCR; each field is an option of the selector `gcr`."""

    alpha_ground: Share = 1 / 4  # share of the budget for event anchors
    alpha_visual: Share = 1 / 8  # share of the budget for visual anchors
    alpha_refine: Share = 1 / 8  # share of the budget that may be swapped
    gate: Share = 0.10  # τ_g: Refine runs when the largest gap is at least this share of the video
    mmr_weight: Share = 0.5  # of relevance against redundancy
    top_mean: Count = 2  # number of best frames whose mean relevance is that of an event or a region
    visual_gap_s: Amount = 0.0  # minimum seconds between visual anchors
    demand_textual: Share = 0.2  # d_q of a question about speech
    demand_visual: Share = 0.8  # d_q of a question about what is visible
    demand_neutral: Share = 0.5  # d_q of a question about both or neither
    without: Annotated[str, partial(check_choice, choices=("", *STAGES))] = ""  # ablation: a stage to leave out

    def __post_init__(self) -> None:
        check_fields(self)

    def quotas(self, budget: int) -> tuple[int, int, int]:
        """K_g, K_v, K_r: each share of the budget, rounded half up; 0 for a stage left out."""
        shares = {"ground": self.alpha_ground, "cover": self.alpha_visual, "refine": self.alpha_refine}
        # The small addition makes 0.29 · 50 = 14.499999999999998 round as 14.5.
        ground, visual, refine = (
            0 if stage == self.without else math.floor(alpha * budget + 0.5 + 1e-9) for stage, alpha in shares.items()
        )
        return ground, visual, refine

    def demand(self, stated: float) -> float:
        """d_q: as stated, or this config's value for the kind of question the keyword rules determined."""
        kind = stated.kind if isinstance(stated, VisualDemand) else "given"
        by_kind = {"textual": self.demand_textual, "visual": self.demand_visual}
        by_kind |= dict.fromkeys(("both", "neither"), self.demand_neutral)
        return by_kind.get(kind, float(stated))


@selector(
    "ground events, cover the video, refine with omitted regions",
    paper="Wei et al., Ground, Cover, and Refine",
    needs=("vectors", "events", "demand"),
    config=GCRConfig,
    gives_text=True,
    explainer=GCRExplainer,
)
def gcr(evidence: Evidence, budget: int, *, config: GCRConfig) -> Selection:
    """Select frames that ground events, cover the video and refine the selection with omitted regions.

    The trace states what was decided at each step; docs/selection.md explains it.
    """
    _reject_unused_demand(evidence, config)
    k_ground, k_visual, k_refine = config.quotas(budget)
    count = len(evidence)
    size = min(budget, count)
    ranking = Ranking(evidence.relevance)
    demand = config.demand(evidence.visual_demand)
    grounding = ground(evidence, ranking, demand=demand, size=min(k_ground, size), top_mean=config.top_mean)
    anchors = grounding.anchors
    most = min(k_visual, size - len(anchors))
    visual = top_frames(ranking, evidence.times_s, anchors, size=most, gap_s=config.visual_gap_s)
    core = [*anchors, *visual]
    swapped_in = set()
    rows: Any = None
    if count <= budget:
        context = sorted(set(range(count)) - set(core))
        refine = RefineTrace(False, "every candidate is selected")
    elif config.without == "cover":
        filled = fill_by_regions(ranking, evidence.vectors, core, size=size, top_mean=config.top_mean)
        regions, values, frames, context = filled
        swapped_in = set(frames.values())
        full = {region: "the budget is full" for region in range(len(regions)) if region not in frames}
        reason = "Cover is left out, so regions fill the budget"
        refine = RefineTrace(True, reason, swaps=[], regions=region_rows(evidence, regions, values, frames, full))
    else:
        cache = fill_by_mmr(ranking.scores, evidence.vectors, core, size=size, weight=config.mmr_weight)
        rows = context_rows(ranking.scores, cache, len(core), config.mmr_weight)
        refine = _refine(evidence, ranking, cache, cache.selected[len(core) :], config, k_refine)
        swapped_in = {swap["in"] for swap in refine.swaps or ()}
        swapped_out = {swap["out"] for swap in refine.swaps or ()}
        context = [index for index in cache.selected[len(core) :] if index not in swapped_out]
    roles: dict[int, Role] = dict.fromkeys(context, "context")
    roles |= dict.fromkeys(swapped_in, "refined")
    roles |= dict.fromkeys(visual, "visual")
    roles |= dict.fromkeys(anchors, "ground")
    if rows is None:
        rows = [{"index": CandidateIndex(index)} for index in context]
    stated = evidence.visual_demand
    kind, cues = (stated.kind, stated.cues) if isinstance(stated, VisualDemand) else ("given", ())
    trace = {
        "quotas": {"ground": k_ground, "visual": k_visual, "refine": k_refine},
        "ground": GroundTrace(evidence.events_outside, event_rows(evidence, grounding), demand, kind, list(cues)),
        "cover": CoverTrace(list(map(CandidateIndex, visual)), rows),
        "refine": refine,
    }
    if config.without == "cover" and count >= budget:
        trace["note"] = "Cover is left out: regions, then evenly spaced frames, fill the budget after Ground's anchors"
    carried = {index: evidence.events[event] for index, event in anchors.items()}
    return Selection(make_slots(evidence, roles, carried), "", 0, trace)


def _reject_unused_demand(evidence: Evidence, config: GCRConfig) -> None:
    names = ("demand_textual", "demand_visual", "demand_neutral")
    unused = [name for name in names if getattr(config, name) != getattr(GCRConfig, name)]
    if unused and (not isinstance(evidence.visual_demand, VisualDemand) or evidence.visual_demand.kind == "given"):
        raise OptionError(
            f"{unused[0]} would change nothing: this evidence sets visual_demand = {float(evidence.visual_demand)} "
            "itself; pass visual_demand(question) to use the keyword rules"
        )


def _refine(
    evidence: Evidence, ranking: Ranking, cache: SimilarityCache, context: list[int], config: GCRConfig, max_swaps: int
) -> RefineTrace:
    """Run Refine if the gate is open and swaps are possible."""
    regions = omitted_regions(cache.selected, len(evidence))
    largest_s = float(region_gaps(regions, evidence.times_s, evidence.start_s, evidence.duration_s).max())
    share = largest_s / evidence.length_s
    is_open = share >= config.gate - TIE_TOLERANCE
    side = "at or above" if is_open else "below"
    reason = f"the largest gap is {share:.1%} of the video, {side} the gate of {config.gate:.1%}"
    blocked = "it is left out" if config.without == "refine" else "no swap is allowed" if max_swaps == 0 else ""
    blocked = blocked or ("" if context else "there is no context frame to replace")
    if not is_open or blocked:
        return RefineTrace(False, blocked if is_open else reason, largest_s, share, config.gate)
    frames = np.array(context)
    values = evidence_values(ranking, cache, regions, frames, top_mean=config.top_mean)
    result = swap_regions(values, evidence.vectors, regions, frames, max_swaps=max_swaps)
    swaps: list[Mapping[str, Any]] = [
        {"out": CandidateIndex(out), "in": CandidateIndex(into), "margin": margin} for out, into, margin in result.swaps
    ]
    return RefineTrace(
        True,
        reason,
        largest_s,
        share,
        config.gate,
        swaps,
        region_rows(evidence, regions, values, result.swapped_in, result.rejections),
        value_rows(values, slice(len(regions), None), ValueRow, list(map(CandidateIndex, context))),
    )
