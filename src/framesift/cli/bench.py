"""The benchmarks: run data sets, make tables of results, score frame lists, and run the self-test."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.json import parse_scalar
from framesift._utils.records import read_value
from framesift._utils.settings import check_count
from framesift._utils.text import counted, duration_text
from framesift.cli.arguments import AddCommand, Group, Parser, make_command
from framesift.cli.output import ProgressBar, print_json, print_video_warnings
from framesift.cli.settings import DECLARED, add_settings, assignment, setting_value
from framesift.errors import InputError, OptionError
from framesift.pipeline.config import PipelineConfig, read_settings

if TYPE_CHECKING:
    from framesift.batch.runner import RunSummary
    from framesift.bench.items import Dataset
    from framesift.bench.plan import BenchmarkPlan
    from framesift.bench.tables import ResultTable

DATASETS = ("longvideobench", "videomme", "videomme-v2", "mlvu", "egoschema", "lvbench", "cgbench")
OWN = "own"
OWN_ENDINGS = (".jsonl", ".json", ".csv")
RESULTS = "bench-results"
SET_BUDGETS = "4,8,16"
UNIFORM_BUDGETS = "8,16,32,64"  # of uniform frames by the annotation alone
QUESTIONS, METHODS = "which questions", "which methods and readers"
# As framesift.bench.plan has them, which is not imported before a benchmark runs.
RUN_SETTINGS = (
    *("seed", "fps", "mode", "device", "decode", "store", "events", "event_encoder", "visual_demand", "namer"),
    *("query", "size", "blank_frames", "unchanged_frames", "times", "uniform_frames"),
)
_CHOICE = ("methods", "budgets", "text_modes")
_SELECTORS = ("methods", "set", "sweep", "video", "out")  # flags of a run on evidence sets


def expand_shorthand(argv: Sequence[str]) -> list[str]:
    """`bench mine.jsonl` is short for `bench own mine.jsonl`."""
    words = list(argv)
    if words[:1] == ["bench"] and len(words) > 1 and _is_own(words[1]):
        words.insert(1, OWN)
    return words


def add_commands(add: AddCommand) -> None:
    bench = add(
        "bench", None, "run benchmarks, and make their tables", "framesift bench mine.jsonl --methods sift,uniform"
    )
    bench.finish()
    parts = bench.add_subparsers(title="what", metavar="DATASET|run|report|evidence|selftest")

    def part(name: str, run: Any, summary: str, example: str, json: str = "the tables") -> Parser:
        command = make_command(parts, name, run, summary, f"framesift bench {example}")
        command.finish(f"print {json} as JSON")
        return command

    for name in DATASETS:
        example = f"{name} --data DIR --methods gcr,uniform --budgets 8,32"
        command = part(name, _dataset, f"run methods and readers on {name}", example)
        command.set_defaults(dataset=name)
        command.group(QUESTIONS).add("--data", "DIR", "the data set's folder, as published", required=True)
        _add_run(command)
    example = "mine.jsonl --methods gcr,uniform --budgets 8,32"
    own = part(OWN, _dataset, "run methods and readers on questions of your own", example)
    own.group(QUESTIONS).add(
        "dataset", "FILE", "JSONL, JSON or CSV of video, question, options, answer …; `bench FILE.jsonl` is the same"
    )
    own.set_defaults(data=None)
    _add_run(own)
    example = "run benchmarks/paper/table1.yaml --data longvideobench=DIR"
    run = part("run", _run_file, "run a YAML plan, such as those in benchmarks/paper", example)
    run.group(QUESTIONS).add("plan", "FILE.yaml", "the plan")
    _add_folders(run.group(QUESTIONS), "folder of a data set; repeatable")
    _add_run(run, from_file=True)
    report = part("report", _report, "make tables and plots from folders of results", "report bench-results")
    report.group(QUESTIONS).add("results", "RESULTS", "folders of results", nargs="+")
    _add_folders(report.group(QUESTIONS), "folder of a data set, for scores by evidence; repeatable")
    report.group(QUESTIONS).add("--scenes", "CSV", "true scenes by question, for scores by evidence")
    report.group("output").add(
        "--baseline",
        "NAME",
        "method that the others are compared with by category (default: uniform)",
        default="uniform",
    )
    report.group("output").add("--out", "DIR", "folder to write (default: RESULTS/report)")
    report.group("output").switch("--no-plots", "tables only, without matplotlib")
    example = "evidence transcripts.json --methods sift,uniform --budgets 4,8"
    _add_evidence(part("evidence", _evidence, "score frames against annotated moments, without a reader", example))
    summary = "run everything on a small synthetic benchmark"
    selftest = part("selftest", _selftest, summary, "selftest", "the tables and the verdicts")
    selftest.group("output").add("--out", "DIR", "keep videos, indexes, results and report there")


def _add_folders(group: Group, described: str) -> None:
    group.add("--data", "NAME=DIR", described, action="append", default=[])


def _add_run(command: Parser, *, from_file: bool = False) -> None:
    command.set_defaults(stored=True)
    what = command.group(METHODS)
    narrow = ", of those in the file" if from_file else ""
    _add_methods(what, f"one or more of `framesift selectors`{narrow}", f"how many frames to select{narrow}")
    what.add(
        "--text-modes",
        "NAME,NAME",
        f"how the reader is shown the text{narrow}: none, blank, prompt, tagged, shuffled, aligned",
    )
    what.add(
        "--readers",
        "READER,READER",
        "http://HOST/v1[#MODEL], local:MODEL or similarity, each also as NAME=…; none: frames alone",
    )
    if not from_file:
        _add_options(what)
        what.add("--ablate", "STAGE,STAGE", "gcr without ground, cover or refine, beside gcr")
    _add_questions(command, RUN_SETTINGS)
    output = command.group("output")
    output.add("--out", "DIR", f"folder of the results (default: {RESULTS})", default=RESULTS)
    output.add("--shard", "K/N", "run the videos of the K-th of N processes", default="1/1")


def _add_methods(group: Group, methods: str, budgets: str) -> None:
    group.add("--methods", "NAME,NAME", methods)
    group.add("--budgets", "N,N", budgets)


def _add_evidence(command: Parser) -> None:
    """A data set with published frames (--selections), or evidence sets to run selectors on."""
    asked, what = command.group(QUESTIONS), command.group(METHODS)
    asked.add(
        "dataset",
        "DATASET|FILE",
        "transcript and moment sets to run selectors on; or a data set, for uniform frames or --selections",
        nargs="+",
    )
    asked.add("--data", "DIR", "the data set's folder or annotation file")
    asked.add("--selections", "FILE", "published frame lists; repeatable", action="append")
    rates = asked.add_mutually_exclusive_group()
    rates.add_argument(
        "--fps", type=float, metavar="RATE", help="turns frame numbers into times (default: the video's)"
    )
    rates.add_argument("--fps-from", metavar="FILE", help="frames per second by video, or AKS's published frames")
    asked.add("--video", "FILE", "video whose frames stand for those of sets without any")
    budgets = f"how many frames to select (default: {SET_BUDGETS}; uniform on a data set: {UNIFORM_BUDGETS})"
    _add_methods(what, "one or more of `framesift selectors` (default: all that can run)", budgets)
    _add_options(what)
    _add_questions(command, ("device", "store", "seed"))
    command.group("output").add("--out", "DIR", "keep a row per selection there; the same command continues")


def _add_options(group: Group) -> None:
    group.add("--sweep", "OPTION=V,V", "each value of an option beside the default; repeatable", action="append")


def _add_questions(command: Parser, settable: Sequence[str]) -> None:
    """Which questions, and the settings that every run has."""
    asked = command.group(QUESTIONS)
    asked.add("--limit", "N", "the first N questions of those that are left", type=int)
    asked.add("--sample", "N", "N questions drawn by the setting seed", type=int)
    asked.add("--ids", "ID,ID", "only these questions")
    asked.add("--groups", "NAME,NAME", "only these groups, as in Short,Medium or as the data set calls them")
    asked.add_argument(
        "--allow-missing", action="store_true", default=None, help="leave out questions whose video is missing"
    )
    asked.add("--scenes", "CSV", "true scenes by question: id, scene_id, start, end")
    add_settings(command.group("all settings"), "encoder")
    command.group("all settings").add(
        "--set", "NAME=VALUE", f"{', '.join(settable)}, or an option of the methods; repeatable", action="append"
    )
    command.set_defaults(settable=settable)


def _given(args: Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The flags and the settings of `--set` that were given, by name; "set" are the options of methods."""
    values = {name: value for name in names if (value := getattr(args, name, None)) is not None}
    options = []
    for text in args.set or ():
        name, value = assignment(text)
        if name not in args.settable:
            options.append(text)
        elif name in names:
            values[name] = setting_value(name, value) if name in DECLARED else parse_scalar(value)
    if "set" in names:
        values["set"] = options or None
    return {name: value for name, value in values.items() if value is not None}


