"""The selectors by name, built in or from installed packages, and one function that runs any of them."""

import inspect
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from framesift.errors import UnknownName
from framesift.selection.selector import NEEDS, Selector
from framesift.selection.validation import check_budget, check_options
from framesift.types import Basis, Evidence, Selection

# With what callers need to validate a request before it runs.
__all__ = ["NEEDS", "Selector", "check_budget", "check_options", "get_selector", "select_frames", "selectors"]

ENTRY_POINTS = "framesift.selectors"

# Modules in the order they are listed: GCR, simple baselines, then published methods by the inputs they need.
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


def selectors() -> dict[str, Selector]:
    """Every available selector by name: the built-in ones, then those of installed packages."""
    return dict(_all_selectors())


def select_frames(evidence: Evidence, *, budget: int, method: str = "gcr", **options: object) -> Selection:
    """Select min(budget, N) distinct frames of the evidence, in chronological order.

    method: a name of `selectors()`. options: those of that selector, each with a default.
    """
    selector = get_selector(method)
    check_options(method, options, selector.options)
    selection = selector.run(evidence, check_budget(budget), **options)
    return replace(selection, basis=Basis.of(evidence)) if evidence.is_scored else selection


def get_selector(method: str) -> Selector:
    """Look up a selector by name; an unknown one is an error that lists them all."""
    available = _all_selectors()
    if not isinstance(method, str) or method not in available:
        raise UnknownName(f"there is no selector {method!r}; expected one of {', '.join(available)}")
    return available[method]


@cache
def _all_selectors() -> dict[str, Selector]:
    modules = [import_module(f"framesift.selection.{name}") for name in BUILT_IN]
    available: dict[str, Selector] = {module.SELECTOR.name: module.SELECTOR for module in modules}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        if entry.name not in available:
            run = entry.load()
            summary = (inspect.getdoc(run) or entry.name).splitlines()[0]
            available[entry.name] = Selector.of(entry.name, run, summary)
    return available
