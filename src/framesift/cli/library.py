"""The commands for stored data and installation: index, events, library, selectors, pull, doctor."""

import argparse
import json
import re
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.credentials import public_url
from framesift._utils.text import clock, counted, duration_text, printable, suggestion
from framesift.cli.output import ProgressBar, error_code, print_json, print_video_warnings, print_warnings
from framesift.cli.settings import INDEX_SETTINGS, TEXT_SETTINGS, AddCommand, add_settings, config_from
from framesift.errors import FramesiftError, OptionError, UnknownName
from framesift.progress import WatchedProgress

if TYPE_CHECKING:
    from framesift.pipeline.pipeline import Pipeline
    from framesift.store.store import Store


def add_commands(add: AddCommand) -> None:
    index = add("index", _index, "decode and encode videos once, so that every later command is quick")
    index.add_argument("videos", nargs="+", metavar="VIDEO", help="files, folders or patterns")
    add_settings(index, *INDEX_SETTINGS)
    index.set_defaults(stored=False)

    events = add("events", _events, "show the timestamped text of a video, and where it came from")
    events.add_argument("video", metavar="VIDEO")
    add_settings(events, *TEXT_SETTINGS, "store")

    library = add("library", _library, "list the stored indexes, or remove some")
    library.add_argument(
        "--prune", action="store_true", help="remove what is damaged, unfinished or of a missing video"
    )
    library.add_argument(
        "--check",
        action="store_true",
        help="verify every entry, against its video where that exists; exit code 1 if any fails",
    )
    library.add_argument("--yes", action="store_true", help="with --check: remove what fails, without asking")
    library.add_argument("--older-than", type=_age, metavar="AGE", help="with --prune: unused for so long, as in 30d")
    library.add_argument(
        "--max-size", type=parse_size, metavar="SIZE", help="with --prune: the oldest beyond, as in 5GB"
    )
    add_settings(library, "store")

    add("selectors", _selectors, "list the ways to choose frames, with their options")
    pull = add("pull", _pull, "fetch the weights of an encoder or a local reader")
    models = "siglip, siglip-base, siglip2 or clip, a local reader such as qwen3-vl-8b, or a hub name like owner/model"
    pull.add_argument("model", metavar="MODEL", help=models)
    doctor = add(
        "doctor",
        _doctor,
        "check that videos can be decoded; show what is installed or missing, and which encoder is used",
    )
    add_settings(doctor, "store")


def _age(text: str) -> float:
    return _quantity(text, {"s": 1, "h": 3600, "d": 86400, "w": 7 * 86400}, "30d, 12h")


def parse_size(text: str) -> float:
    """Bytes from a number with a unit, such as 5GB."""
    units = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    return _quantity(text, units | {f"{unit}B": size for unit, size in units.items()}, "500MB, 5GB")


def _quantity(text: str, units: dict[str, float], examples: str) -> float:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]+)\s*", text)
    by_unit = {unit.lower(): size for unit, size in units.items()}
    if match is None or match[2].lower() not in by_unit:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number with a unit; expected for example {examples}")
    return float(match[1]) * by_unit[match[2].lower()]


def _index(args: argparse.Namespace) -> int:
    from framesift.encoders.registry import choose_encoder, identify
    from framesift.pipeline.pipeline import Pipeline
    from framesift.video.files import find_videos

    paths = find_videos(args.videos)
    pipeline = Pipeline(config_from(args))
    encoder = str(pipeline.config.encoder)
    identify(encoder)  # an encoder that can't be used is one sentence, not one per video
    rows, code = [], 0
    for path in paths:
        row, code = _index_one(args, path, pipeline)
        rows.append(row)
        if not args.json:
            _print_index_row(rows[-1], name_warnings=len(paths) > 1)
    failed = sum(1 for row in rows if row["error"])
    if encoder == "auto" and failed < len(rows) and not args.json:
        print(f"note: encoder {choose_encoder()[1]}", file=sys.stderr)
    if args.json:
        print_json(rows)
    elif len(rows) > 1:
        print(f"{len(rows) - failed} of {len(rows)} videos indexed" + (f", {failed} failed" if failed else ""))
    return code if len(rows) == 1 else min(failed, 1)


