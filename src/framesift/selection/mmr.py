"""MMR: relevant and mutually dissimilar frames (Carbonell and Goldstein, 1998)."""

from framesift.errors import OptionError
from framesift.selection.gcr.cover import fill_by_mmr
from framesift.selection.result_builders import build_selection
from framesift.selection.selector import Selector
from framesift.types import Evidence, Selection
from framesift.types.vectors import merge_ties


def mmr(evidence: Evidence, budget: int, *, weight: float = 0.5) -> Selection:
    """Select by greedy maximal marginal relevance from an empty set.

    weight: of relevance against redundancy, from 0 to 1.
    """
    if not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise OptionError(f"weight is {weight!r}; expected a number from 0 to 1")
    size = min(budget, len(evidence))
    filled = fill_by_mmr(merge_ties(evidence.relevance), evidence.vectors, (), size=size, weight=weight)
    return build_selection(evidence, filled.selected, "context")


SELECTOR = Selector.of(
    "mmr",
    mmr,
    "relevant and mutually dissimilar frames",
    paper="Carbonell and Goldstein, SIGIR 1998",
    needs=("vectors",),
)
