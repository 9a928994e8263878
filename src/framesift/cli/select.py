"""The commands that put a question to a video: select, compare, demo."""

import argparse
import itertools
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift.cli.common import Add, Bar, print_json
from framesift.cli.question_options import (
    add_choice,
    add_question,
    asked_of,
    demand_of,
    exhibit_of,
    look,
    options_of,
    out_of,
    print_question,
)
from framesift.errors import OptionError
from framesift.text.questions import QuestionRow

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

DEMO_FOLDER = "framesift-demo"
NUMBER_FORMATS = ("keyframe_indices", "frame_idx")  # one file for all questions; other formats are one per exhibit


def add_commands(add: Add) -> None:
    demo = add("demo", _demo, "make a sample video, put a question to it, and show the report")
    demo.add_argument("--method", default="gcr", help="a name of `framesift selectors` (default: gcr)")
    demo.add_argument("--budget", type=int, default=16, help="how many frames (default: 16)")
    demo.add_argument("--out", metavar="DIR", default=DEMO_FOLDER, help=f"folder to write (default: {DEMO_FOLDER})")

    select = add("select", _select, "pick the frames of a video that answer a question, and say why")
    add_question(select)
    add_exhibit_options(select)

    compare = add("compare", _compare, "put several methods' frames for a question into one report")
    add_question(compare)
    compare.add_argument("--methods", default="gcr,uniform,topk,mmr", help="names with commas between them")
    add_choice(compare)


def add_exhibit_options(command: argparse.ArgumentParser) -> None:
    several = "a JSON, CSV or text file of questions, in place of -q: an exhibit for each"
    command.add_argument("--questions", metavar="FILE", help=several)
    command.add_argument("--method", default="gcr", help="a name of `framesift selectors` (default: gcr)")
    add_choice(command)
    hand_over = "also write keyframe_indices, frame_idx, openai or jsonl, for other tools; repeatable"
    command.add_argument("--format", action="append", default=[], metavar="NAME", help=hand_over)
    command.add_argument("--no-exhibit", action="store_true", help="print the frames' times and write nothing")


@dataclass(frozen=True)
class Shown:
    """One question's exhibit, and where it was written: `saved` and `report`, nothing if it was not."""

    asked: QuestionRow
    exhibit: "Exhibit"
    saved: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        return ({"id": self.asked.id} if self.asked.id else {}) | self.exhibit.to_dict() | self.saved


def _select(args: argparse.Namespace) -> int:
    told = [shown.to_dict() for shown in exhibits_of(args)]
    if args.json:
        print_json(told if args.questions else told[0])
    return 0


def exhibits_of(args: argparse.Namespace) -> Iterator[Shown]:
    """Index, events, selection, exhibit: one question after the other, each shown and written before the next."""
    from framesift.pipeline import select_many
    from framesift.rendering.export_formats import check_formats

    asked = asked_of(args)
    check_formats(args.format)
    options = options_of(args, [args.method])[args.method]
    out = out_of(args)
    _check_out(args, out)
    index, found = look(args)
    selections = select_many(
        index,
        [one.question for one in asked],
        events=found.events,
        budget=args.budget,
        method=args.method,
        event_encoder=args.event_encoder,
        visual_demand=demand_of(args.visual_demand),
        namer=args.namer,
        store=args.store,
        **options,
    )
    lists = _Lists(out, args.format) if args.questions and not args.no_exhibit else None
    for place, (one, selection) in enumerate(zip(asked, selections, strict=True), 1):
        made = exhibit_of(args, selection, found)
        if not args.json:
            print_question(one.question)
            print(made.selection, end="\n\n")
        folder = out if not args.questions else out / _folder_name(place, one)
        saved = {} if args.no_exhibit else _save(args, one, made, folder)
        if lists is not None:
            lists.add(made, one, folder)
        yield Shown(one, made, saved)


def _check_out(args: argparse.Namespace, out: Path) -> None:
    from framesift.rendering.export import check_free

    if args.no_exhibit:
        return
    if args.questions:
        check_free(out, force=args.force, marker=_Lists.MARK)
    else:
        check_free(out, force=args.force, as_zip=args.zip)


def _save(args: argparse.Namespace, one: QuestionRow, made: "Exhibit", folder: Path) -> dict[str, str]:
    """Write one question's exhibit; where it is."""
    bar = Bar(show=not args.json, unit=" pictures")
    saved = made.save(
        folder,
        force=args.force,
        as_zip=args.zip,
        with_video=args.with_video,
        formats=[name for name in args.format if not (args.questions and name in NUMBER_FORMATS)],
        row=one.row,
        progress=bar,
    )
    bar.close()
    report = saved if args.zip else saved / "report.html"
    if not args.json:
        print(f"Report: {report}\n")
    return {"saved": str(saved), "report": str(report)}


