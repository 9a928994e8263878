"""The commands for many videos: corpus index, select, ask and search."""

import argparse
import sys
from pathlib import Path
from typing import Any

from framesift.cli.progress import Board
from framesift.cli.shared import Add, Run, add_index_options
from framesift.records import printable


def add_commands(add: Add) -> None:
    corpus = add("corpus", _no_command, "index, ask and search many videos, on this machine or on a Ray cluster")
    commands = corpus.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add_one(name: str, run: Run, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        command.set_defaults(run=run)
        return command

    index = add_one("index", _index, "index every video of a list, a folder or a pattern; goes on where it stopped")
    index.add_argument("source", nargs="+", metavar="LIST|DIR|GLOB", help="a .txt, .csv, .jsonl or .parquet, or videos")
    index.add_argument("--manifest", metavar="FILE", help="the Parquet file to write (default: in the store)")
    index.add_argument("--no-events", action="store_true", help="leave the videos' text out of what can be searched")
    index.add_argument("--skip-failed", action="store_true", help="leave out what an earlier run gave up")
    add_engine(index)
    add_limits(index)
    add_index_options(index)


def add_engine(command: argparse.ArgumentParser) -> None:
    command.add_argument("--engine", choices=("local", "ray"), default="local", help="where to work (default: local)")
    command.add_argument("--workers", type=int, metavar="N", help="processes or actors (default: as many as fit)")
    command.add_argument("--address", metavar="HOST:PORT", help="of a Ray cluster (default: one on this machine)")
    command.add_argument("--json", action="store_true", help="print events as JSON lines, as they happen")


def add_limits(command: argparse.ArgumentParser) -> None:
    command.add_argument("--tries", type=int, default=3, help="how often a video is tried (default: 3)")
    stall = "seconds without progress after which a video's worker is stopped (default: 300)"
    command.add_argument("--stall", type=float, default=300.0, metavar="SECONDS", help=stall)
    limit = "seconds one try may take (default: 14400)"
    command.add_argument("--time-limit", type=float, default=4 * 3600.0, metavar="SECONDS", help=limit)


def limits_of(args: argparse.Namespace) -> Any:
    from framesift.corpus.tasks import Limits

    return Limits(args.tries, args.stall, args.time_limit)


def _no_command(_: argparse.Namespace) -> int:
    return 2


def _index(args: argparse.Namespace) -> int:
    from framesift import corpus

    with Board(as_json=args.json, unit=" videos") as board:
        made = corpus.index(
            args.source,
            engine=args.engine,
            workers=args.workers,
            address=args.address,
            store=args.store,
            encoder=args.encoder,
            fps=args.fps,
            mode=args.mode,
            device=args.device,
            events=not args.no_events,
            manifest=args.manifest,
            limits=limits_of(args),
            skip_failed=args.skip_failed,
            begin=board.begin,
            watch=board,
        )
    if args.json:
        board.event("end", manifest=str(made.manifest), **made.counts)
    else:
        _print_counts(made.counts, made.manifest)
        if not board.ended and made.failed:  # left out, so not told yet
            for row in made.failed:
                print(f"framesift: {printable(row['error'])}", file=sys.stderr)
    return 1 if made.failed else 0


def _print_counts(counts: dict[str, int], manifest: Path) -> None:
    words = {"indexed": "indexed", "kept": "kept from before", "failed": "failed", "waiting": "not done"}
    told = ", ".join(f"{count} {words[name]}" for name, count in counts.items() if count)
    print(f"{sum(counts.values())} videos: {told}\n{manifest}")
