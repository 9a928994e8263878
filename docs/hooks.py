"""MkDocs hook: put the help text of every command into the page of the command line."""

import argparse
from collections.abc import Iterator

from framesift.cli import build_parser

MARKER = "<!-- command help -->"
COLUMNS = 100


def on_page_markdown(markdown: str, **_: object) -> str:
    return markdown.replace(MARKER, "\n".join(_sections(build_parser()))) if MARKER in markdown else markdown


def _sections(parser: argparse.ArgumentParser, level: int = 3) -> Iterator[str]:
    """A heading and the help text of each subcommand, depth first."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                command.formatter_class = _wide
                yield f"{'#' * level} {command.prog}\n\n```text\n{command.format_help()}```\n"
                yield from _sections(command, level + 1)


def _wide(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=COLUMNS)
