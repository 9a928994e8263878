"""Every default of GCR in one place."""

import math
from dataclasses import asdict, dataclass, fields

from framesift.errors import OptionError
from framesift.types import VisualDemand

STAGES = ("ground", "cover", "refine")


@dataclass(frozen=True)
class GCRConfig:
    """The paper's settings, and the values we chose where it gives none. Each is an option of `gcr` by its name."""

    alpha_ground: float = 1 / 4  # share of the budget for event anchors
    alpha_visual: float = 1 / 8  # share of the budget for direct visual hits
    alpha_refine: float = 1 / 8  # share of the budget that may be swapped
    gate: float = 0.10  # τ_g: Refine runs when the largest gap is at least this share of the video
    mmr_weight: float = 0.5  # of relevance against redundancy
    top_mean: int = 2  # how many of the best frames speak for an event or a region
    visual_gap_s: float = 0.0  # seconds between direct visual hits
    demand_textual: float = 0.2  # d_q of a question about what is said
    demand_visual: float = 0.8  # d_q of a question about what is seen
    demand_neutral: float = 0.5  # d_q of a question about both or neither
    without: str = ""  # a stage to leave out, of STAGES: the ablation

    def __post_init__(self) -> None:
        shares = [f.name for f in fields(self) if f.name not in ("top_mean", "visual_gap_s", "without")]
        for name in shares:
            if not _is_number(value := getattr(self, name)) or not 0 <= value <= 1:
                raise OptionError(f"{name} is {value!r}; expected a number from 0 to 1")
        if not isinstance(self.top_mean, int) or isinstance(self.top_mean, bool) or self.top_mean < 1:
            raise OptionError(f"top_mean is {self.top_mean!r}; expected a whole number of at least 1")
        if not _is_number(self.visual_gap_s) or not 0 <= self.visual_gap_s < math.inf:
            raise OptionError(f"visual_gap_s is {self.visual_gap_s!r}; expected seconds, 0 or more")
        if self.without not in ("", *STAGES):
            raise OptionError(f"without is {self.without!r}; expected nothing or one of {', '.join(STAGES)}")

    @classmethod
    def defaults(cls) -> dict[str, object]:
        return asdict(cls())

    def quotas(self, budget: int) -> tuple[int, int, int]:
        """K_g, K_v, K_r: each share of the budget, rounded half up; 0 for a stage left out."""
        shares = {"ground": self.alpha_ground, "cover": self.alpha_visual, "refine": self.alpha_refine}
        # The tiny addition keeps 0.29 · 50 = 14.499999999999998 a half.
        ground, visual, refine = (
            0 if stage == self.without else math.floor(alpha * budget + 0.5 + 1e-9) for stage, alpha in shares.items()
        )
        return ground, visual, refine

    def demand(self, stated: float) -> float:
        """d_q: as stated, or this config's value for the kind of question the keyword rules found."""
        kind = stated.kind if isinstance(stated, VisualDemand) else "given"
        by_kind = {"textual": self.demand_textual, "visual": self.demand_visual}
        by_kind |= dict.fromkeys(("both", "neither"), self.demand_neutral)
        return by_kind.get(kind, float(stated))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
