"""Commands for many videos: corpus index, select, ask and search."""

import json
import shlex
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from framesift._utils.text import clock, counted, printable
from framesift.cli.arguments import AddCommand, Parser, RunCommand, make_command
from framesift.cli.output import ProgressBar, print_json, print_video_warnings
from framesift.cli.settings import (
    INDEX_SETTINGS,
    NO_READER,
    add_all_settings,
    add_settings,
    config_from,
)
from framesift.errors import OptionError

if TYPE_CHECKING:
    from framesift.batch.executors.base import TaskEvent
    from framesift.batch.runner import RunSummary

MOST_FAILURES = 10  # printed
SELECTION_SETTINGS = (
    *("method", "budget", "burst", "seed", "query", "visual_demand", "event_encoder", "blank_frames", "namer"),
)


def add_commands(add: AddCommand) -> None:
    example = "framesift corpus index videos.csv"
    corpus = add("corpus", None, "index, ask and search many videos, here or on a Ray cluster", example)
    corpus.finish()
    commands = corpus.add_subparsers(title="commands", metavar="COMMAND")

    def add_one(name: str, run: RunCommand, summary: str, example: str) -> Parser:
        command = make_command(commands, name, run, summary, f"framesift corpus {name} {example}")
        command.set_defaults(stored=name not in ("search", "export"))
        return command

    summary = "index every video of a list, a directory or a pattern; resumes a run that was stopped"
    index = add_one("index", _index, summary, "videos.csv --workers 4")
    videos, sources = index.group("which videos"), "a .txt, .csv, .jsonl or .parquet list, directories, or patterns"
    videos.add("source", "LIST|DIR|GLOB", sources, nargs="+")
    videos.switch("--skip-failed", "skip videos that failed in an earlier run")
    videos.switch("--no-events", "do not store the videos' subtitles for search")
    add_settings(index.group("how"), "encoder", "fps", "store")
    index.group("output").add("--manifest", "FILE", "Parquet file to write (default: in the store)")
    _add_execution(index)
    add_all_settings(index, INDEX_SETTINGS)

    summary = "select frames for every question of a file, each on the video it names"
    select = add_one("select", _select, summary, "--questions questions.csv --results results/")
    _add_questions(select)
    summary = "have a model answer every question of a file from frames of the video it names"
    ask = add_one("ask", _ask, summary, "--questions q.csv --results r/ --reader http://localhost:8000/v1")
    _add_questions(ask, "reader", "text_mode", "concurrency")

    summary = "find the videos and seconds of the whole store that best match a text"
    search = add_one("search", _search, summary, '"a red bus"')
    which, output = search.group("what to find"), search.group("output")
    which.add("text", '"TEXT"', "what to look for", nargs="?")
    which.add("--like", "IMAGE", "look for frames like this image, or like the frame of VIDEO@SECONDS")
    which.add("--video", "VIDEO", "search this video only; repeatable", action="append")
    which.add(
        "--limit",
        "N",
        "how many hits (default: 10); those marked ? match no better than they would unrelated questions",
        type=int,
        default=10,
    )
    which.add(
        "--by",
        None,
        "compare the text with frames, with timestamped text (events), or with both (default)",
        choices=("both", "frames", "events"),
        default="both",
    )
    which.add(
        "--window",
        "SECONDS",
        "merge a hit into a better one of the same video that is nearer than this (default: 10)",
        type=float,
        default=10.0,
    )
    engine = "exact compares every vector; lancedb keeps an index, for millions of them (default: exact)"
    which.add("--engine", None, engine, choices=("exact", "lancedb"), default="exact")
    add_settings(which, "encoder", "store")
    output.add("--report", "FILE", "also write an HTML page with a thumbnail of each hit")
    search.finish("print the hits as JSON")

    summary = "write the vectors, times and texts of all indexed videos as a Parquet file"
    export = add_one("export", _export, summary, "vectors.parquet")
    export.group("output").add("file", "FILE.parquet", "the file to write")
    export.group("output").switch("--force", "replace the file")
    add_settings(export.group("what to write"), "encoder", "store")
    export.finish("print the number of rows as JSON")