def _dataset(args: Namespace) -> int:
    from framesift.bench.plan import SETTINGS, make_plan

    settings = _given(args, SETTINGS)
    dataset = _load_questions(args.dataset, args.data, settings, args.scenes)
    return _run(args, [dataset], [make_plan(settings)])


def _run_file(args: Namespace) -> int:
    from framesift.bench.plan import SETTINGS, make_plan, pairs_of, readers_of, words

    if options := _given(args, ("set",)).get("set"):
        raise OptionError(f"--set {options[0]!r} is no setting of a run; options of methods stand in {args.plan}")
    settings = read_settings(args.plan)
    in_file = settings.get("readers")
    settings |= _given(args, [name for name in SETTINGS if name not in (*_CHOICE, "readers")])
    readers = readers_of(
        settings.get("readers") if args.readers is None else args.readers, in_file if isinstance(in_file, dict) else {}
    )
    narrowed_to = {name: words(text, name) for name, text in _given(args, _CHOICE).items()}
    folders = _folders(settings.get("datasets"), pairs_of(args.data, "--data"), args.plan)
    plans = [replace(make_plan(settings, name), readers=readers).narrowed(**narrowed_to) for name in folders]
    datasets = [_load_questions(name, folder, settings, args.scenes) for name, folder in folders.items()]
    return _run(args, datasets, plans)


