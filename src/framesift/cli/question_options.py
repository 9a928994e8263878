"""From the words of a command line to a question, an index, events and a selector's options."""

import argparse
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.json import parse_scalar
from framesift._utils.text import clock, printable
from framesift.cli.common import Bar, add_event_options, add_index_options, add_relevance_options, events_of
from framesift.errors import InputError, OptionError
from framesift.text.questions import QuestionRow, parse_question, read_questions
from framesift.types import Question, Selection, VideoIndex
from framesift.types.question import option_letter

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit
    from framesift.store.events import Found


def add_question(command: argparse.ArgumentParser) -> None:
    command.add_argument("video", metavar="VIDEO")
    command.add_argument("-q", "--question", metavar="TEXT", help='may hold its options: "Why …? A) this B) that"')
    command.add_argument("-o", "--option", action="append", default=[], metavar="TEXT", help="an answer; repeatable")


def add_choice(command: argparse.ArgumentParser) -> None:
    command.add_argument("--budget", type=int, default=32, help="how many frames (default: 32)")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the method")
    command.add_argument("--seed", type=int, help="of whatever is drawn: a method's choice, a shuffled overlay")
    add_relevance_options(command)
    add_event_options(command)
    add_index_options(command)
    ways = ("aligned", "blank", "shuffled", "none")
    command.add_argument("--overlay", choices=ways, default="aligned", help="text on the frames (default: aligned)")
    command.add_argument("--size", type=int, metavar="PIXELS", help="shorter side of the frames (default: the video's)")
    scales = "shrink frames by rank of relevance, as 4:1/2,8:1/4,32:1/8, which q-frame stands for"
    command.add_argument("--scales", type=_scales, default=(), metavar="PAIRS", help=scales)
    command.add_argument("--out", metavar="DIR", help="folder to write (default: VIDEO-evidence, a free name)")
    command.add_argument("--force", action="store_true", help="replace an exhibit that is there")
    command.add_argument("--zip", action="store_true", help="write DIR.zip in place of a folder")
    command.add_argument("--with-video", action="store_true", help="put the video beside the report, which plays it")


def asked_of(args: argparse.Namespace) -> list[QuestionRow]:
    several = getattr(args, "questions", None)
    if several is not None:
        if args.question is not None or args.option:
            raise OptionError("both --questions and -q/-o were given; expected one or the other")
        return read_questions(several)
    if args.question is None:
        raise OptionError(
            "there is no question; expected -q TEXT" + (" or --questions FILE" if "questions" in args else "")
        )
    return [QuestionRow(parse_question(args.question, args.option))]


def options_of(args: argparse.Namespace, methods: list[str]) -> dict[str, dict[str, Any]]:
    """The options of each method: `--set name=value` for every one that knows it, `--set method.name=value` for one."""
    from framesift.selection.registry import check_options, get_selector

    known = {method: get_selector(method).options for method in methods}
    chosen: dict[str, dict[str, Any]] = {method: {} for method in methods}
    for text in args.set:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"--set {text!r} sets nothing; expected NAME=VALUE")
        method, dot, own = name.strip().partition(".")
        takers = [method] if dot and method in known else [m for m in methods if name.strip() in known[m]]
        own = own if dot and method in known else name.strip()
        if not takers or own not in known[takers[0]]:
            check_options(takers[0] if takers else methods[0], {own: value}, known[takers[0] if takers else methods[0]])
        for taker in takers:
            chosen[taker][own] = parse_scalar(value.strip())
    for method in methods:
        if args.seed is not None and "seed" in known[method]:
            chosen[method].setdefault("seed", args.seed)
    return chosen


def _scales(text: str) -> tuple[tuple[int, float], ...]:
    from framesift.rendering.exhibit import Q_FRAME_SCALES

    if text == "q-frame":
        return Q_FRAME_SCALES
    try:
        pairs = (pair.split(":") for pair in text.split(","))
        return tuple((int(count), float(Fraction(scale))) for count, scale in pairs)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of scales; expected one like 4:1/2,8:1/4") from None


def demand_of(text: str | None) -> float | str:
    if text is None:
        return "rules"
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"--visual-demand is {text!r}; expected a number from 0 (words) to 1 (pictures)") from None


def out_of(args: argparse.Namespace) -> Path:
    """The folder named, or a free one beside where the command runs."""
    if args.out is not None:
        return Path(args.out)
    base = f"{Path(args.video).stem}-evidence"
    name, number = base, 1
    while not args.force and (Path(name).exists() or Path(f"{name}.zip").exists()):
        number += 1
        name = f"{base}-{number}"
    return Path(name)


def look(args: argparse.Namespace) -> tuple[VideoIndex, "Found"]:
    """The video's index and its events, from what is kept where it is; progress and notes go to the error output."""
    from framesift.selection.registry import check_budget
    from framesift.store.events import AUTO, NONE
    from framesift.store.indexing import index

    check_budget(args.budget)
    if args.subtitles not in (AUTO, NONE) and not Path(args.subtitles).is_file():
        raise InputError(f"{args.subtitles} is no file; expected a subtitle file, auto or none")
    bar = Bar(show=not args.json)
    path = Path(args.video)
    indexed = index(
        path,
        args.encoder,
        args.fps,
        args.mode,
        progress=lambda _, done, total: bar(path.name, done, total),
        store=args.store,
        device=args.device,
    )
    bar.close()
    found = events_of(args)
    if not args.json:
        length = clock(indexed.info.duration_s)
        print(
            f"{printable(path.name)}: {length}, {len(indexed)} candidates, encoder {indexed.encoder}", file=sys.stderr
        )
        sources = ", ".join(f"{source.events} from {source.name}" for source in found.sources)
        print(f"events: {printable(sources) or 'none found; frames carry no text'}", file=sys.stderr)
        for note in found.notes:
            print(f"note: {printable(note)}", file=sys.stderr)
    return indexed, found


def exhibit_of(args: argparse.Namespace, selection: Selection, found: "Found") -> "Exhibit":
    from framesift.rendering.exhibit import events_for, exhibit

    shown = events_for(selection, found.events)
    return exhibit(args.video, shown, args.size, overlay=args.overlay, seed=args.seed or 0, scales=args.scales)


def print_question(question: Question) -> None:
    print(f"Question: {printable(question.text)}")
    for k, option in question.choices.items():
        print(f"  {option_letter(k)}. {printable(option)}")
    print()
