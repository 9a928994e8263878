"""The benchmarks: run data sets, make tables of results, score frame lists, and run the self-test."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.records import read_value
from framesift._utils.text import counted, duration_text
from framesift.batch.results import UNIFORM_FRAMES
from framesift.cli.bench_evidence import add_evidence
from framesift.cli.bench_questions import (
    add_question_flags,
    command_line,
    has_moments,
    load_questions,
    table_rows,
)
from framesift.cli.output import ProgressBar, print_json, print_video_warnings
from framesift.cli.settings import AddCommand, add_settings
from framesift.errors import OptionError
from framesift.indexing.index import UNCHANGED_FRAMES
from framesift.selection.batch_select import BLANK_FRAMES

if TYPE_CHECKING:
    from framesift.batch.runner import RunSummary
    from framesift.bench.items import Dataset
    from framesift.bench.plan import BenchmarkPlan
    from framesift.bench.tables import ResultTable

DATASETS = ("longvideobench", "videomme", "mlvu", "egoschema", "lvbench")
OWN = "own"
OWN_ENDINGS = (".jsonl", ".json", ".csv")
RESULTS = "bench-results"
_CHOICE = ("methods", "budgets", "text_modes")
_RELEVANCE = ("event_encoder", "visual_demand", "namer", "blank_frames", "unchanged_frames", "times", "uniform_frames")
_HERE = ("store", "device")  # of this machine
_PLAN = (*_CHOICE, "readers", "ablate", "sweep", "set", "encoder", "fps", "mode", "events", "seed", *_RELEVANCE)


def expand_shorthand(argv: Sequence[str]) -> list[str]:
    """`bench mine.jsonl` is short for `bench own mine.jsonl`."""
    words = list(argv)
    if words[:1] == ["bench"] and len(words) > 1 and words[1].lower().endswith(OWN_ENDINGS):
        words.insert(1, OWN)
    return words


def add_commands(add: AddCommand) -> None:
    bench = add("bench", None, "run benchmarks, and make their tables")
    parts = bench.add_subparsers(title="what", metavar="DATASET|run|report|evidence|selftest")

    def part(name: str, run: Any, summary: str) -> argparse.ArgumentParser:
        command = parts.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print the result as JSON")
        command.set_defaults(run=run)
        return command

    for name in DATASETS:
        command = part(name, _dataset, f"run methods and readers on {name}")
        command.set_defaults(dataset=name)
        command.add_argument("--data", required=True, metavar="DIR", help="the data set's folder, as published")
        _add_run(command)
    own = part(OWN, _dataset, "run methods and readers on questions of your own: bench FILE.jsonl")
    own.add_argument("dataset", metavar="FILE", help="JSONL, JSON or CSV of video, question, options, answer …")
    own.set_defaults(data=None)
    _add_run(own)
    run = part("run", _run_file, "run a YAML plan, such as those in benchmarks/paper")
    run.add_argument("plan", metavar="FILE.yaml")
    run.add_argument("--data", action="append", default=[], metavar="NAME=DIR", help="a data set's folder; repeatable")
    _add_run(run, from_file=True)
    report = part("report", _report, "tables from a folder of results")
    report.add_argument("results", nargs="+", metavar="RESULTS")
    report.add_argument("--out", metavar="DIR", help="folder to write (default: RESULTS/report)")
    report.add_argument(
        "--data", action="append", default=[], metavar="NAME=DIR", help="for evidence scores; repeatable"
    )
    report.add_argument("--scenes", metavar="CSV", help="true scenes by question, for evidence scores")
    report.add_argument("--baseline", default="uniform", help="what categories are compared with (default: uniform)")
    add_evidence(part)
    selftest = part("selftest", _selftest, "run everything on a small synthetic benchmark")
    selftest.add_argument("--out", metavar="DIR", help="keep videos, indexes, results and report there")


def _add_run(command: argparse.ArgumentParser, *, from_file: bool = False) -> None:
    command.set_defaults(stored=True)
    narrow = "; of those in the file" if from_file else ""
    command.add_argument("--methods", metavar="NAME,NAME", help=f"of `framesift selectors`{narrow}")
    command.add_argument("--budgets", metavar="N,N", help=f"how many frames{narrow}")
    command.add_argument(
        "--text-modes", metavar="NAME,NAME", help=f"none, blank, prompt, tagged, shuffled, aligned{narrow}"
    )
    readers = "http://HOST/v1[#MODEL], local:MODEL, similarity, each also as NAME=…; none: frames alone"
    command.add_argument("--readers", metavar="READER,READER", help=readers)
    if not from_file:
        command.add_argument("--ablate", metavar="STAGE,STAGE", help="gcr without ground, cover, refine, beside gcr")
        command.add_argument("--sweep", action="append", metavar="OPTION=V,V", help="each value beside the default")
        command.add_argument("--set", action="append", metavar="[METHOD.]OPTION=V", help="an option of the methods")
        command.add_argument("--fps", help="candidates per second, or auto (default: 1, the paper's)")
        command.add_argument("--mode", choices=("exact", "fast", "keyframes"))
        command.add_argument("--events", choices=("subtitles", "speech", "none"), help="where the text comes from")
    command.add_argument("--encoder", help="auto, siglip, offline, …, or a checkpoint's folder")
    add_settings(command, "visual_demand", "event_encoder", "namer")
    blank = "frames that show nothing: skip or keep them (default: keep, the paper's)"
    command.add_argument("--blank-frames", choices=BLANK_FRAMES, default=argparse.SUPPRESS, help=blank)
    unchanged = "candidates that show the same as the one before: reuse its vector or encode them (default: encode)"
    command.add_argument("--unchanged-frames", choices=UNCHANGED_FRAMES, default=argparse.SUPPRESS, help=unchanged)
    command.add_argument(
        "--times",
        action=argparse.BooleanOptionalAction,
        default=argparse.SUPPRESS,
        help="the frames' times in the prompt (default: yes; the paper's plans have none)",
    )
    described = "uniform takes its frames from the whole video, or from the candidates (default)"
    command.add_argument("--uniform-frames", choices=UNIFORM_FRAMES, default=argparse.SUPPRESS, help=described)
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    command.add_argument("--shard", default="1/1", metavar="K/N", help="the videos of the K-th of N processes")
    command.add_argument("--out", default=RESULTS, metavar="DIR", help=f"folder of the results (default: {RESULTS})")
    add_question_flags(command)
    add_settings(command, "store")


def _dataset(args: argparse.Namespace) -> int:
    from framesift.bench.plan import make_plan

    settings = {name: getattr(args, name) for name in (*_PLAN, *_HERE) if getattr(args, name, None) is not None}
    dataset = load_questions(args.dataset, args.data, args, {})
    return _run(args, [dataset], make_plan(settings))


def _run_file(args: argparse.Namespace) -> int:
    from framesift.bench.plan import make_plan, pairs_of, read_plan, words

    settings = read_plan(args.plan)
    for name in ("readers", "encoder", "seed", *_RELEVANCE, *_HERE):
        if getattr(args, name, None) is not None:
            settings[name] = _chosen_readers(args.readers, settings) if name == "readers" else getattr(args, name)
    plan = make_plan(settings)
    given = [name for name in _CHOICE if getattr(args, name) is not None]
    narrowed_to: dict[str, Any] = {name: words(getattr(args, name), name) for name in given}
    if "budgets" in narrowed_to:
        narrowed_to["budgets"] = [int(text) if text.isdigit() else text for text in narrowed_to["budgets"]]
    folders = _folders(settings.get("datasets"), pairs_of(args.data, "--data"), args.plan)
    return _run(
        args,
        [load_questions(name, folder, args, settings) for name, folder in folders.items()],
        plan.narrowed(**narrowed_to),
    )


def _chosen_readers(text: str, settings: dict[str, Any]) -> Any:
    """`--readers` beside a file: names of readers in it, NAME=address for one of them elsewhere, or others."""
    from framesift.bench.plan import words

    in_file = settings.get("readers")
    in_file = in_file if isinstance(in_file, dict) else {}
    readers: dict[str, Any] = {}
    for word in words(text, "readers"):
        name, equals, address = word.partition("=")
        named = equals and not set(name) & set(":/")
        readers[name if named else word if word in in_file else ""] = address if named else in_file.get(word, word)
    return readers


def _folders(listed: Any, given: dict[str, Any], plan: str) -> dict[str, str | None]:
    """The folder of each data set: from the file, or from --data NAME=DIR."""
    if not isinstance(listed, dict):
        listed = dict.fromkeys(read_value(tuple[str, ...], listed or (), f"{plan}: datasets"))
    datasets: dict[str, str | None] = read_value(dict[str, str | None], listed, f"{plan}: datasets")
    if not datasets:
        datasets = dict(given)
    unknown = [name for name in given if name not in datasets]
    if unknown:
        raise OptionError(f"--data names {unknown[0]!r}, which is not in {plan}; expected one of {', '.join(datasets)}")
    folders: dict[str, str | None] = {name: given.get(name, folder) for name, folder in datasets.items()}
    if given:  # a folder for some of them: those are meant
        folders = {name: folder for name, folder in folders.items() if folder is not None or _is_own(name)}
    if not folders:
        raise OptionError(f"{plan} names no data set; give one with --data NAME=DIR")
    return folders


def _run(args: argparse.Namespace, datasets: "list[Dataset]", plan: "BenchmarkPlan") -> int:
    from framesift.batch.results import Results, read_results
    from framesift.batch.runner import parse_shard
    from framesift.bench.report import evidence_tables, make_tables
    from framesift.bench.runner import run_benchmark

    shard = parse_shard(args.shard)
    summaries: list[RunSummary] = []
    for dataset in datasets:
        if dataset.skipped and not args.json:
            left_out = counted(len(dataset.skipped), "question")
            print(f"{dataset.name}: {dataset.describe_missing()}; {left_out} left out", file=sys.stderr)
        with ProgressBar(dataset.name, show=not args.json, unit=" answers", single=True) as bar:
            summary = run_benchmark(
                dataset,
                plan,
                args.out,
                shard=shard,
                command=command_line(args),
                progress=bar,
            )
        summaries.append(summary)
    results = read_results(args.out)
    names = {dataset.name for dataset in datasets}
    rows = Results([row for row in results.rows if row.dataset in names], results.runs, results.unreadable)
    tables = [table for table in islice(make_tables(rows), 1) if table.name == "main"]
    _show(args, [*tables, *evidence_tables(rows, [d for d in datasets if has_moments(d)])], datasets, summaries)
    return 1 if any(summary.failed for summary in summaries) else 0


def _show(
    args: argparse.Namespace, tables: "list[ResultTable]", datasets: "list[Dataset]", summaries: "list[RunSummary]"
) -> None:
    videos = [len({item.video_id for item in dataset.items}) for dataset in datasets]
    if args.json:
        runs = [_run_values(summary) | {"videos": count} for count, summary in zip(videos, summaries, strict=True)]
        print_json({"runs": runs, "tables": [table_rows(table) for table in tables]})
        return
    for table in tables:
        print(table.to_markdown())
    for count, summary in zip(videos, summaries, strict=True):
        failed = f", {summary.failed} of them with an error" if summary.failed else ""
        before = f" ({summary.skipped} were done before)" if summary.skipped else ""
        if summary.warnings:
            print(f"{len(summary.warnings)} of {counted(count, 'video has', 'videos have')} warnings", file=sys.stderr)
            print_video_warnings((video, text) for video, texts in summary.warnings.items() for text in texts)
        answers = f"{counted(summary.done + summary.failed, 'answer')} in {duration_text(summary.seconds)}"
        print(f"{answers}{failed}{before}; all are in {summary.results}")
    print(f"all tables: framesift bench report {shlex.quote(args.out)}")


def _run_values(summary: "RunSummary") -> dict[str, Any]:
    return {
        "folder": str(summary.results),
        "done": summary.done + summary.failed,
        "errors": summary.failed,
        "before": summary.skipped,
        "seconds": round(summary.seconds, 3),
        "warnings": summary.warnings,
    }


def _report(args: argparse.Namespace) -> int:
    from framesift.batch.results import read_results
    from framesift.bench.datasets import load_dataset
    from framesift.bench.evidence_scores import read_scenes
    from framesift.bench.plan import pairs_of
    from framesift.bench.report import write_report

    datasets = [
        load_dataset(name, folder or None) for name, folder in pairs_of(_own_pairs(args.data), "--data").items()
    ]
    if args.scenes:
        datasets = [dataset.with_scenes(read_scenes(args.scenes)) for dataset in datasets]
    out = Path(args.out) if args.out else Path(args.results[0]) / "report"
    report = write_report(
        read_results(*args.results),
        out,
        datasets=datasets,
        baseline=args.baseline,
    )
    if args.json:
        tables = [table_rows(table) for table in report.tables]
        print_json({"folder": str(out), "files": [str(path) for path in report.files], "tables": tables})
        return 0
    for table in report.tables:
        print(table.to_markdown())
    print(f"{counted(len(report.tables), 'table')} in {out / 'report.md'}")
    return 0


def _own_pairs(given: list[str]) -> list[str]:
    return [f"{text}=" if text.lower().endswith(OWN_ENDINGS) and "=" not in text else text for text in given]


def _selftest(args: argparse.Namespace) -> int:
    from tempfile import TemporaryDirectory

    from framesift.bench.selftest import run_selftest

    with (
        TemporaryDirectory(prefix="framesift-selftest-") as temporary,
        ProgressBar("selftest", show=not args.json, unit=" answers", single=True) as bar,
    ):
        outcome = run_selftest(Path(args.out or temporary), command=command_line(args), progress=bar)
    if args.json:
        tables = [table_rows(table) for table in outcome.tables]
        print_json({"passed": outcome.passed, "verdicts": list(outcome.verdicts), "tables": tables})
    else:
        for table in outcome.tables:
            print(table.to_markdown())
        for verdict in outcome.verdicts:
            print(f"{'yes' if verdict['holds'] else 'NO ':<4} {verdict['claim']}: {verdict['measured']}")
        print(f"\n{duration_text(outcome.seconds)}" + (f"; everything is in {args.out}" if args.out else ""))
    return 0 if outcome.passed else 1


def _is_own(name: str) -> bool:
    return name.lower().endswith(OWN_ENDINGS)
