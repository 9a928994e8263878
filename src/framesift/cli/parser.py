"""The parser of all commands, and the call of the one that is given."""

import argparse
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from framesift._utils.credentials import public_url, reject_login
from framesift._utils.optional import require
from framesift._utils.text import near_names, printable, suggestion
from framesift._utils.version import __version__
from framesift.cli import ask, bench, corpus, demo, doctor, index, library, mcp, select, serve
from framesift.cli.output import check_output, error_code, prepare_streams
from framesift.cli.settings import RunCommand
from framesift.cli.signals import raise_on_signals
from framesift.errors import FramesiftError, OptionError

# What arguments that are files or directories are called; in a completion script, what completes them.
FILES = {"FILE", "VIDEO", "LIST|DIR|GLOB"}
DIRECTORIES = {"DIR", "FOLDER"}


def run_command(argv: Sequence[str]) -> int:
    """Run the command of these arguments and return its exit code; a signal raises KeyboardInterrupt."""
    prepare_streams()
    logging.basicConfig(level=logging.WARNING, format="framesift: %(message)s", force=True)
    Parser.words = words = bench.expand_shorthand(argv)
    # stored: whether the command stores each result as soon as it is known, and continues from there
    args = argparse.Namespace(argv=words, run_command=run_command, stored=False)
    try:
        for word in words:
            reject_login(word)
        build_parser().parse_args(words, args)
        if "handles_signals" not in args:
            raise_on_signals()
        code: int = args.run(args)
    except SystemExit as done:  # after --help
        code = int(done.code or 0)
    except FramesiftError as error:
        print(f"framesift: {printable(str(error))}", file=sys.stderr)
        code = error_code(error)
    except KeyboardInterrupt:
        kept = "; what was done so far is kept" if args.stored else ""
        print(f"framesift: stopped{kept}", file=sys.stderr)
        raise
    return check_output(code)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, raised as OptionError. words: the command."""

    words: Sequence[str] = ()

    def parse_known_args(  # type: ignore[override]  # it has overloads for other classes of namespace
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse as argparse does, and reject what is left here already: the command's own parser has its flags."""
        parsed, left = super().parse_known_args(args, namespace)
        if left:
            flag = next((word.partition("=")[0] for word in left if word.startswith("-")), None)
            if flag is None:
                self.error(f"unexpected argument {left[0]!r}; put a text of several words in quotation marks")
            near = near_names(flag, (name for name in self._option_string_actions if name.startswith("--")))
            self.error(f"there is no flag {flag}" + "".join(f"; did you mean {name}?" for name in near))
        return parsed, left

    def error(self, message: str) -> NoReturn:
        dashed = next((word for word in self.words if word.startswith("-") and os.path.exists(word)), None)
        if dashed is not None:
            message = f"{dashed!r} begins with - and was read as a flag; write {os.path.join('.', dashed)}"
        for word in self.words:
            message = message.replace(word, public_url(word))
        raise OptionError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = None if action.choices is None else list(action.choices)
        if choices is not None and value not in choices:
            name = f"{'/'.join(action.option_strings)} is" if action.option_strings else "there is no command"
            self.error(f"{name} {value!r}; {suggestion(str(value), map(str, choices))}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        name = "/".join(action.option_strings) or str(action.metavar)
        if not arg_string and action.metavar in FILES | DIRECTORIES:  # it would be the current directory
            self.error(f"{name} is empty; expected a path")
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in (int, float):
                raise
            expected = "a whole number" if action.type is int else "a number"
            self.error(f"{name} is {arg_string!r}; expected {expected}")


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="framesift", description="Pick the frames of a video that answer a question.")
    parser.add_argument("--version", action="version", version=f"framesift {__version__}")
    completion = "print a script that completes commands and flags in this shell"
    parser.add_argument("--print-completion", choices=("bash", "zsh", "tcsh"), help=completion)
    parser.set_defaults(run=_help_of(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, run: RunCommand | None, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        command.set_defaults(run=run or _help_of(command))
        return command

    for group in (demo, select, ask, index, library, doctor, bench, serve, mcp, corpus):
        group.add_commands(add)
    return parser


def _help_of(command: argparse.ArgumentParser) -> RunCommand:
    """What a command that has commands of its own does when none of them is given: print its help, exit with 2."""

    def run(args: argparse.Namespace) -> int:
        if args.print_completion:
            print(_completion_script(command, args.print_completion))
            return 0
        command.print_help()
        return 2

    return run


def _completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """A script that completes commands, flags, choices and files without starting the program."""
    shtab = require("shtab", "completion")
    for action in _actions(parser):
        if action.metavar in FILES | DIRECTORIES:
            action.complete = shtab.FILE if action.metavar in FILES else shtab.DIRECTORY  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
