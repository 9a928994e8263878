"""Plug-ins: objects that other packages register through entry points.

One that can't be used makes only its own name unusable; the reason is its `problem`.
"""

import inspect
import logging
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from framesift._utils.text import printable
from framesift.errors import FramesiftError, PluginError

# Names become parts of file names.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
log = logging.getLogger(__name__)
_LONGEST_REASON = 200  # characters


@dataclass(frozen=True)
class Plugin:
    """An entry of the group `framesift.KINDs`. kind: selector, encoder or reader. problem: why it can't be used."""

    kind: str
    name: str
    package: str
    entry: EntryPoint
    problem: str = ""

    @property
    def title(self) -> str:
        return f"the {self.kind} {self.name!r} of {self.package}"

    def load(self, expected: str) -> Callable[..., Any]:
        """Import the class or function; whatever goes wrong is a PluginError, except errors with a message of our own.

        expected: what it should be, for the error.
        """
        if self.problem:
            raise PluginError(self.problem)
        with self._explained("loaded", f"; update or uninstall {self.package}"):
            found: Callable[..., Any] = self.entry.load()
        try:
            inspect.signature(found)
        except (TypeError, ValueError):
            raise PluginError(f"{self.title} is of type {type(found).__name__}; expected {expected}") from None
        return found

    def create(self, factory: Callable[..., Any], **options: object) -> Any:
        """Call what `load` returned."""
        with self._explained("created"):
            return factory(**options)

    @contextmanager
    def _explained(self, done: str, remedy: str = "") -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, FramesiftError):
            raise
        # A module that ends the program, or an extension module's panic, is no Exception.
        except BaseException as error:
            raise PluginError(f"{self.title} can't be {done} ({reason(error)}){remedy}") from error


def find_plugins(kind: str, built_in: Collection[str]) -> list[Plugin]:
    """The plug-ins of a kind, by name, then by package; nothing is imported.

    Of several with one name the first can be used, and none with the name of a built-in one.
    """
    found: list[Plugin] = []
    for plugin in sorted(_registered(kind), key=lambda plugin: (plugin.name, plugin.package)):
        owner = next((other.package for other in found if other.name == plugin.name), None)
        problem = ""
        if not _NAME.fullmatch(plugin.name):
            problem = f"{plugin.title} has a name that is not made of letters, digits, '-', '_' and '.'"
        elif plugin.name in built_in:
            problem = f"{plugin.title} has the name of a built-in {kind}, which is used instead"
        elif owner is not None:
            problem = f"{plugin.title} has the name of one of {owner}, which is used instead"
        found.append(replace(plugin, problem=problem))
    return found


def reason(error: BaseException) -> str:
    """The error on one line, as in "ValueError: no model"."""
    message = printable(str(error))
    return f"{type(error).__name__}: {message[:_LONGEST_REASON]}" if message else type(error).__name__


def _registered(kind: str) -> Iterator[Plugin]:
    try:
        entries = entry_points(group=f"framesift.{kind}s")
    except (TypeError, ValueError) as error:  # a line without "="
        log.warning("there are no plug-ins: the entry points of an installed package are invalid (%s)", reason(error))
        return
    for entry in entries:
        yield Plugin(kind, entry.name, entry.dist.name if entry.dist else "an unnamed package", entry)