class _Lists:
    """The files that tell of all questions of a run, rewritten after each: what is done, and native frame numbers."""

    MARK = "exhibits.json"

    def __init__(self, out: Path, formats: list[str]) -> None:
        self.out = out
        self.rows: dict[str, list[dict[str, Any]]] = {"exhibits": []}
        self.rows |= {name: [] for name in NUMBER_FORMATS if name in formats}

    def add(self, made: "Exhibit", one: QuestionRow, folder: Path) -> None:
        from framesift._utils.json import dump_json
        from framesift.rendering.export_formats import numbers_row

        times = made.selection.times_s
        self.rows["exhibits"].append({"question": one.question.text, "folder": folder.name, "times_s": times})
        for name in self.rows.keys() - {"exhibits"}:
            self.rows[name].append(numbers_row(made, one.row, name))
        for name, rows in self.rows.items():
            temporary = self.out / f".{name}.json"
            temporary.write_text(dump_json(rows), encoding="utf-8")
            temporary.replace(self.out / f"{name}.json")


def _folder_name(place: int, one: QuestionRow) -> str:
    """003-why-was-the-start-put-off: sorts as in the file, tells what was asked."""
    words = re.sub(r"[^a-z0-9]+", "-", (one.id or one.question.text).lower()).strip("-")[:48].strip("-")
    return f"{place:03d}-{words}" if words else f"{place:03d}"


def _compare(args: argparse.Namespace) -> int:
    from framesift.pipeline import select
    from framesift.rendering.export import check_free, save_comparison

    methods = list(dict.fromkeys(name.strip() for name in args.methods.split(",") if name.strip()))
    if len(methods) < 2:
        raise OptionError(f"--methods is {args.methods!r}; expected two or more names with commas between them")
    question = asked_of(args)[0].question
    options = options_of(args, methods)
    out = out_of(args)
    check_free(out, force=args.force, as_zip=args.zip)
    index, found = look(args)
    exhibits = []
    for method in methods:
        selection = select(
            index,
            question,
            events=found.events,
            budget=args.budget,
            method=method,
            event_encoder=args.event_encoder,
            visual_demand=demand_of(args.visual_demand),
            namer=args.namer,
            store=args.store,
            **options[method],
        )
        exhibits.append(exhibit_of(args, selection, found))
    bar = Bar(show=not args.json, unit=" pictures")
    saved = save_comparison(
        exhibits,
        out,
        force=args.force,
        as_zip=args.zip,
        with_video=args.with_video,
        progress=bar,
    )
    bar.close()
    report = saved if args.zip else saved / "report.html"
    if args.json:
        told = {exhibit.selection.method: exhibit.to_dict() for exhibit in exhibits}
        print_json({"selections": told, "saved": str(saved), "report": str(report)})
        return 0
    print_question(question)
    _print_comparison(exhibits)
    print(f"\nReport: {report}")
    return 0


def _demo(args: argparse.Namespace) -> int:
    """What `framesift select` does, on a video made on the spot; then the one reader that needs no model."""
    from framesift.cli import main
    from framesift.selection.registry import check_budget, get_selector
    from framesift.store.sample_video import QUESTION, sample_video

    check_budget(args.budget)
    get_selector(args.method)
    bar = Bar(show=not args.json)
    if not args.json:
        print("The sample video is made once and kept; so is its index.", file=sys.stderr)
    video = sample_video(progress=bar)
    bar.close()
    command = ["ask", str(video), "--reader", "similarity", "--question", QUESTION.text]
    command += [part for option in QUESTION.options for part in ("--option", option)]
    command += ["--method", args.method, "--budget", str(args.budget), "--out", args.out, "--force", "--with-video"]
    if not args.json:
        print(f"$ framesift {shlex.join(command)}\n")
    code = main([*command, "--json"] if args.json else command)
    if code == 0:  # the folder then holds the video with its subtitles, ready for further commands
        shutil.copy(video.with_suffix(".srt"), args.out)
    return code


def _print_comparison(exhibits: list["Exhibit"]) -> None:
    """A line per method: frames chosen and looked at, relevance, largest gap, words, and those the first has too."""
    first = set(exhibits[0].selection.indices)
    head = f"{'frames':>6} {'looked at':>10} {'relevance':>10} {'largest gap':>12} {'with text':>10}"
    print(f"{'method':<16} {head}  as {exhibits[0].selection.method}")
    for exhibit in exhibits:
        selection = exhibit.selection
        bounds = [0.0, *selection.times_s, exhibit.info.duration_s]
        gap = max(after - before for before, after in itertools.pairwise(bounds))
        mean = sum(slot.relevance for slot in selection.slots) / len(selection)
        texts = sum(1 for frame in exhibit.frames if frame.text)
        looked_at = selection.trace.get("looked_at", "")
        line = f"{len(selection):>6} {looked_at:>10} {mean:>10.3f} {gap:>10.1f} s {texts:>10}"
        print(f"{selection.method:<16} {line}  {len(first & set(selection.indices))}")
