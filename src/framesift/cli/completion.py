"""`--print-completion`: a script for the shell that completes commands, flags, choices and files.

shtab writes it once from the parser. A script that asks the program at every key would wait for its start each time.
"""

import argparse
from collections.abc import Iterator
from typing import Any

from framesift._utils.optional import require
from framesift.errors import FramesiftError

SHELLS = ("bash", "zsh", "tcsh")
# What the values of these flags and arguments are.
FILES = {"FILE", "VIDEO", "IMAGE"}
DIRECTORIES = {"DIR"}


def add_completion(parser: argparse.ArgumentParser) -> None:
    described = "print a script that completes commands and flags in this shell"
    parser.add_argument("--print-completion", action=PrintCompletion, choices=SHELLS, help=described)


class PrintCompletion(argparse.Action):
    """Prints the script for the parser it belongs to, and exits."""

    def __call__(
        self, parser: argparse.ArgumentParser, _: argparse.Namespace, shell: Any, __: str | None = None
    ) -> None:
        try:
            print(completion_script(parser, shell))
        except FramesiftError as error:
            parser.error(str(error))
        parser.exit()


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The completion script of a parser for a shell of SHELLS."""
    shtab = require("shtab", "completion")
    for action in _actions(parser):
        kinds = {action.metavar} if isinstance(action.metavar, str) else set(action.metavar or ())
        if kinds & (FILES | DIRECTORIES):
            action.complete = shtab.FILE if kinds & FILES else shtab.DIRECTORY  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
