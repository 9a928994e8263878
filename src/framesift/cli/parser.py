"""The commands by group, and the call of the one that is given."""

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence

from framesift._utils.credentials import reject_login
from framesift._utils.requirements import require
from framesift._utils.text import printable
from framesift._utils.version import __version__
from framesift.cli import ask, bench, config, corpus, demo, doctor, index, library, mcp, proxy, select, serve
from framesift.cli.arguments import DIRECTORIES, FILES, Parser, RunCommand, make_command
from framesift.cli.output import check_output, error_code, prepare_streams
from framesift.cli.settings import COMMON
from framesift.cli.signals import raise_on_signals
from framesift.errors import FramesiftError

GROUPS = {
    "ask": ("demo", "select", "ask", "compare", "events"),
    "manage": ("index", "library", "config", "settings", "doctor", "pull"),
    "serve": ("serve", "proxy", "mcp", "tools", "corpus"),
    "research": ("bench", "selectors"),
}


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
        code = args.run(args)
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


class MainParser(Parser):
    """The parser of `framesift`, whose help lists the commands by group."""

    def format_help(self) -> str:
        (commands,) = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
        summaries = {str(action.dest): action.help for action in commands._get_subactions()}
        formatter = self._get_formatter()
        for title, names in GROUPS.items():
            formatter.start_section(title)
            for name in names:
                formatter.add_argument(argparse.Action([], name, help=summaries[name]))
            formatter.end_section()
        return (
            f"try: framesift demo\n\n{self.description}\n\n{formatter.format_help()}\n"
            "framesift COMMAND --help explains one. Also: --version, --print-completion SHELL\n"
        )

    def run(self, args: argparse.Namespace) -> int:
        if not args.print_completion:
            return super().run(args)
        print(_completion_script(self, args.print_completion))
        return 0


def build_parser() -> argparse.ArgumentParser:
    parser = MainParser(prog="framesift", description="Pick the frames of a video that answer a question.")
    parser.add_argument("-h", "--help", action="help")
    parser.add_argument("--version", action="version", version=f"framesift {__version__}")
    parser.add_argument("--print-completion", choices=("bash", "zsh", "tcsh"))
    parser.set_defaults(run=parser.run, **COMMON)
    parser.example = select.EXAMPLE
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)

    def add(name: str, run: RunCommand | None, summary: str, example: str = "") -> Parser:
        return make_command(commands, name, run, summary, example)

    for group in (demo, select, ask, index, library, config, doctor, bench, serve, proxy, mcp, corpus):
        group.add_commands(add)
    return parser


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