def _add_questions(command: Parser, *reading: str) -> None:
    asked = command.group("what to ask")
    asked.add(
        "--questions",
        "FILE",
        "JSON, JSONL or CSV with the columns question and video and, if any, options, answer, subtitles, id",
        required=True,
    )
    add_settings(command.group("which frames"), "budget", "method", "encoder")
    command.group("which frames").add(
        "--subtitles",
        None,
        "auto searches for subtitles (default), none uses none",
        choices=("auto", "none"),
        default="auto",
    )
    command.group("output").add("--results", "DIR", "folder of result files to append to", required=True)
    if reading:
        add_settings(command.group("model"), "reader")
    _add_execution(command)
    owners = "the method or the reader" if reading else "the method"
    add_all_settings(command, (*SELECTION_SETTINGS, *INDEX_SETTINGS, *reading), owners)


def _add_execution(command: Parser) -> None:
    where = command.group("where to run")
    where.add(
        "--engine",
        None,
        "processes on this machine (local), or a Ray cluster (default: local)",
        choices=("local", "ray"),
        default="local",
    )
    where.add("--workers", "N", "processes or actors (default: as many as fit)", type=int)
    where.add("--address", "HOST:PORT", "address of the Ray cluster (default: one on this machine)")
    where.add("--tries", "N", "attempts per video (default: 3)", type=int, default=3)
    where.add(
        "--stall",
        "SECONDS",
        "stop the worker of a video that makes no progress for this long (default: 300)",
        type=float,
        default=300.0,
    )
    where.add("--time-limit", "SECONDS", "longest duration of an attempt (default: 14400)", type=float, default=14400.0)
    command.finish("print the run's events as JSON lines")


class RunDisplay(ProgressBar):
    """Shows every event of a run: a bar and the failures, or with --json a line per event."""

    def __init__(self, args: Namespace, unit: str) -> None:
        super().__init__(show=not args.json, unit=unit, single=True)
        self.as_json = args.json
        self.failed = self.ended = self._total = 0
        self._started_s = time.monotonic()

    def begin(self, total: int, skipped: int) -> None:
        """Set the number of tasks; called once, before the first event."""
        self._total = total
        if self.as_json:
            self.print_event("begin", total=total, skipped=skipped)

    def watch(self, event: "TaskEvent") -> None:
        self.ended += event.is_end
        self.failed += event.kind == "failed"
        if self.as_json:
            self._print_task_event(event)
            return
        state = f"{event.done:.0f}/{event.expected:.0f}" if event.kind == "moved" else event.kind
        failed = f", {self.failed} failed" if self.failed else ""
        self(f"{PurePath(event.task.title).name} {state}{failed}", self.ended, self._total)
        if event.kind in ("failed", "retried"):
            from tqdm import tqdm

            outcome = "failed" if event.kind == "failed" else f"attempt {event.tries} failed, it will be retried"
            tqdm.write(f"framesift: {printable(event.error)} ({outcome})", file=sys.stderr)

    def print_event(self, kind: str, **fields: Any) -> None:
        print(json.dumps({"event": kind, **fields}), flush=True)

    def _print_task_event(self, event: "TaskEvent") -> None:
        fields = {"name": event.task.title, "worker": event.worker, "try": event.tries}
        if event.kind == "moved":
            fields |= {"done": event.done, "expected": event.expected}
        if event.error:
            fields["error"] = event.error
        if event.is_end:
            each_s = (time.monotonic() - self._started_s) / self.ended
            fields |= {**event.row, "seconds": round(event.seconds, 3), "ended": self.ended, "failed": self.failed}
            fields |= {"total": self._total, "per_minute": round(60 / each_s, 3)}
            fields["left_s"] = round(each_s * (self._total - self.ended))
        self.print_event(event.kind, **fields)


def _run(args: Namespace, unit: str, function: Callable[..., Any], *of: Any, **settings: Any) -> Any:
    """Call a function of `framesift.corpus` as the flags say; the display of its events and what it returns."""
    from framesift.batch.executors.base import Limits

    with RunDisplay(args, unit) as display:
        return display, function(
            *of,
            config=config_from(args),
            engine=args.engine,
            workers=args.workers,
            address=args.address,
            limits=Limits(args.tries, args.stall, args.time_limit),
            begin=display.begin,
            watch=display.watch,
            **settings,
        )


def _index(args: Namespace) -> int:
    from framesift import corpus

    own = {"events": not args.no_events, "manifest": args.manifest, "skip_failed": args.skip_failed}
    display, indexed = _run(args, " videos", corpus.index, args.source, **own)
    if args.json:
        warnings = {row["path"]: row["warnings"] for row in indexed.rows if row["warnings"]}
        display.print_event("end", manifest=str(indexed.manifest), **indexed.counts, warnings=warnings)
        return 1 if indexed.failed else 0
    print_video_warnings((row["path"], warning) for row in indexed.rows for warning in row["warnings"])
    labels = {"indexed": "indexed", "kept": "indexed before", "failed": "failed", "waiting": "not done"}
    text = ", ".join(f"{count} {labels[name]}" for name, count in indexed.counts.items() if count)
    print(f"{counted(len(indexed.rows), 'video')}: {text}\n{indexed.manifest}")
    if not display.ended:  # those skipped are not printed yet
        for row in indexed.failed:
            print(f"framesift: {printable(row['error'])}", file=sys.stderr)
    return 1 if indexed.failed else 0