def _index_one(args: argparse.Namespace, path: Path, pipeline: "Pipeline") -> tuple[dict[str, Any], int]:
    """Index a video; the row with the result or the error, which does not stop the others, and the exit code."""
    started, code = time.perf_counter(), 0
    row: dict[str, Any] = {"path": str(path), "error": None, "warnings": []}
    with ProgressBar(path.name, show=not args.json) as bar:
        progress = WatchedProgress(bar)
        try:
            index = pipeline.index(path, progress=progress)
            row |= {"candidates": len(index), "duration_s": index.info.duration_s, "encoder": index.encoder}
            row |= {"cached": not progress.was_called, "warnings": list(index.warnings)}
            args.stored = True
        except FramesiftError as error:
            row["error"], code = str(error), error_code(error)
        finally:
            args.stored = args.stored or bar.has_part
    return row | {"seconds": round(time.perf_counter() - started, 3)}, code


def _print_index_row(row: dict[str, Any], *, name_warnings: bool) -> None:
    if row["error"]:
        print(f"framesift: {printable(row['error'])}", file=sys.stderr)
        return
    how = "already in the store" if row["cached"] else f"made in {row['seconds']:.1f} s"
    candidates = f"{counted(row['candidates'], 'candidate')} from {duration_text(row['duration_s'])} of video"
    print(f"{printable(row['path'])}: {candidates}, encoder {row['encoder']}, {how}")
    if name_warnings:
        print_video_warnings((row["path"], warning) for warning in row["warnings"])
    else:
        print_warnings(row["warnings"])


def _events(args: argparse.Namespace) -> int:
    from framesift.pipeline.pipeline import Pipeline
    from framesift.store.maintenance import video_warnings
    from framesift.store.store import Store

    config = config_from(args)
    with ProgressBar(show=not args.json, unit=" s") as bar:
        text = Pipeline(config).find_events(args.video, progress=bar)
    warnings = (*video_warnings(Store(config.store), args.video), *text.warnings)
    if args.json:
        print_json(
            {
                "events": [asdict(event) for event in text.events],
                "sources": [asdict(source) for source in text.sources],
                "span": text.span,
                "notes": text.notes,
                "warnings": warnings,
            }
        )
        return 0
    for event in text.events:
        print(f"{clock(event.start_s)} – {clock(event.end_s)}  {printable(event.text)}")
    for source in text.sources:
        repairs = ", ".join(f"{count} {what}" for what, count in source.repairs.items())
        print(
            f"{counted(source.events, 'event')} from {printable(source.name)}" + (f" ({repairs})" if repairs else ""),
            file=sys.stderr,
        )
    if text.events:
        subject = "it spans" if len(text.events) == 1 else "they span"
        print(f"{subject} {text.span:.0%} of the video's {duration_text(text.duration_s)}", file=sys.stderr)
    else:
        print("no timestamped text was found", file=sys.stderr)
    print_warnings(warnings, text.notes)
    return 0


def _library(args: argparse.Namespace) -> int:
    from framesift.store.maintenance import describe, describe_size, prune
    from framesift.store.store import Store

    store = Store(config_from(args).store)
    if (args.older_than or args.max_size) and not args.prune:
        raise OptionError("--older-than and --max-size go with --prune")
    if args.yes and not args.check:
        raise OptionError("--yes goes with --check")
    if args.check:
        if args.prune:
            raise OptionError("both --check and --prune were given; expected one or the other")
        return _check_library(store, remove_unasked=args.yes, as_json=args.json)
    removed = prune(store, older_than_s=args.older_than, max_bytes=args.max_size) if args.prune else []
    entries = list(store.entries())
    rows = [describe(entry) for entry in entries]
    rows = [row | {"video": public_url(row["video"])} for row in rows]
    if args.json:
        print_json({"store": str(store.root), "indexes": rows, "removed": removed})
        return 0
    if args.prune and not removed:
        why = "no entry is damaged, unfinished or of a missing video"
        if args.older_than or args.max_size:
            why += ", and none is beyond --older-than and --max-size"
        else:
            why += "; choose others with --older-than AGE or --max-size SIZE"
        print(f"nothing was removed: {why}", file=sys.stderr)
    for gone in removed:
        print(f"removed {gone['folder']} ({gone['reason']})")
    replies = Counter(row["encoder"] for row in rows if row["kind"] == "reply")
    for name, count in sorted(replies.items()):
        print(f"{printable(name)}: {counted(count, 'reply', 'replies')} to selectors")
    for row in rows:
        if row["kind"] == "reply" and not row["problem"]:
            continue
        length = "" if row["duration_s"] is None else duration_text(row["duration_s"])
        size = f"{row['bytes'] / 1e6:.1f} MB"
        name = row["video"] or row["folder"]
        maker = row["encoder"] or row["kind"]
        print(f"{printable(name):<40} {length:>8}  {maker:<14} {size:>10}  {row['problem']}".rstrip())
    print_video_warnings((row["video"], warning) for row in rows for warning in row["warnings"])
    print(describe_size(store, entries))
    return 0


