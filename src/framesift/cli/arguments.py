"""The parser of a command: one-line errors with a suggestion, and a help that fits one screen."""

import argparse
import os
import shutil
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NoReturn

from framesift._utils.credentials import public_url
from framesift._utils.text import near_names, suggestion
from framesift.errors import OptionError
from framesift.pipeline.config import RECORDS, int_or_auto

RunCommand = Callable[[Namespace], int]

# What arguments that are files or directories are called; in a completion script, what completes them.
FILES = {"FILE", "VIDEO", "LIST|DIR|GLOB"}
DIRECTORIES = {"DIR", "FOLDER"}
MISSING = "the following arguments are required: "
# The place of groups and flags in the help of a command: 0 where none is given.
PLACE = {"output": 1, "model": 2, "all settings": 3, "commands": -1, "what": -1, "json": 1, "help": 2}
_EXPECTED: dict[Any, str] = {int: "a whole number", float: "a number", int_or_auto: "a whole number, or auto"}
SETTINGS = [declared.name for record in RECORDS.values() for declared in fields(record)]


class Group(argparse._ArgumentGroup):
    """A group of arguments, with the short forms of those that have a value and of those that have none."""

    def add(self, name: str, metavar: str | None, help: str, **more: Any) -> None:
        self.add_argument(name, metavar=metavar, help=help, **more)

    def switch(self, name: str, help: str) -> None:
        self.add_argument(name, action="store_true", help=help)


class HelpFormatter(argparse.HelpFormatter):
    """Help in at most 100 columns, with the name of a flag's value once."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=min(shutil.get_terminal_size().columns, 100))

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, raised as OptionError.

    words: the command as it was typed. example: of the command, printed in its help and when something is missing.
    """

    words: Sequence[str] = ()
    example = ""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=HelpFormatter, allow_abbrev=False, add_help=False, **settings)

    def group(self, title: str) -> Group:
        """The group of arguments with this title, made when it is first named."""
        groups = (group for group in self._action_groups if isinstance(group, Group) and group.title == title)
        if (found := next(groups, None)) is None:
            self._action_groups.append(found := Group(self, title))
        return found

    def finish(self, json: str = "") -> None:
        """Add `--help` and, if `json` says what is printed, `--json`: last in the group of outputs."""
        output = self.group("output")
        if json:
            output.switch("--json", json)
        output.add_argument("-h", "--help", action="help", help="show this help")

    def format_help(self) -> str:
        formatter = self._get_formatter()
        for group in sorted(self._action_groups, key=lambda group: PLACE.get(str(group.title), 0)):
            formatter.start_section(group.title)
            formatter.add_arguments(sorted(group._group_actions, key=lambda action: PLACE.get(action.dest, 0)))
            formatter.end_section()
        asked = [action for action in self._actions if not action.option_strings]
        words = [f"[{a.metavar}]" if a.nargs in ("?", "*") else str(a.metavar) for a in asked]
        usage = " ".join([self.prog, *words, "[flags]"])
        examples = f"example: {self.example}\n" * bool(self.example)
        return f"{examples}usage:   {usage}\n\n{self.description}\n\n{formatter.format_help()}"

    def run(self, _: Namespace) -> int:
        """Print the help, where a command that has commands of its own is given without any."""
        self.print_help()
        return 2

    def parse_known_args(  # type: ignore[override]  # it has overloads for other classes of namespace
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """Parse as argparse does, and reject what is left here already: the command's own parser has its flags.

        Words behind a flag belong to the list of videos too: `ask a.mp4 --budget 8 "Why?"`.
        """
        parsed, left = super().parse_known_args(args, namespace)
        self._check_flags(left)
        if left and hasattr(parsed, "videos"):
            parsed.videos += left
        elif left:
            takes_words = any(not action.option_strings for action in self._actions)
            remedy = "; put a text of several words in quotation marks" * takes_words
            self.error(f"unexpected argument {left[0]!r}{remedy}")
        return parsed, []

    def error(self, message: str) -> NoReturn:
        dashed = next((word for word in self.words if word.startswith("-") and os.path.exists(word)), None)
        if dashed is not None:
            message = f"{dashed!r} begins with - and was read as a flag; write {os.path.join('.', dashed)}"
        elif message.startswith(MISSING):
            self._check_flags(self.words)  # which may be what is wrong
            names = message.removeprefix(MISSING)
            message = f"{names.replace(', ', ' and ')} {'are' if ', ' in names else 'is'} missing"
            message += f"; for example: {self.example}" if self.example else ""
        for word in self.words:
            message = message.replace(word, public_url(word))
        raise OptionError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")

    def _check_flags(self, words: Sequence[str]) -> None:
        """Reject the first word that looks like a flag and is none, with the one that may be meant."""
        known = [name for name in self._option_string_actions if name.startswith("--")]
        for word in words:
            flag = word.partition("=")[0]
            if flag.startswith("-") and flag not in self._option_string_actions:
                name = flag.lstrip("-").replace("-", "_")
                near = near_names(flag, known)
                if name in SETTINGS and "--set" in known and f"{flag}s" not in known:
                    near = [f"--set {name}=VALUE"]
                self.error(f"there is no flag {flag}" + "".join(f"; did you mean {each}?" for each in near))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = [] if action.choices is None else [str(choice) for choice in action.choices]
        if action.choices is None or value in action.choices:
            return
        if action.option_strings:
            self.error(f"{action.option_strings[-1]} is {value!r}; {suggestion(str(value), choices)}")
        flags = [name for name in self._option_string_actions if name.startswith("--")]
        near = suggestion(str(value), [*choices, *flags], f"for example: {self.example}" if self.example else "")
        self.error(f"there is no command {value!r}; {near}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        name = action.option_strings[-1] if action.option_strings else str(action.metavar)
        is_word = action.dest == "videos" and any(other.dest == "words" for other in self._actions)  # or the question
        if not arg_string and action.metavar in FILES | DIRECTORIES and not is_word:  # it would be the current folder
            self.error(f"{name} is empty; expected a path")
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in _EXPECTED:
                raise
            self.error(f"{name} is {arg_string!r}; expected {_EXPECTED[action.type]}")


def make_command(commands: Any, name: str, run: RunCommand | None, summary: str, example: str) -> Parser:
    """Add a command to those of a parser; without `run`, it has commands of its own."""
    command: Parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    command.example = example
    command.set_defaults(run=run or command.run)
    return command


# (name, what runs it, its summary, an example) → its parser; None: the command has commands of its own
AddCommand = Callable[..., Parser]