def _folders(listed: Any, given: dict[str, Any], plan: str) -> dict[str, str | None]:
    """The folder of each data set: from the file, or from --data NAME=DIR."""
    from framesift.bench.plan import words

    named = listed if isinstance(listed, dict) else dict.fromkeys(words(listed, "datasets"))
    datasets = read_value(dict[str, str | None], named, f"{plan}: datasets") or dict(given)
    if unknown := given.keys() - datasets:
        names = ", ".join(datasets)
        raise OptionError(f"--data names {min(unknown)!r}, which is not in {plan}; expected one of {names}")
    datasets |= given
    if given:  # a folder for some of them: those are meant
        datasets = {name: folder for name, folder in datasets.items() if folder is not None or _is_own(name)}
    if not datasets:
        raise OptionError(f"{plan} names no data set; give one with --data NAME=DIR")
    return datasets


def _load_questions(
    name: str, folder: str | None, settings: Mapping[str, Any], scenes: str | None, *, with_files: bool = True
) -> "Dataset":
    """The questions that settings choose. with_files: missing files are an error."""
    from framesift.bench.datasets import load_dataset
    from framesift.bench.evidence_scores import read_scenes
    from framesift.bench.plan import words

    limit, allow_missing = settings.get("limit"), bool(settings.get("allow_missing"))
    dataset = load_dataset(name, folder).choose(
        ids=words(settings.get("ids"), "ids"),
        groups=words(settings.get("groups"), "groups"),
        sample=settings.get("sample"),
        seed=settings.get("seed") or 0,
    )
    if with_files or allow_missing:
        dataset = dataset.with_files(allow_missing=allow_missing, limit=limit)
    else:
        check_count("limit", limit)
        dataset = replace(dataset, items=dataset.items[:limit])
    if scenes is not None:
        dataset = dataset.with_scenes(read_scenes(scenes))
    if not dataset.items:
        raise InputError(f"{dataset.name}: no question is left; use fewer filters")
    return dataset


def _run(args: Namespace, datasets: "list[Dataset]", plans: "list[BenchmarkPlan]") -> int:
    """Run each data set's own plan."""
    from framesift.batch.results import read_results
    from framesift.batch.runner import parse_shard
    from framesift.bench.report import evidence_tables, make_tables
    from framesift.bench.runner import run_benchmark

    shard = parse_shard(args.shard)
    summaries = []
    for dataset, plan in zip(datasets, plans, strict=True):
        if dataset.skipped and not args.json:
            left_out = counted(len(dataset.skipped), "question")
            print(f"{dataset.name}: {dataset.missing}; {left_out} left out", file=sys.stderr)
        with ProgressBar(dataset.name, show=not args.json, unit=" answers", single=True) as bar:
            summaries.append(
                run_benchmark(dataset, plan, args.out, shard=shard, command=_command_line(args), progress=bar)
            )
    results = read_results(args.out)
    names = {dataset.name for dataset in datasets}
    rows = results._replace(rows=[row for row in results.rows if row.dataset in names])
    tables = [table for table in islice(make_tables(rows), 1) if table.name == "main"]
    tables += evidence_tables(rows, [dataset for dataset in datasets if dataset.has_moments])
    videos = [len({item.video_id for item in dataset.items}) for dataset in datasets]
    runs = list(map(_run_values, summaries, videos))
    _print(args, tables, runs=runs)
    if not args.json:
        for count, summary in zip(videos, summaries, strict=True):
            _print_summary(summary, count)
        print(f"tables and plots: framesift bench report {shlex.quote(args.out)}")
    return 1 if any(summary.failed for summary in summaries) else 0


