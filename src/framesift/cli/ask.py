"""The command that gets an answer: everything `select` does, then the frames in front of a reader."""

import argparse
import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.json import dump_json, parse_scalar
from framesift._utils.text import printable
from framesift.cli.common import Add, print_json
from framesift.cli.question_options import add_question
from framesift.cli.select import Shown, add_exhibit_options, exhibits_of
from framesift.errors import OptionError

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit
    from framesift.types import Answer, Question

TEXT_MODES = ("none", "blank", "prompt", "tagged", "shuffled", "aligned")
# Flags for the options people change most; a reader that does not know one says so and lists its own.
READER_FLAGS: dict[str, tuple[type, str]] = {
    "preset": (str, "wording of the prompt: longvideobench (default), videomme, bare"),
    "max_tokens": (int, "longest reply (default: 32 with options, 512 without)"),
    "longest_side": (int, "of each picture sent to a server, in pixels"),
    "quality": (int, "of each JPEG sent to a server, 1 to 95"),
    "timeout_s": (float, "seconds to wait for a server's reply"),
    "retries": (int, "how often a server is asked again after 429, 5xx or a lost connection"),
    "key_variable": (str, "environment variable with the server's key"),
    "frames_as": (str, "for local models: video (default) or pictures"),
    "score": (str, "for local models: generate (default) or logits"),
    "device_map": (str, "for local models: auto spreads the model over all GPUs"),
}


def add_commands(add: Add) -> None:
    ask = add("ask", _ask, "select frames, put them in front of a model and print its answer")
    add_question(ask)
    add_reader(ask)
    add_exhibit_options(ask)


def add_reader(command: argparse.ArgumentParser) -> None:
    where = "http://HOST:PORT/v1[#MODEL], local:MODEL, or similarity (weak, needs no model)"
    command.add_argument("--reader", required=True, metavar="READER", help=where)
    how = "how the events' text is shown (default: aligned, drawn on its frame)"
    command.add_argument("--text-mode", choices=TEXT_MODES, default="aligned", help=how)
    command.add_argument("--no-times", action="store_true", help="do not tell the reader each frame's time")
    command.add_argument("--concurrency", type=int, metavar="N", help="with --questions: how many at a time")
    for name, (kind, told) in READER_FLAGS.items():
        command.add_argument(_flag(name), dest=f"reader_{name}", type=kind, metavar=kind.__name__.upper(), help=told)
    command.add_argument(
        "--reader-set", action="append", default=[], metavar="NAME=VALUE", help="any option of the reader"
    )


def _flag(name: str) -> str:
    return "--timeout" if name == "timeout_s" else f"--{name.replace('_', '-')}"


def _ask(args: argparse.Namespace) -> int:
    from framesift.readers.base import ask_many, get_reader

    reader = get_reader(args.reader, **reader_options(args))
    waiting: deque[Shown] = deque()

    def pairs() -> Iterator["tuple[Exhibit, Question | str | None]"]:
        for shown in exhibits_of(args):
            waiting.append(shown)
            yield shown.exhibit, shown.asked.question

    answers = ask_many(
        pairs(),
        reader=reader,
        text_mode=args.text_mode,
        concurrency=args.concurrency,
        on_error="keep" if args.questions else "raise",
    )
    told, failed = [], 0
    for answer in answers:
        shown = waiting.popleft()
        failed += bool(answer.note and not answer.reader)
        told.append(_tell(args, shown, answer))
    if args.json:
        print_json(told if args.questions else told[0])
    return 1 if failed else 0


def _tell(args: argparse.Namespace, shown: Shown, answer: "Answer") -> dict[str, Any]:
    """Print an answer, put it beside its report, and give back what `--json` prints of it."""
    from framesift.readers.answers import answer_lines

    folder = None if args.zip or not shown.saved else Path(shown.saved["saved"])
    report = "" if folder is None else (folder / "report.html").as_uri()
    if folder is not None:
        temporary = folder / f".{os.getpid()}-answer.json"
        temporary.write_text(dump_json(answer.to_dict()), encoding="utf-8")
        temporary.replace(folder / "answer.json")
    if not args.json:
        # Of many questions, several are on their way at a time: an answer says which one it belongs to.
        asked = f" to {printable(shown.asked.question.text)!r}" if args.questions else ""
        print(f"Answer{asked}:", "\n".join(answer_lines(answer, shown.asked.question, report=report)), end="\n\n")
    return shown.to_dict() | {"answer": answer.to_dict()}


def reader_options(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags and --reader-set say to the reader."""
    options = {name: getattr(args, f"reader_{name}") for name in READER_FLAGS}
    options = {name: value for name, value in options.items() if value is not None}
    if args.no_times:
        options["times"] = False
    for text in args.reader_set:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"--reader-set {text!r} sets nothing; expected NAME=VALUE")
        options[name.strip()] = parse_scalar(value.strip())
    return options
