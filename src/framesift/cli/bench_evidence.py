"""`framesift bench evidence`: scores without a reader, of published frames or of selectors on evidence sets."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.text import counted
from framesift.cli.bench_questions import (
    add_question_flags,
    command_line,
    has_moments,
    load_questions,
    table_rows,
)
from framesift.cli.output import ProgressBar, print_json
from framesift.cli.settings import add_settings
from framesift.errors import InputError, OptionError
from framesift.pipeline.config import PipelineConfig

if TYPE_CHECKING:
    from framesift.bench.plan import BenchmarkPlan

SET_BUDGETS = "4,8,16"
_SETTINGS = ("encoder", "device", "store", "seed")
_SELECTORS = ("methods", "budgets", "set", "sweep", "video", "out")  # flags of a run on evidence sets


def add_evidence(part: Callable[[str, Any, str], argparse.ArgumentParser]) -> None:
    """The command: a data set with published frames (--selections), or evidence sets to run selectors on."""
    command = part("evidence", _evidence, "score frames against annotated moments, without a reader")
    described = "a data set, for --selections; or transcript and moment sets to run selectors on"
    command.add_argument("dataset", nargs="+", metavar="DATASET|FILE", help=described)
    command.add_argument("--data", metavar="DIR", help="the data set's folder or annotation file")
    command.add_argument("--selections", action="append", metavar="FILE", help="published frame lists; repeatable")
    command.add_argument("--fps", type=float, help="turns frame numbers into times (default: the video itself does)")
    command.add_argument("--fps-from", metavar="FILE", help="frames per second by video, or AKS's published frames")
    add_question_flags(command)
    command.add_argument("--methods", metavar="NAME,NAME", help="of `framesift selectors` (default: all that can run)")
    command.add_argument("--budgets", metavar="N,N", help=f"how many frames (default: {SET_BUDGETS})")
    command.add_argument("--set", action="append", metavar="[METHOD.]OPTION=V", help="an option of the methods")
    command.add_argument("--sweep", action="append", metavar="OPTION=V,V", help="each value beside the default")
    command.add_argument("--video", metavar="FILE", help="its frames stand for those of videos without any")
    command.add_argument("--out", metavar="DIR", help="keep a row per selection there; the same command continues")
    add_settings(command, "encoder", "device", "store")


def _evidence(args: argparse.Namespace) -> int:
    return _score_selections(args) if args.selections else _run_sets(args)


def _score_selections(args: argparse.Namespace) -> int:
    """The table of published frames."""
    from framesift.bench.datasets import load_dataset
    from framesift.bench.evidence_scores import score_selections
    from framesift.bench.frame_lists import count_past_end, read_frame_rates, read_selections
    from framesift.bench.layouts import evidence_table

    unused = [name for name in _SELECTORS if getattr(args, name) is not None]
    if unused:
        raise OptionError(f"--{unused[0]} runs selectors on evidence sets; leave it out with --selections")
    if len(args.dataset) > 1:
        raise OptionError(f"{len(args.dataset)} data sets were given with --selections; expected one")
    if args.fps is not None and args.fps_from is not None:
        raise OptionError("--fps and --fps-from were both given; expected one of them")
    dataset = load_questions(args.dataset[0], args.data, args, with_files=False)
    if not has_moments(dataset):
        raise InputError(f"{dataset.name} has no annotated moments; give true scenes with --scenes CSV")
    every_item = load_dataset(args.dataset[0], args.data).items
    rates = args.fps if args.fps_from is None else read_frame_rates(args.fps_from, every_item)
    ids = [item.id for item in every_item]
    summaries = {}
    notes = []
    for path in args.selections:
        times = read_selections(path, dataset.items, fps=rates, ids=ids)
        summaries[Path(path).stem if len(args.selections) == 1 else path] = score_selections(dataset.items, times)[1]
        past_end = count_past_end(dataset.items, times)
        if past_end:
            notes.append(f"{path}: {counted(past_end, 'question')} with a frame after the end of the video")
    described = f"data: {dataset.name}, {counted(len(dataset), 'question')}, fingerprint {dataset.fingerprint}"
    table = evidence_table(summaries, (*notes, f"command: {command_line(args)}", described))
    if args.json:
        print_json(table_rows(table))
    else:
        print(table.to_markdown())
    return 0


def _run_sets(args: argparse.Namespace) -> int:
    """The tables of selectors on transcript and moment sets."""
    from framesift.bench.evidence_runs import run_evidence_set, score_table
    from framesift.bench.evidence_sets import read_evidence_set

    args.stored = None if args.out is None else True
    sets = [read_evidence_set(_set_file(name), limit=args.limit) for name in args.dataset]
    plan, left_out = _plan(args)
    given = {name: getattr(args, name) for name in _SETTINGS if getattr(args, name, None) is not None}
    config = PipelineConfig(unchanged_frames="encode", **given)
    tables = []
    for data in sets:
        with ProgressBar(data.name, show=not args.json, unit=" selections", single=True) as bar:
            results = run_evidence_set(
                data,
                plan.choices,
                config,
                substitute=args.video,
                folder=args.out,
                command=command_line(args),
                progress=bar,
            )
        tables.append(score_table(data, results))
    if args.json:
        print_json({"tables": [table_rows(table) for table in tables], "left_out": left_out})
        return 0
    for table in tables:
        print(table.to_markdown())
    for name, reason in left_out.items():
        print(f"left out: {name}: {reason}", file=sys.stderr)
    return 0


def _set_file(name: str) -> Path:
    if not name.lower().endswith((".json", ".jsonl")):
        raise InputError(
            f"{name} is not an evidence set; expected a .json or .jsonl file, or a data set with --selections FILE"
        )
    return Path(name)


def _plan(args: argparse.Namespace) -> "tuple[BenchmarkPlan, dict[str, str]]":
    """The methods and budgets, and why each selector that can't run is left out."""
    from framesift.bench.evidence_runs import runnable_selectors, why_not_runnable
    from framesift.bench.plan import make_plan, words
    from framesift.selection.registry import get_selector

    left_out: dict[str, str] = {}
    methods = words(args.methods, "methods")
    if not methods:
        methods, left_out = runnable_selectors()
    for method in methods:
        reason = why_not_runnable(get_selector(method))
        if reason:
            raise OptionError(f"{method} can't run on evidence sets: {reason}; leave it out of --methods")
    settings = {"methods": methods, "budgets": args.budgets or SET_BUDGETS, "text_modes": ["none"]}
    settings |= {name: getattr(args, name) for name in ("set", "sweep") if getattr(args, name) is not None}
    return make_plan(settings), left_out