def _print_summary(summary: "RunSummary", videos: int) -> None:
    failed = f", {summary.failed} of them with an error" if summary.failed else ""
    before = f" ({summary.skipped} were done before)" if summary.skipped else ""
    if summary.warnings:
        print(f"{len(summary.warnings)} of {counted(videos, 'video has', 'videos have')} warnings", file=sys.stderr)
        print_video_warnings((video, text) for video, texts in summary.warnings.items() for text in texts)
    answers = f"{counted(summary.done + summary.failed, 'answer')} in {duration_text(summary.seconds)}"
    print(f"{answers}{failed}{before}; all are in {summary.results}")


def _run_values(summary: "RunSummary", videos: int) -> dict[str, Any]:
    return {
        "folder": str(summary.results),
        "done": summary.done + summary.failed,
        "errors": summary.failed,
        "before": summary.skipped,
        "seconds": round(summary.seconds, 3),
        "warnings": summary.warnings,
        "videos": videos,
    }


def _report(args: Namespace) -> int:
    from framesift.batch.results import read_results
    from framesift.bench.datasets import load_dataset
    from framesift.bench.evidence_scores import read_scenes
    from framesift.bench.plan import pairs_of
    from framesift.bench.report import write_report

    given = [f"{text}=" if _is_own(text) and "=" not in text else text for text in args.data]
    datasets = [load_dataset(name, folder) for name, folder in pairs_of(given, "--data").items()]
    if args.scenes:
        datasets = [dataset.with_scenes(read_scenes(args.scenes)) for dataset in datasets]
    out = Path(args.out) if args.out else Path(args.results[0]) / "report"
    results = read_results(*args.results)
    report = write_report(results, out, datasets=datasets, baseline=args.baseline, with_plots=not args.no_plots)
    _print(args, report.tables, folder=str(out), files=list(map(str, report.files)))
    if not args.json:
        print(f"{counted(len(report.tables), 'table')} in {out / 'report.md'}")
    return 0


def _evidence(args: Namespace) -> int:
    return _score_selections(args) if args.selections or args.dataset[0] in DATASETS else _run_sets(args)


def _score_selections(args: Namespace) -> int:
    """The table of uniform frames, for which the annotation is enough, and of published ones."""
    from framesift.bench.datasets import load_dataset
    from framesift.bench.evidence_scores import score_selections, uniform_times
    from framesift.bench.frame_lists import count_past_end, read_frame_rates, read_selections
    from framesift.bench.layouts import evidence_table
    from framesift.bench.plan import SETTINGS, words
    from framesift.selection.registry import check_budget

    if unused := list(_given(args, _SELECTORS)):
        raise OptionError(f"--{unused[0]} runs selectors on evidence sets; leave it out for a data set")
    if len(args.dataset) > 1:
        raise OptionError(f"{len(args.dataset)} data sets were given; expected one")
    budgets = args.budgets or ("" if args.selections else UNIFORM_BUDGETS)
    counts = [check_budget(parse_scalar(text)) for text in words(budgets, "budgets")]
    dataset = _load_questions(args.dataset[0], args.data, _given(args, SETTINGS), args.scenes, with_files=False)
    if not dataset.has_moments:
        raise InputError(f"{dataset.name} has no annotated moments; give true scenes with --scenes CSV")
    every_item = load_dataset(args.dataset[0], args.data).items
    rates = args.fps if args.fps_from is None else read_frame_rates(args.fps_from, every_item)
    ids = [item.id for item in every_item]
    summaries = {}
    for count in counts:
        times = uniform_times(dataset.items, count)
        summaries[f"uniform, {counted(count, 'frame')}"] = score_selections(dataset.items, times)[1]
    notes = ["uniform: the middles of equal parts of the annotated duration"] * bool(counts)
    for path in args.selections or ():
        times = read_selections(path, dataset.items, fps=rates, ids=ids)
        summaries[Path(path).stem if len(args.selections) == 1 else path] = score_selections(dataset.items, times)[1]
        if past_end := count_past_end(dataset.items, times):
            notes.append(f"{path}: {counted(past_end, 'question')} with a frame after the end of the video")
    described = f"data: {dataset.name}, {counted(len(dataset), 'question')}, fingerprint {dataset.fingerprint}"
    table = evidence_table(summaries)
    table = replace(table, notes=(*table.notes, *notes, f"command: {_command_line(args)}", described))
    if args.json:
        print_json(_table_values(table))
    else:
        print(table.to_markdown())
    return 0