def _check_library(store: "Store", *, remove_unasked: bool, as_json: bool) -> int:
    """Print the entries that fail, and remove them if the user agrees; 1 if there are any."""
    from framesift.store.checking import find_faults

    with ProgressBar(show=not as_json, unit=" entries") as bar:
        checked, faults = find_faults(store, bar)
    if not as_json:
        for fault in faults:
            name = fault.entry.video_path or fault.entry.folder
            print(f"{printable(str(name))}: {printable(fault.reason)} ({printable(str(fault.entry.folder))})")
        print(f"{counted(checked, 'entry', 'entries')} checked in {store.root}, {len(faults)} failed")
    is_removing = bool(faults) and (remove_unasked or (not as_json and _confirm_removal(len(faults))))
    if is_removing:
        for fault in faults:
            store.remove(fault.entry)
    if as_json:
        failed = [fault.to_dict() | {"removed": is_removing} for fault in faults]
        print_json({"store": str(store.root), "checked": checked, "failed": failed})
    elif faults:
        print("removed; they are computed again when they are needed" if is_removing else "nothing was removed")
    return 1 if faults else 0


def _confirm_removal(count: int) -> bool:
    if not sys.stdin or not sys.stdin.isatty():
        print("remove them with --yes", file=sys.stderr)
        return False
    print(f"remove {counted(count, 'entry', 'entries')}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _pull(args: argparse.Namespace) -> int:
    from framesift._utils.credentials import LOCAL
    from framesift.encoders import siglip
    from framesift.encoders.registry import pull
    from framesift.readers.local import CHECKPOINTS

    name = args.model.removeprefix(LOCAL)  # as --reader takes it
    try:
        folder = pull(CHECKPOINTS.get(name, name))
    except UnknownName:
        known = [*siglip.CHECKPOINTS, *CHECKPOINTS]
        expected = f"expected one of {', '.join(known)}, or a hub name like owner/model"
        raise UnknownName(f"there is no model {name!r} to pull; {suggestion(name, known, expected)}") from None
    if args.json:
        print_json({"model": args.model, "folder": str(folder)})
    else:
        print(f"{args.model} is in {folder}")
    return 0


def _doctor(args: argparse.Namespace) -> int:
    from framesift.encoders import registry as encoders
    from framesift.readers import plugins as readers
    from framesift.selection import registry as selectors
    from framesift.store.maintenance import examine

    report = examine(config_from(args).store)
    report["plugins"] = [
        {"kind": plugin.kind, "name": plugin.name, "package": plugin.package, "problem": plugin.problem}
        for registry in (selectors, encoders, readers)
        for plugin in registry.plugins()
    ]
    if report["plugins"]:
        report["lines"] += ["", "of other packages:"]
        report["lines"] += [
            f"  {row['kind']:<8} {row['name']:<16} " + (row["problem"] or f"ready, from {row['package']}")
            for row in report["plugins"]
        ]
    if args.json:
        print_json(report)
    else:
        print("\n".join(report["lines"]))
    return 1 if report["decode"]["problem"] else 0


def _selectors(args: argparse.Namespace) -> int:
    from framesift.selection import selectors
    from framesift.selection.registry import NEEDS

    available = selectors().values()
    if args.json:
        fields = ("name", "summary", "paper", "needs", "problem")
        print_json(
            [
                {field: getattr(selector, field) for field in fields}
                | {"options": {name: _json_value(default) for name, default in selector.options.items()}}
                for selector in available
            ]
        )
        return 0
    for selector in available:
        print(f"{selector.name:<16} {selector.summary}" + (f" ({selector.paper})" if selector.paper else ""))
        if selector.needs:
            print(f"{'':<16}   needs {', '.join(NEEDS.get(need, need) for need in selector.needs)}")
        for name, default in selector.options.items():
            print(f"{'':<16}   {name} = {default!r}")
    return 0


def _json_value(value: object) -> object:
    """The value, or its text where JSON has none: defaults of a plug-in's options may be anything."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return repr(value)
    return value
