"""The selectors by name, built in or from installed packages, and one function that runs any of them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module

from framesift._utils.plugins import Plugin, find_plugins
from framesift._utils.records import shown
from framesift._utils.text import suggestion
from framesift.errors import OptionError, PluginError, UnknownName
from framesift.selection.selector import (
    DEFAULT_METHOD,
    NEEDS,
    Method,
    Selector,
    check_budget,
    check_options,
    from_function,
    from_plugin,
)
from framesift.types import Basis, Evidence, Lookup, Selection

# With what callers need to validate a request before it runs.
__all__ = [
    "DEFAULT_METHOD",
    "NEEDS",
    "Method",
    "Selector",
    "built_in",
    "check_budget",
    "check_demand",
    "check_options",
    "get_selector",
    "method_for_demand",
    "plugins",
    "select_frames",
    "selectors",
    "uses_demand",
]

KIND = "selector"  # entry points of the group framesift.selectors

# Modules in the order their selectors are listed: sift, GCR, simple baselines, then published methods by their inputs.
MODULES = (
    "sift",
    "gcr.method",
    "baselines",
    "aks",
    "bolt",
    "q_frame",
    "mdp3",
    "wfs_sb",
    "qca",
    "adaptive_greedy",
    "projection",
    "text",
    "vsi_lite",
    "looking.focus",
    "looking.object_search",
    "looking.q_gate",
    "looking.tspo",
    "looking.toolmerge",
    "looking.himu",
    "looking.dig",
    "looking.videoagent",
    "looking.videotree",
    "looking.memorycard",
)


def selectors() -> dict[str, Selector]:
    """List the selectors.

    Returns:
        Each by name, the built-in ones, then those of installed packages; one that can't be used has the reason as its
        `problem`.

    Example:
        >>> import framesift as fs
        >>> fs.selectors()["topk"].needs
        ()
    """
    return _built_in() | _from_other_packages()


def select_frames(
    evidence: Evidence,
    *,
    budget: int,
    method: Method = DEFAULT_METHOD,
    lookup: Lookup | None = None,
    **options: object,
) -> Selection:
    """Select frames from arrays: min(budget, N) distinct frames of the evidence, in order of time.

    Args:
        evidence: The arrays of one question.
        budget: How many frames.
        method: A name of `selectors()`, or a function `(evidence, budget, *, option=default, …) → Selection`.
        lookup: What selectors that look at frames, detect or ask may use: a `framesift.types.Lookup`.
        **options: Those of the selector; the detector, network and models of the lookup can be given as such.

    Returns:
        The frames, with the decisions behind them in `trace`.

    Raises:
        BudgetError: The budget is not a whole number of at least 1.
        OptionError: The selector has no such option, or its value is out of range.

    Example:
        >>> import framesift as fs
        >>> evidence = fs.Evidence([0.0, 1.0, 2.0], 3.0, scores=[0.1, 0.9, 0.5])
        >>> fs.select_frames(evidence, budget=2, method="topk").indices
        [1, 2]
    """
    selector = get_selector(method)
    check_options(selector.name, options, selector.options)
    selection = selector.run(evidence, check_budget(budget), lookup=lookup, **options)
    if not evidence.is_scored:
        return selection
    basis = Basis(evidence.times_s, evidence.relevance, evidence.duration_s, tuple(evidence.events))
    return replace(selection, basis=basis)


def get_selector(method: Method) -> Selector:
    """Look up a selector by name, or describe a function; an unknown name is an error that lists them all."""
    if isinstance(method, str):
        found = _built_in().get(method) or _from_other_packages().get(method)
        if found is None:
            raise UnknownName(f"there is no selector {shown(method)}; {suggestion(method, selectors())}")
        method = found
    selector = method if isinstance(method, Selector) else from_function(method)
    if selector.problem:
        raise PluginError(selector.problem)
    return selector


def built_in(name: str) -> Selector | None:
    """The built-in selector of this name; a name that a selection has may be that of any function."""
    return _built_in().get(name)


def uses_demand(method: Method) -> bool:
    """Whether a selector uses the question's visual demand; those that users write may."""
    selector = get_selector(method)
    return not selector.is_built_in or "demand" in selector.needs


def check_demand(method: Method, demand: object) -> None:
    """Reject a visual demand other than that by the rules for a selector that uses none."""
    if demand != "rules" and not uses_demand(method):
        using = " or ".join(name for name, selector in _built_in().items() if "demand" in selector.needs)
        raise OptionError(
            f"visual_demand is {demand}, which {get_selector(method).name} does not use; leave it out, or use {using}"
        )


def method_for_demand(methods: Sequence[str]) -> str:
    """Of methods that run with the same settings, the first that uses a visual demand; else the first."""
    return next((method for method in methods if uses_demand(method)), methods[0])


def plugins() -> list[Plugin]:
    """The selectors that other packages register, each with its problem if it can't be used."""
    loaded = _from_other_packages()
    found = find_plugins(KIND, _built_in())
    return [plugin if plugin.problem else replace(plugin, problem=loaded[plugin.name].problem) for plugin in found]


@cache
def _built_in() -> dict[str, Selector]:
    modules = [import_module(f"framesift.selection.{name}") for name in MODULES]
    return {value.name: value for module in modules for value in vars(module).values() if isinstance(value, Selector)}


@cache
def _from_other_packages() -> dict[str, Selector]:
    found: dict[str, Selector] = {}
    for plugin in find_plugins(KIND, _built_in()):
        if plugin.name not in _built_in():
            found.setdefault(plugin.name, from_plugin(plugin))
    return found
