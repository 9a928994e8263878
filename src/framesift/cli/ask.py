"""The command that gets an answer: everything `select` does, then the reader."""

import argparse
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.json import dump_json
from framesift._utils.output_folder import add_file
from framesift._utils.text import printable
from framesift.cli.select import (
    SavedExhibit,
    add_exhibit_options,
    add_question,
    make_exhibits,
    print_results,
    questions_from,
)
from framesift.cli.settings import AddCommand, add_reader, config_from
from framesift.cli.streaming import print_stream
from framesift.cli.tokens import add_token_options, fit_config
from framesift.errors import FramesiftError, OptionError

if TYPE_CHECKING:
    from framesift.pipeline.pipeline import Pipeline
    from framesift.rendering.exhibit import Exhibit
    from framesift.types import Answer, Question


def add_commands(add: AddCommand) -> None:
    ask = add("ask", _ask, "select frames, send them to a model and print its answer")
    add_question(ask)
    add_reader(ask)
    add_token_options(ask)
    add_exhibit_options(ask)


def _ask(args: argparse.Namespace) -> int:
    from framesift.pipeline.pipeline import Pipeline
    from framesift.readers.base import check_reader

    config = config_from(args)
    if config.reading.reader is None:
        raise OptionError("there is no reader; expected --reader http://HOST:PORT/v1, local:MODEL or similarity")
    fitted = fit_config(args, config, [row.question for row in questions_from(args)])
    pipeline = Pipeline(fitted)
    exhibits = make_exhibits(args, pipeline)
    # Before the video is indexed, which may take long.
    check_reader(config.reading.reader, **fitted.reading.reader_options)
    if args.questions or args.json:
        return _ask_all(args, pipeline, exhibits)
    for exhibit in exhibits:
        _ask_one(args, pipeline, exhibit)
    return 0


def _ask_one(args: argparse.Namespace, pipeline: "Pipeline", exhibit: SavedExhibit) -> None:
    """Print the answer to the only question; to one without options as it arrives."""
    from framesift.readers.answers import answer_lines

    question = exhibit.asked.question
    if question.choices:
        (answer,) = pipeline.read([(exhibit.exhibit, question)])
        _print_answer(args, exhibit, answer)
        _save_answer(exhibit, answer)
        return
    shown = exhibit.exhibit
    # A time alone names no frame of several videos; the lines below the answer have their links.
    report = "" if shown.several else _report(exhibit)
    answer = print_stream(pipeline.answer(shown, question), shown.selection.times_s, report=report)
    print("\n".join(answer_lines(answer, question, report=_report(exhibit))[1:]), end="\n\n")
    _save_answer(exhibit, answer)


def _ask_all(args: argparse.Namespace, pipeline: "Pipeline", exhibits: Iterator[SavedExhibit]) -> int:
    """Print the answers in order, with several questions in flight at a time."""
    waiting: deque[SavedExhibit] = deque()
    failures: list[FramesiftError] = []  # of writing: what was asked is answered all the same

    def pairs() -> Iterator["tuple[Exhibit, Question | str | None]"]:
        try:
            for exhibit in exhibits:
                waiting.append(exhibit)
                yield exhibit.exhibit, exhibit.asked.question
        except FramesiftError as error:
            failures.append(error)

    results: list[dict[str, Any]] = []
    failed = 0
    try:
        for answer in pipeline.read(pairs(), on_error="keep" if args.questions else "raise"):
            failed += bool(answer.note and not answer.reader)
            exhibit = waiting.popleft()
            results.append(_print_answer(args, exhibit, answer))
            _save_answer(exhibit, answer)
    finally:
        print_results(args, results)
    if failures:
        raise failures[0]
    return 1 if failed else 0


def _print_answer(args: argparse.Namespace, exhibit: SavedExhibit, answer: "Answer") -> dict[str, Any]:
    """Print an answer, and return what `--json` prints of it."""
    from framesift.readers.answers import answer_lines

    if not args.json:
        question = exhibit.asked.question
        # Of many questions, several are in flight at a time: an answer names the one it belongs to.
        asked = f" to {printable(question.text)!r}" if args.questions else ""
        lines = answer_lines(answer, question, report=_report(exhibit))
        print(f"Answer{asked}:", "\n".join(lines), end="\n\n")
    return exhibit.to_dict() | {"answer": answer.to_dict()}


def _save_answer(exhibit: SavedExhibit, answer: "Answer") -> None:
    from framesift.rendering.export import ANSWER

    folder = _folder(exhibit)
    if folder is not None:
        add_file(folder, ANSWER, dump_json(answer.to_dict()))


def _report(exhibit: SavedExhibit) -> str:
    """The URL of the exhibit's report; empty if there is none."""
    folder = _folder(exhibit)
    return "" if folder is None else (folder / "report.html").as_uri()


def _folder(exhibit: SavedExhibit) -> Path | None:
    return None if not exhibit.saved else Path(exhibit.saved["saved"])
