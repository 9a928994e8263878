"""The command line: parse, call the public API, show progress, print. One module per group of commands.

Exit codes: 0 done, 2 bad usage or input, 1 anything else (one of several videos failed, say).
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import NoReturn

from framesift._utils.text import printable
from framesift._utils.version import __version__
from framesift.cli.bench import expand_shorthand
from framesift.cli.output import prepare_streams, take_output_failure
from framesift.errors import FramesiftError, OutputError, ReaderError
from framesift.readers.address import scrub


def main(argv: Sequence[str] | None = None) -> int:
    words = expand_shorthand(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    args = build_parser().parse_args(words)
    args.argv, args.main = words, main
    logging.basicConfig(level=logging.WARNING, format="framesift: %(message)s", force=True)
    try:
        code: int = args.run(args)
    except FramesiftError as error:
        print(f"framesift: {printable(scrub(str(error)))}", file=sys.stderr)
        code = 1 if isinstance(error, ReaderError | OutputError) else 2
    except KeyboardInterrupt:
        print("framesift: stopped; what was done so far is kept", file=sys.stderr)
        code = 1
    failure = take_output_failure()
    if failure is not None:
        print(f"framesift: the output can't be written ({failure.strerror or failure})", file=sys.stderr)
    return code or int(failure is not None)


class Parser(argparse.ArgumentParser):
    """A parser whose errors don't repeat the credentials of a mistyped command."""

    def error(self, message: str) -> NoReturn:
        super().error(scrub(message))


def build_parser() -> argparse.ArgumentParser:
    from framesift.cli import ask, bench, corpus, library, select, serve
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
    corpus.add_commands(add)
    return parser
