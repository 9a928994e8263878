"""Commands for many videos: corpus index, select, ask and search."""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from framesift._utils.text import clock, counted, printable
from framesift.cli.output import ProgressBar, print_json, print_video_warnings
from framesift.cli.settings import (
    INDEX_SETTINGS,
    SELECTION_SETTINGS,
    AddCommand,
    RunCommand,
    add_method_options,
    add_reader,
    add_settings,
    config_from,
)
from framesift.errors import OptionError

if TYPE_CHECKING:
    from framesift.batch.executors.base import TaskEvent
    from framesift.batch.runner import RunSummary

MOST_FAILURES = 10  # printed


def add_commands(add: AddCommand) -> None:
    corpus = add("corpus", None, "index, ask and search many videos, on this machine or on a Ray cluster")
    commands = corpus.add_subparsers(title="commands", metavar="COMMAND")

    def add_one(name: str, run: RunCommand, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        command.set_defaults(run=run, stored=name != "search")
        return command

    index = add_one(
        "index", _index, "index every video of a list, a directory or a pattern; resumes a run that was stopped"
    )
    index.add_argument("source", nargs="+", metavar="LIST|DIR|GLOB", help="a .txt, .csv, .jsonl or .parquet, or videos")
    index.add_argument("--manifest", metavar="FILE", help="the Parquet file to write (default: in the store)")
    index.add_argument("--no-events", action="store_true", help="do not store the videos' subtitles for search")
    index.add_argument("--skip-failed", action="store_true", help="skip videos that failed in an earlier run")
    _add_execution(index)
    add_settings(index, *INDEX_SETTINGS)

    select = add_one("select", _select, "select frames for every question of a file, each on the video it names")
    _add_questions(select)
    ask = add_one("ask", _ask, "have a model answer every question of a file from frames of the video it names")
    add_reader(ask)
    _add_questions(ask)

    search = add_one("search", _search, "find the videos and seconds of the whole store that best match a text")
    search.add_argument("text", metavar="WORDS")
    limit = "how many hits (default: 10); those marked ? match no better than they would unrelated questions"
    search.add_argument("--limit", type=int, default=10, metavar="N", help=limit)
    by = "compare with frames, with timestamped text (events), or both (default)"
    search.add_argument("--by", choices=("both", "frames", "events"), default="both", help=by)
    window = "hits nearer than this to a better one of the same video are merged into it (default: 10)"
    search.add_argument("--window", type=float, default=10.0, metavar="SECONDS", help=window)
    search.add_argument("--report", metavar="FILE", help="also write an HTML page with a thumbnail of each hit")
    search.add_argument("--encoder", default="auto", help="the one the videos were indexed with (default: auto)")
    search.add_argument("--json", action="store_true", help="print the result as JSON")
    add_settings(search, "store")


def _add_questions(command: argparse.ArgumentParser) -> None:
    questions = "JSON, JSONL or CSV with question, video and, where there are any, options, answer, subtitles, id"
    command.add_argument("--questions", required=True, metavar="FILE", help=questions)
    command.add_argument("--results", required=True, metavar="DIR", help="folder of result files to append to")
    add_settings(command, *SELECTION_SETTINGS, *INDEX_SETTINGS)
    add_method_options(command)
    command.add_argument(
        "--subtitles", choices=("auto", "none"), default="auto", help="search for subtitles (default: auto)"
    )
    _add_execution(command)


def _add_execution(command: argparse.ArgumentParser) -> None:
    command.add_argument("--engine", choices=("local", "ray"), default="local", help="where to run (default: local)")
    command.add_argument("--workers", type=int, metavar="N", help="processes or actors (default: as many as fit)")
    command.add_argument("--address", metavar="HOST:PORT", help="of a Ray cluster (default: one on this machine)")
    command.add_argument("--json", action="store_true", help="print progress events as JSON lines")
    command.add_argument("--tries", type=int, default=3, help="attempts per video (default: 3)")
    stall = "seconds without progress after which a video's worker is stopped (default: 300)"
    command.add_argument("--stall", type=float, default=300.0, metavar="SECONDS", help=stall)
    limit = "seconds one attempt may take (default: 14400)"
    command.add_argument("--time-limit", type=float, default=14400.0, metavar="SECONDS", help=limit)


class RunDisplay(ProgressBar):
    """Shows every event of a run: a bar and the failures, or with --json a line per event."""

    def __init__(self, args: argparse.Namespace, unit: str) -> None:
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
        fields: dict[str, Any] = {"name": event.task.title, "worker": event.worker, "try": event.tries}
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


def _run(args: argparse.Namespace, unit: str, function: Callable[..., Any], *of: Any, **settings: Any) -> Any:
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


def _index(args: argparse.Namespace) -> int:
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


def _select(args: argparse.Namespace) -> int:
    from framesift import corpus

    return _run_questions(args, corpus.select)


def _ask(args: argparse.Namespace) -> int:
    from framesift import corpus

    if config_from(args).reading.reader is None:
        raise OptionError("there is no reader; expected --reader http://HOST:PORT/v1, local:MODEL or similarity")
    return _run_questions(args, corpus.ask)


def _run_questions(args: argparse.Namespace, function: Callable[..., "RunSummary"]) -> int:
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


def _search(args: argparse.Namespace) -> int:
    from framesift.search.report import check_report_path, write_report
    from framesift.search.search import match_note, search

    if args.report:
        check_report_path(args.report)
    store = config_from(args).index.store
    hits = search(args.text, limit=args.limit, by=args.by, encoder=args.encoder, store=store, window_s=args.window)
    report = write_report(args.text, hits, args.report) if args.report else None
    if args.json:
        found = {"hits": [hit.to_dict() for hit in hits], "note": match_note(hits)}
        print_json({**found, "report": None if report is None else str(report)})
        return 0
    if note := match_note(hits):
        print(note, file=sys.stderr)
    if hits:  # the relevance by frame and by text
        print(f"{'rank':<5}{'frame':>6} {'text':>6}  {'time':>11}  video")
    for rank, hit in enumerate(hits, 1):
        scores = " ".join(
            "     –" if score is None else f"{score:6.3f}" for score in (hit.relevance, hit.event_relevance)
        )
        text = f"  {printable(hit.event.text)}" if hit.event is not None else ""
        mark = " " if hit.stands_out else "?"
        print(f"{rank:>4}{mark}{scores}  {clock(hit.time_s):>11}  {printable(hit.video)}{text}")
    print_video_warnings((hit.video, warning) for hit in hits for warning in hit.warnings)
    if report is not None:
        print(f"Report: {report}")
    return 0
