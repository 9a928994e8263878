"""MMR: relevant frames unlike one another (Carbonell and Goldstein, 1998)."""

from framesift.errors import OptionError
from framesift.selection.gcr.cover import fill_by_mmr
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of
from framesift.types import Evidence, Selection
from framesift.types.vectors import settle


def mmr(evidence: Evidence, budget: int, *, weight: float = 0.5) -> Selection:
    """Greedy maximal marginal relevance from an empty set.

    weight: of relevance against redundancy, from 0 to 1.
    """
    if not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise OptionError(f"weight is {weight!r}; expected a number from 0 to 1")
    size = min(budget, len(evidence))
    chosen = fill_by_mmr(settle(evidence.relevance), evidence.vectors, (), size=size, weight=weight).members
    return selection_of(evidence, budget, "mmr", chosen, "context", {"weight": weight})


SELECTOR = Selector.of(
    "mmr",
    mmr,
    "relevant frames unlike one another",
    paper="Carbonell and Goldstein, SIGIR 1998",
    needs=("vectors",),
)