def _select(args: Namespace) -> int:
    from framesift import corpus

    return _run_questions(args, corpus.select)


def _ask(args: Namespace) -> int:
    from framesift import corpus

    if config_from(args).reading.reader is None:
        raise OptionError(NO_READER)
    return _run_questions(args, corpus.ask)


def _run_questions(args: Namespace, function: Callable[..., "RunSummary"]) -> int:
    own = {"results": args.results, "command": shlex.join(["framesift", *args.argv])}
    display, summary = _run(args, " tasks", function, args.questions, **own)
    counts = {"done": summary.done, "skipped": summary.skipped, "failed": summary.failed}
    if args.json:
        more = {"results": str(summary.results), "run": summary.run, "warnings": dict(summary.warnings)}
        display.print_event("end", **counts, **more)
        return 1 if summary.failed else 0
    print_video_warnings((video, text) for video, texts in summary.warnings.items() for text in texts)
    text = f"{summary.done} done, {summary.skipped} done before, {summary.failed} failed"
    print(f"{counted(sum(counts.values()), 'question')}: {text}\n{summary.results}")
    for name, video, error in summary.failures[:MOST_FAILURES]:
        print(f"framesift: question {printable(name)} of {printable(video)}: {printable(error)}", file=sys.stderr)
    if len(summary.failures) > MOST_FAILURES:
        more_failed = counted(len(summary.failures) - MOST_FAILURES, "more question")
        print(f"framesift: {more_failed} failed, see the results", file=sys.stderr)
    return 1 if summary.failed else 0


def _search(args: Namespace) -> int:
    from framesift.search.images import named_image
    from framesift.search.report import check_report_path, write_report
    from framesift.search.search import match_note, search
    from framesift.selection.explainer import minutes
    from framesift.store.fingerprint import fingerprint

    if args.report:
        check_report_path(args.report)
    index = config_from(args).index
    encoder, store = str(index.encoder), index.store
    if (args.text is None) == (args.like is None):
        raise OptionError('expected a text to search for, as in framesift corpus search "a red bus", or --like IMAGE')
    query = args.text if args.like is None else named_image(args.like)
    videos = args.video and [fingerprint(name) for name in args.video]
    how = {"limit": args.limit, "by": args.by, "window_s": args.window, "engine": args.engine, "videos": videos}
    hits = search(query, encoder=encoder, store=store, **how)
    report = write_report(args.text or f"like {args.like}", hits, args.report) if args.report else None
    if args.json:
        found = {"hits": [hit.to_dict() for hit in hits], "note": match_note(hits)}
        print_json({**found, "report": None if report is None else str(report)})
        return 0
    if note := match_note(hits):
        print(note, file=sys.stderr)
    if hits:  # the relevance by frame and by text
        print(f"{'rank':<5}{'frame':>6} {'text':>6}  {'time':>11}  {'stretch':>15}  video")
    for rank, hit in enumerate(hits, 1):
        scores = " ".join(
            "     –" if score is None else f"{score:6.3f}" for score in (hit.relevance, hit.event_relevance)
        )
        text = f"  {printable(hit.event.text)}" if hit.event is not None else ""
        mark = " " if hit.stands_out else "?"
        stretch = f"{minutes(hit.start_s)}–{minutes(hit.end_s)}"
        print(f"{rank:>4}{mark}{scores}  {clock(hit.time_s):>11}  {stretch:>15}  {printable(hit.video)}{text}")
    print_video_warnings((hit.video, warning) for hit in hits for warning in hit.warnings)
    if report is not None:
        print(f"Report: {report}")
    return 0


def _export(args: Namespace) -> int:
    from framesift.search.export import export

    index = config_from(args).index
    with ProgressBar(show=not args.json, unit=" videos") as bar:
        rows = export(args.file, encoder=index.encoder, store=index.store, force=args.force, progress=bar)
    if args.json:
        print_json({"file": args.file, "rows": rows})
    else:
        print(f"{counted(rows, 'row')}: {printable(args.file)}")
    return 0
