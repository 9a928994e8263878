"""Readers of other packages: the classes and functions that they register as entry points `framesift.readers`."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from framesift._utils.credentials import SIMILARITY
from framesift._utils.plugins import Plugin, find_plugins, reason
from framesift.errors import FramesiftError, PluginError

KIND = "reader"  # entry points of the group framesift.readers


def plugins() -> list[Plugin]:
    """The readers that other packages register, each with its problem if it can't be used."""
    found = find_plugins(KIND, {SIMILARITY})
    return [plugin if plugin.problem else replace(plugin, problem=_problem(plugin)) for plugin in found]


def find_readers() -> dict[str, Plugin]:
    """The readers of other packages by name; nothing is imported."""
    found = [plugin for plugin in find_plugins(KIND, {SIMILARITY}) if plugin.name != SIMILARITY]
    return {plugin.name: plugin for plugin in reversed(found)}  # of equal names the first


def describe(plugin: Plugin) -> str:
    """A line for the list of readers."""
    problem = _problem(plugin)
    return f"can't be used: {problem}" if problem else f"from {plugin.package}"


def factory_of(plugin: Plugin) -> Callable[..., Any]:
    """What creates the reader, with the signature that the package gave it; failures are a PluginError."""
    factory: Callable[..., Any] = plugin.load()
    try:
        inspect.signature(factory)
    except (TypeError, ValueError):
        got = f"is of type {type(factory).__name__}"
        raise PluginError(f"{plugin.title} {got}; expected a class or function that takes its options") from None

    @wraps(factory)
    def create(**options: object) -> Any:
        try:
            reader = factory(**options)
        except (KeyboardInterrupt, FramesiftError):
            raise
        except BaseException as error:  # of code that is not ours
            raise PluginError(f"{plugin.title} can't be created ({reason(error)})") from error
        if not callable(getattr(reader, "answer", None)):
            raise PluginError(f"{plugin.title} has no answer(exhibit, question, text_mode); expected this method")
        return reader

    return create


def _problem(plugin: Plugin) -> str:
    try:
        factory_of(plugin)
    except FramesiftError as error:
        return str(error)
    return ""
