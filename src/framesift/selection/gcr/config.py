"""The settings of GCR: the paper's defaults, and ours where it gives none."""

import math
from dataclasses import dataclass, fields

from framesift.errors import OptionError
from framesift.selection.validation import check_number, check_whole, is_number
from framesift.types import VisualDemand

STAGES = ("ground", "cover", "refine")


@dataclass(frozen=True)
class GCRConfig:
    """The settings of GCR; each field is an option of the selector `gcr`."""

    alpha_ground: float = 1 / 4  # share of the budget for event anchors
    alpha_visual: float = 1 / 8  # share of the budget for visual anchors
    alpha_refine: float = 1 / 8  # share of the budget that may be swapped
    gate: float = 0.10  # τ_g: Refine runs when the largest gap is at least this share of the video
    mmr_weight: float = 0.5  # of relevance against redundancy
    top_mean: int = 2  # number of best frames whose mean relevance is that of an event or a region
    visual_gap_s: float = 0.0  # minimum seconds between visual anchors
    demand_textual: float = 0.2  # d_q of a question about speech
    demand_visual: float = 0.8  # d_q of a question about what is visible
    demand_neutral: float = 0.5  # d_q of a question about both or neither
    without: str = ""  # ablation: a stage of STAGES to leave out

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self) if f.name not in ("top_mean", "visual_gap_s", "without")):
            check_number(name, getattr(self, name), low=0, high=1)
        check_whole("top_mean", self.top_mean, low=1)
        if not is_number(self.visual_gap_s) or not 0 <= self.visual_gap_s < math.inf:
            raise OptionError(f"visual_gap_s is {self.visual_gap_s!r}; expected seconds, 0 or more")
        if self.without not in ("", *STAGES):
            raise OptionError(f"without is {self.without!r}; expected nothing or one of {', '.join(STAGES)}")

    @classmethod
    def defaults(cls) -> dict[str, object]:
        return {field.name: field.default for field in fields(cls)}

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