def _run_sets(args: Namespace) -> int:
    """The tables of selectors on transcript and moment sets."""
    from framesift.bench.evidence_runs import not_runnable, run_evidence_set, score_table
    from framesift.bench.evidence_sets import read_evidence_set
    from framesift.bench.plan import make_plan, words
    from framesift.selection.registry import selectors

    args.stored = None if args.out is None else True
    for name in args.dataset:
        if not name.lower().endswith((".json", ".jsonl")):
            expected = "expected a .json or .jsonl file, or a data set with --selections FILE"
            raise InputError(f"{name} is not an evidence set; {expected}")
    sets = [read_evidence_set(Path(name), limit=args.limit) for name in args.dataset]
    named = words(args.methods, "methods")
    left_out = not_runnable(named or selectors())
    if named and left_out:
        method, reason = next(iter(left_out.items()))
        raise OptionError(f"{method} can't run on evidence sets: {reason}; leave it out of --methods")
    methods = named or [name for name in selectors() if name not in left_out]
    settings = {"methods": methods, "budgets": args.budgets or SET_BUDGETS, "text_modes": "none"}
    plan = make_plan(settings | _given(args, ("set", "sweep")))
    config = PipelineConfig(unchanged_frames="encode", **_given(args, ("encoder", "device", "store", "seed")))
    tables = []
    for data in sets:
        with ProgressBar(data.name, show=not args.json, unit=" selections", single=True) as bar:
            results = run_evidence_set(
                data,
                plan.choices,
                config,
                substitute=args.video,
                folder=args.out,
                command=_command_line(args),
                progress=bar,
            )
        tables.append(score_table(data, results))
    _print(args, tables, left_out=left_out)
    for name, reason in () if args.json else left_out.items():
        print(f"left out: {name}: {reason}", file=sys.stderr)
    return 0


def _selftest(args: Namespace) -> int:
    from tempfile import TemporaryDirectory

    from framesift.bench.selftest import run_selftest

    with (
        TemporaryDirectory(prefix="framesift-selftest-") as temporary,
        ProgressBar("selftest", show=not args.json, unit=" answers", single=True) as bar,
    ):
        outcome = run_selftest(Path(args.out or temporary), command=_command_line(args), progress=bar)
    _print(args, outcome.tables, passed=outcome.passed, verdicts=outcome.verdicts)
    if not args.json:
        for verdict in outcome.verdicts:
            print(f"{'yes' if verdict['holds'] else 'NO ':<4} {verdict['claim']}: {verdict['measured']}")
        print(f"\n{duration_text(outcome.seconds)}" + (f"; everything is in {args.out}" if args.out else ""))
    return 0 if outcome.passed else 1


def _print(args: Namespace, tables: "Iterable[ResultTable]", **values: Any) -> None:
    """Print tables, or as JSON these and other values."""
    if args.json:
        print_json({**values, "tables": list(map(_table_values, tables))})
    for table in () if args.json else tables:
        print(table.to_markdown())


def _table_values(table: "ResultTable") -> dict[str, Any]:
    """A table as JSON values: its numbers unrounded, bounds beside them."""
    rows = [
        [{key: value for key, value in asdict(cell).items() if value is not None and key != "bold"} for cell in line]
        for line in table.rows
    ]
    return {"name": table.name, "title": table.title, "columns": table.columns, "rows": rows, "notes": table.notes}


def _command_line(args: Namespace) -> str:
    """The command as typed."""
    return shlex.join(["framesift", *args.argv])


def _is_own(name: str) -> bool:
    return name.lower().endswith(OWN_ENDINGS)
