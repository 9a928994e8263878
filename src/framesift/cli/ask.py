"""The command that gets an answer: everything `select` does, then the reader."""

import argparse
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.json import dump_json
from framesift._utils.output_folder import add_file
from framesift._utils.text import printable
from framesift.cli.output import print_json
from framesift.cli.select import SavedExhibit, add_exhibit_options, add_question, make_exhibits
from framesift.cli.settings import AddCommand, add_reader, config_from
from framesift.errors import OptionError

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit
    from framesift.types import Answer, Question


def add_commands(add: AddCommand) -> None:
    ask = add("ask", _ask, "select frames, send them to a model and print its answer")
    add_question(ask)
    add_reader(ask)
    add_exhibit_options(ask)


def _ask(args: argparse.Namespace) -> int:
    from framesift.pipeline import Pipeline
    from framesift.readers.base import check_reader

    config = config_from(args)
    if config.reader is None:
        raise OptionError("there is no reader; expected --reader http://HOST:PORT/v1, local:MODEL or similarity")
    pipeline = Pipeline(config)
    exhibits = make_exhibits(args, pipeline)
    check_reader(config.reader, **config.reader_options)  # before the video is indexed, which may take long
    waiting: deque[SavedExhibit] = deque()

    def pairs() -> Iterator["tuple[Exhibit, Question | str | None]"]:
        for exhibit in exhibits:
            waiting.append(exhibit)
            yield exhibit.exhibit, exhibit.asked.question

    results, failed = [], 0
    for answer in pipeline.read(pairs(), on_error="keep" if args.questions else "raise"):
        failed += bool(answer.note and not answer.reader)
        results.append(_print_answer(args, waiting.popleft(), answer))
    if args.json:
        print_json(results if args.questions else results[0])
    return 1 if failed else 0


def _print_answer(args: argparse.Namespace, exhibit: SavedExhibit, answer: "Answer") -> dict[str, Any]:
    """Print an answer, write it beside its report, and return what `--json` prints of it."""
    from framesift.readers.answers import answer_lines
    from framesift.rendering.export import ANSWER, known_files

    folder = None if args.zip or not exhibit.saved else Path(exhibit.saved["saved"])
    report = "" if folder is None else (folder / "report.html").as_uri()
    if folder is not None:
        add_file(folder, ANSWER, dump_json(answer.to_dict()), known=known_files)
    if not args.json:
        question = exhibit.asked.question
        # Of many questions, several are in flight at a time: an answer names the one it belongs to.
        asked = f" to {printable(question.text)!r}" if args.questions else ""
        print(f"Answer{asked}:", "\n".join(answer_lines(answer, question, report=report)), end="\n\n")
    return exhibit.to_dict() | {"answer": answer.to_dict()}
