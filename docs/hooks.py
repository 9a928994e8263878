"""MkDocs hook: generate the settings of the pipeline and the help text of every command from the code."""

import argparse
import os
from collections.abc import Iterator
from dataclasses import MISSING, fields

from framesift.cli.parser import build_parser
from framesift.pipeline.config import RECORDS

COLUMNS = 100


def on_page_markdown(markdown: str, **_: object) -> str:
    for marker, generate in GENERATED.items():
        if marker in markdown:
            markdown = markdown.replace(marker, generate())
    return markdown


def settings_table() -> str:
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for field in (field for record in RECORDS.values() for field in fields(record)):
        default = "{}" if field.default is MISSING else repr(field.default)
        meaning = field.metadata["help"].replace("|", "\\|")
        if choices := field.metadata.get("argument", {}).get("choices"):
            meaning += ": " + ", ".join(f"`{choice}`" for choice in choices)
        rows.append(f"| `{field.name}` | `{default}` | {meaning} |")
    return "\n".join(rows)


def command_help() -> str:
    os.environ["COLUMNS"] = str(COLUMNS)
    return "\n".join(_sections(build_parser()))


def _sections(parser: argparse.ArgumentParser, level: int = 3) -> Iterator[str]:
    """A heading and the help text of each subcommand, depth first."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield f"{'#' * level} {command.prog}\n\n```text\n{command.format_help()}```\n"
                yield from _sections(command, level + 1)


GENERATED = {"<!-- pipeline settings -->": settings_table, "<!-- command help -->": command_help}
