"""The settings of GCR: the paper's defaults, and ours where it gives none."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from framesift.selection.selector import Amount, Count, Share, check_choice, check_fields
from framesift.types import VisualDemand

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
