"""The command that gets an answer: everything `select` does, then the reader."""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from typing import TYPE_CHECKING, Any

from framesift._utils.json import dump_json
from framesift._utils.output_folder import add_file
from framesift._utils.text import printable
from framesift.cli.select import (
    ExhibitRun,
    SavedExhibit,
    add_exhibit_options,
    add_question,
    print_results,
    questions_from,
)
from framesift.cli.settings import AddCommand, add_reader, config_from
from framesift.cli.tokens import add_token_options, fit_config
from framesift.errors import OptionError
from framesift.readers.parsing import cited_times
from framesift.types import Answer

if TYPE_CHECKING:
    from framesift.pipeline.pipeline import Pipeline

_CITATION = re.compile(r"\[[^\[\]\n]{1,40}\]")
_START_OF_CITATION = re.compile(r"\[[^\[\]\n]{0,40}\Z")


def add_commands(add: AddCommand) -> None:
    ask = add("ask", _ask, "select frames, send them to a model and print its answer")
    add_question(ask)
    add_reader(ask)
    add_token_options(ask)
    add_exhibit_options(ask)


def _ask(args: argparse.Namespace) -> int:
    from framesift.pipeline.pipeline import Pipeline
    from framesift.readers.base import check_reader
    from framesift.rendering.export import ANSWER

    config = config_from(args)
    if config.reading.reader is None:
        raise OptionError("there is no reader; expected --reader http://HOST:PORT/v1, local:MODEL or similarity")
    asked = questions_from(args)
    config = fit_config(args, config, [row.question for row in asked])
    pipeline = Pipeline(config)
    run = ExhibitRun(args, pipeline, asked)
    check_reader(str(config.reading.reader), **config.reading.reader_options)  # before indexing, which may take long
    run.select()
    exhibits, sent = tee(_write_all(run))
    is_streamed = not (args.questions or args.json or asked[0].question.choices)
    answers: Iterator[Answer]
    if is_streamed:
        answers = (_stream(pipeline, exhibit) for exhibit in sent)
    else:
        pairs = ((exhibit.exhibit, exhibit.asked.question) for exhibit in sent)
        answers = pipeline.answer_many(pairs, keep_failures=bool(args.questions))
    results: list[dict[str, Any]] = []
    failed = 0
    try:
        for exhibit, answer in zip(exhibits, answers, strict=True):
            failed += bool(answer.note and not answer.reader)
            if not args.json:
                _print_answer(args, exhibit, answer, is_streamed=is_streamed)
            results.append(exhibit.to_dict() | {"answer": answer.to_dict()} if args.json else {})
            if exhibit.folder is not None:
                add_file(exhibit.folder, ANSWER, dump_json(answer.to_dict()))
    finally:
        print_results(args, results)
    if exhibit.failure is not None:  # what was asked is answered all the same
        raise exhibit.failure
    return min(failed, 1)


def _write_all(run: ExhibitRun) -> Iterator[SavedExhibit]:
    """The exhibit of each question, up to the first that can't be written."""
    for number in range(len(run.asked)):
        exhibit = run.write(number)
        yield exhibit
        if exhibit.failure is not None:
            return


def _stream(pipeline: "Pipeline", exhibit: SavedExhibit) -> Answer:
    """Print the answer as it arrives."""
    shown = exhibit.exhibit
    # A time alone names no frame of several videos; the lines below the answer have their links.
    report = "" if shown.several else _report(exhibit)
    return print_stream(pipeline.answer(shown, exhibit.asked.question), shown.selection.times_s, report=report)


def _print_answer(args: argparse.Namespace, exhibit: SavedExhibit, answer: Answer, *, is_streamed: bool) -> None:
    from framesift.readers.answers import answer_lines

    question = exhibit.asked.question
    lines = answer_lines(answer, question, report=_report(exhibit))
    if is_streamed:  # the first line is printed
        print("\n".join(lines[1:]), end="\n\n")
        return
    # Of many questions, several are in flight at a time: an answer names the one it belongs to.
    asked = f" to {printable(question.text)!r}" if args.questions else ""
    print(f"Answer{asked}:", "\n".join(lines), end="\n\n")


def _report(exhibit: SavedExhibit) -> str:
    """The URL of the exhibit's report; empty if there is none."""
    return "" if exhibit.folder is None else (exhibit.folder / "report.html").as_uri()


def print_stream(pieces: Iterable[str | Answer], times_s: Sequence[float], *, report: str) -> Answer:
    """Print "Answer:" and the pieces as they arrive, and return the Answer that follows them.

    report: the URL of the exhibit's report; on a terminal, cited times are links to it. After an error or Ctrl-C the
    line is ended, so that what is printed next starts on its own.
    """
    link_to = report if sys.stdout.isatty() else ""
    answers: list[Answer] = []

    def texts() -> Iterator[str]:
        for piece in pieces:
            if isinstance(piece, str):
                yield piece
            else:
                answers.append(piece)

    print("Answer: ", end="", flush=True)
    try:
        is_empty = True
        for text in link_citations(texts(), times_s, report=link_to):
            shown = text.lstrip() if is_empty else text
            is_empty = is_empty and not shown
            print(shown, end="", flush=True)
        if is_empty:
            text = answers[0].text or "no answer: the reply is empty"
            print(*link_citations([text], times_s, report=link_to), sep="", end="")
    finally:
        print(flush=True)
    return answers[0]


def link_citations(texts: Iterable[str], times_s: Sequence[float], *, report: str) -> Iterator[str]:
    """Yield the texts with each citation like [1:07] as a terminal's link to the frame in the report.

    What may be the start of a citation is held back until its end arrives. Without a report nothing changes.
    """
    if not report:
        yield from texts
        return

    def link(match: re.Match[str]) -> str:
        cited = cited_times(match[0], times_s)
        if len(cited) != 1:
            return match[0]
        return f"\033]8;;{report}#frame-{list(times_s).index(cited[0]) + 1}\033\\{match[0]}\033]8;;\033\\"

    held = ""
    for text in texts:
        held += text
        start = _START_OF_CITATION.search(held)
        end = start.start() if start else len(held)
        yield _CITATION.sub(link, held[:end])
        held = held[end:]
    yield held
