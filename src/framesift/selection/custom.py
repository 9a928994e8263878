"""Selectors that users write: functions, and plug-ins of other packages. What they return is checked."""

import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from framesift._utils.plugins import Plugin, reason
from framesift.errors import FramesiftError, InputError, PluginError
from framesift.selection.selector import Selector
from framesift.types import Evidence, Selection

EXPECTED = "a function (evidence, budget, *, option=default, …) that returns a Selection"


def from_function(function: Callable[..., Selection], name: str = "") -> Selector:
    """Describe a function as a selector, by its own name unless another is given; its results are checked."""
    inner = function.func if isinstance(function, partial) else function
    name = name or str(getattr(inner, "__name__", type(inner).__name__)).strip("<>")
    try:
        parameters = inspect.signature(function)
        parameters.bind(None, None)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} can't be called with an evidence and a budget ({error}); expected {EXPECTED}"
        ) from None
    summary = (inspect.getdoc(inner) or name).splitlines()[0]
    return checked(Selector.of(name, function, summary))


def checked(selector: Selector) -> Selector:
    """The selector with its results checked, and named after it."""

    def run(evidence: Evidence, budget: int, **options: object) -> Selection:
        return _check_result(selector.function(evidence, budget, **options), selector.name, evidence, budget)

    return replace(selector, function=run)


def from_plugin(plugin: Plugin) -> Selector:
    """The selector of another package; one that can't be used has a `problem`, and its errors name the package."""
    try:
        function = plugin.load()
        if not callable(function):
            raise PluginError(f"{plugin.title} is of type {type(function).__name__}; expected {EXPECTED}")
        selector = from_function(function, plugin.name)
    except FramesiftError as error:
        return _unusable(plugin.name, str(error))

    def run(evidence: Evidence, budget: int, **options: object) -> Selection:
        try:
            return selector.function(evidence, budget, **options)
        except FramesiftError:
            raise
        except Exception as error:
            raise PluginError(f"{plugin.title} failed ({reason(error)}); report it to its authors") from error

    return replace(selector, function=run)


def _unusable(name: str, problem: str) -> Selector:
    def run(*_: object, **__: object) -> Selection:
        raise PluginError(problem)

    return Selector(name, run, f"can't be used: {problem}", {}, problem=problem)


def _check_result(selection: Any, name: str, evidence: Evidence, budget: int) -> Selection:
    """The selection with plain numbers; an InputError if it is none of this evidence."""
    if not isinstance(selection, Selection):
        raise InputError(f"{name} returned a {type(selection).__name__}; expected a Selection")
    indices = [int(index) for index in selection.indices]
    most = min(budget, len(evidence))
    if not 1 <= len(indices) <= most or len(set(indices)) < len(indices):
        raise InputError(f"{name} selected the frames {indices[:20]}; expected 1 to {most} different ones")
    if min(indices) < 0 or max(indices) >= len(evidence):
        raise InputError(f"{name} selected the frames {indices[:20]}; expected indices from 0 to {len(evidence) - 1}")
    try:
        json.dumps(dict(selection.trace), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"the trace of {name} can't be written ({error}); expected JSON values") from None
    slots = tuple(
        replace(slot, index=index, time_s=float(evidence.times_s[index]), relevance=float(slot.relevance))
        for slot, index in zip(selection.slots, indices, strict=True)
    )
    return replace(selection, slots=slots)
