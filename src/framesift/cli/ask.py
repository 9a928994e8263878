"""The command that gets an answer: everything `select` does, then the reader."""

import argparse
from collections.abc import Iterable, Iterator
from itertools import tee

from framesift._utils.json import dump_json
from framesift._utils.output_folder import add_file
from framesift._utils.text import printable
from framesift.cli.arguments import AddCommand
from framesift.cli.select import ExhibitRun, SavedExhibit, add_exhibit_options, add_question, print_results
from framesift.cli.settings import NO_READER, add_settings
from framesift.errors import OptionError
from framesift.pipeline.config import AUTO
from framesift.types import Answer


def add_commands(add: AddCommand) -> None:
    example = 'framesift ask video.mp4 "Why was the launch put off?" --reader http://localhost:8000/v1'
    ask = add("ask", _ask, "select frames, send them to a model and print its answer", example)
    add_question(ask)
    add_exhibit_options(ask, budget=AUTO)
    add_settings(ask.group("which frames"), "quick")
    ask.finish("print the selections and the answers as JSON")


def _ask(args: argparse.Namespace) -> int:
    from framesift.readers.base import check_reader
    from framesift.rendering.export import ANSWER

    run = ExhibitRun(args)
    reading = run.config.reading
    if reading.reader is None:
        raise OptionError(NO_READER)
    check_reader(reading.reader, **reading.reader_options)  # before indexing, which may take long
    run.select()
    exhibits, sent = tee(run.write_all())
    is_streamed = not (args.questions or args.json or run.asked[0].question.choices)
    answers: Iterator[Answer]
    if is_streamed:
        answers = (print_stream(run.video.answer(exhibit.exhibit, exhibit.asked.question)) for exhibit in sent)
    else:
        pairs = ((exhibit.exhibit, exhibit.asked.question) for exhibit in sent)
        answers = run.video.answer_many(pairs, keep_failures=bool(args.questions))
    results = []
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


def _print_answer(args: argparse.Namespace, exhibit: SavedExhibit, answer: Answer, *, is_streamed: bool) -> None:
    from framesift.readers.answers import answer_lines

    question = exhibit.asked.question
    report = "" if exhibit.folder is None else (exhibit.folder / "report.html").as_uri()
    lines = answer_lines(answer, question, report=report)
    # Of many questions, several are in flight at a time: an answer names the one it belongs to.
    asked = f" to {printable(question.text)!r}" if args.questions else ""
    start = [f"Answer{asked}: {lines[0]}"] if not is_streamed else []
    print("\n".join([*start, *lines[1:]]), end="\n\n")


def print_stream(pieces: Iterable[str | Answer]) -> Answer:
    """Print "Answer:" and the pieces as they arrive, and return the Answer that follows them.

    After an error or Ctrl-C the line is ended, so that what is printed next starts on its own.
    """
    print("Answer: ", end="", flush=True)
    is_empty = True
    try:
        for piece in pieces:
            if isinstance(piece, Answer):
                answer = piece
                continue
            shown = piece.lstrip() if is_empty else piece
            is_empty = is_empty and not shown
            print(shown, end="", flush=True)
        if is_empty:
            print(answer.text or "no answer: the reply is empty", end="")
    finally:
        print(flush=True)
    return answer
