"""The selectors by name, ours and other packages', and the one call for all of them."""

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from framesift.errors import BudgetError, OptionError, UnknownName
from framesift.types import Basis, Evidence, Selection

ENTRY_POINTS = "framesift.selectors"

# What a selector can look at beyond relevance, and in one word each what `framesift selectors` says of it.
NEEDS = {
    "vectors": "the frames' vectors",
    "events": "timestamped text",
    "pictures": "the frames themselves",
    "detector": "an open-vocabulary detector",
    "objects": "the objects a question names",
    "network": "trained weights of its own",
    "peers": "pip install 'framesift[peers]'",
}

# In the order they are listed: ours, the plain ones, those of papers by what they look at.
BUILT_IN = (
    "gcr",
    "uniform",
    "topk",
    "mmr",
    "bin_max",
    "aks",
    "bolt",
    "q_frame",
    "mdp3",
    "wfs_sb",
    "text",
    "vsi_lite",
    "focus",
    "t_star",
    "vsi",
    "logic_in_frames",
    "q_gate",
    "tspo",
)


@dataclass(frozen=True)
class Selector:
    """A way to choose frames: `run(evidence, budget, **options)`, with the options it knows and their defaults.

    paper: where it was published. needs: of NEEDS, what it looks at beyond the relevance of each frame.
    """

    name: str
    run: Callable[..., Selection]
    summary: str
    options: Mapping[str, object]
    paper: str = ""
    needs: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, name: str, run: Callable[..., Selection], summary: str, *, paper: str = "", needs: tuple[str, ...] = ()
    ) -> "Selector":
        """A selector from a function `(evidence, budget, *, option=default, …) → Selection`: the options are there."""
        options = {p.name: p.default for p in inspect.signature(run).parameters.values() if p.kind is p.KEYWORD_ONLY}
        return cls(name, run, summary, options, paper, needs)


def selectors() -> dict[str, Selector]:
    """Every selector that can be named: those built in, then those of installed packages, by name."""
    return dict(_all())


def select_frames(evidence: Evidence, *, budget: int, method: str = "gcr", **options: object) -> Selection:
    """Choose min(budget, N) distinct frames of the evidence, in chronological order.

    method: a name of `selectors()`; options: that selector's own, each with a default.
    """
    selector = get_selector(method)
    check_options(method, options, selector.options)
    selection = selector.run(evidence, check_budget(budget), **options)
    return replace(selection, basis=Basis.of(evidence)) if evidence.is_scored else selection


def get_selector(method: str) -> Selector:
    known = _all()
    if method not in known:
        raise UnknownName(f"there is no selector {method!r}; known are {', '.join(known)}")
    return known[method]


def check_budget(budget: int) -> int:
    try:
        whole = operator.index(budget)
    except TypeError:
        whole = 0
    if whole < 1 or isinstance(budget, bool):
        raise BudgetError(f"budget is {budget!r}; it must be a whole number of at least 1")
    return whole


def check_options(method: str, given: Mapping[str, object], known: Mapping[str, object]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        listing = ", ".join(f"{name} = {default!r}" for name, default in known.items()) or "none"
        raise OptionError(f"{method} has no option {unknown[0]!r}; it knows {listing}")


@cache
def _all() -> dict[str, Selector]:
    modules = [import_module(f"framesift.selection.{name}") for name in BUILT_IN]
    found: dict[str, Selector] = {module.SELECTOR.name: module.SELECTOR for module in modules}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        if entry.name not in found:
            found[entry.name] = _from_function(entry.name, entry.load())
    return found


def _from_function(name: str, run: Callable[..., Selection]) -> Selector:
    return Selector.of(name, run, (inspect.getdoc(run) or name).splitlines()[0])
