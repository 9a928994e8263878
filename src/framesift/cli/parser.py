"""The parser of all commands, and the call of the one that is given."""

import argparse
import logging
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import NoReturn

from framesift._utils.text import printable
from framesift._utils.version import __version__
from framesift.cli.bench import expand_shorthand
from framesift.cli.output import check_output, error_code, prepare_streams
from framesift.cli.signals import raise_on_signals
from framesift.errors import FramesiftError
from framesift.readers.address import CredentialFormatter, scrub, scrub_arguments


def run_command(argv: Sequence[str]) -> int:
    """Run the command of these arguments and return its exit code; a signal raises KeyboardInterrupt."""
    words = expand_shorthand(argv)
    prepare_streams()
    Parser.words = words
    args = build_parser().parse_args(words)
    args.argv, args.run_command = words, run_command
    _configure_logging()
    try:
        if not getattr(args, "handles_signals", False):
            raise_on_signals()
        code: int = args.run(args)
    except FramesiftError as error:
        print(f"framesift: {printable(scrub(str(error)))}", file=sys.stderr)
        code = error_code(error)
    except KeyboardInterrupt:
        kept = "; what was done so far is kept" if _keeps_work(args) else ""
        print(f"framesift: stopped{kept}", file=sys.stderr)
        raise
    return check_output(code)


class Parser(argparse.ArgumentParser):
    """A parser whose errors don't repeat the credentials of a mistyped command. words: the command."""

    words: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        for word, public in zip(self.words, scrub_arguments(self.words), strict=True):
            if word != public:
                message = message.replace(word, public)
        super().error(scrub(message))

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        super().exit(check_output(status), message)


def build_parser() -> argparse.ArgumentParser:
    from framesift.cli import ask, bench, corpus, library, mcp, select, serve
    from framesift.cli.completion import add_completion
    from framesift.cli.settings import RunCommand

    parser = Parser(prog="framesift", description="Pick the frames of a video that answer a question.")
    parser.add_argument("--version", action="version", version=f"framesift {__version__}")
    add_completion(parser)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, run: RunCommand, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        command.set_defaults(run=run)
        return command

    select.add_commands(add)
    ask.add_commands(add)
    library.add_commands(add)
    bench.add_commands(add)
    serve.add_commands(add)
    mcp.add_commands(add)
    corpus.add_commands(add)
    return parser


def _configure_logging() -> None:
    """Log warnings on the error output, and print an unexpected error, both without credentials."""
    logging.basicConfig(level=logging.WARNING, force=True)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(CredentialFormatter("framesift: %(message)s"))
    sys.excepthook = _print_exception


def _print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    print(scrub("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)


def _keeps_work(args: argparse.Namespace) -> bool:
    """Whether the command writes each result as soon as it is known, and its next run continues from there."""
    writes_each = getattr(args, "questions", None) is not None and not getattr(args, "no_exhibit", False)
    return writes_each or getattr(args, "keeps_work", False)
