"""The commands for what is stored or installed: events, library, selectors, pull."""

import argparse
import re
import sys
from argparse import Namespace
from collections import Counter
from dataclasses import asdict

from framesift._utils.credentials import public_url
from framesift._utils.text import clock, counted, duration_text, printable, suggestion
from framesift.cli.arguments import AddCommand
from framesift.cli.output import ProgressBar, print_json, print_video_warnings, print_warnings
from framesift.cli.settings import TEXT_SETTINGS, add_all_settings, add_settings, config_from
from framesift.errors import OptionError, UnknownName

JSON = (bool, int, float, str, list, tuple, dict, type(None))  # defaults of a plug-in's options may be anything else


def add_commands(add: AddCommand) -> None:
    events = add(
        "events", _events, "show the timestamped text of a video, and where it came from", "framesift events video.mp4"
    )
    events.group("which text").add("video", "VIDEO", "the video")
    add_settings(events.group("which text"), *TEXT_SETTINGS)
    add_all_settings(events, (*TEXT_SETTINGS, "store"))
    events.finish("print the text and its sources as JSON")

    example = "framesift library --prune --older-than 30d"
    library = add("library", _library, "list the videos that are indexed, or remove what is not needed", example)
    which = library.group("what to list or remove")
    which.switch("--prune", "remove what is damaged, unfinished or of a missing video")
    which.add("--older-than", "AGE", "with --prune: what was not used for 30d, 12h, …", type=_age)
    which.add(
        "--max-size", "SIZE", "with --prune: the oldest, until the rest is at most 5GB, 500MB, …", type=parse_size
    )
    add_settings(which, "store")
    library.finish("print what is stored and removed as JSON")

    selectors = add(
        "selectors", _selectors, "list the methods that select frames, with their options", "framesift selectors"
    )
    selectors.finish("print the methods as JSON")
    pull = add("pull", _pull, "download the weights of an encoder or of a local reader", "framesift pull siglip")
    pull.group("what to download").add(
        "model",
        "MODEL",
        "siglip, siglip-base, siglip2 or clip; a local reader such as qwen3-vl-8b; or a hub name like owner/model",
    )
    pull.finish("print the folder of the weights as JSON")


def _age(text: str) -> float:
    return _quantity(text, {"s": 1, "h": 3600, "d": 86400, "w": 7 * 86400}, "30d, 12h")


def parse_size(text: str) -> float:
    """Bytes from a number with a unit, such as 5GB."""
    units = {"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
    return _quantity(text, units | {f"{unit}b": size for unit, size in units.items()}, "500MB, 5GB")


def _quantity(text: str, units: dict[str, float], examples: str) -> float:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([a-z]+)\s*", text.lower())
    if match is None or match[2] not in units:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number with a unit; expected for example {examples}")
    return float(match[1]) * units[match[2]]


def _events(args: Namespace) -> int:
    from framesift.store.maintenance import video_warnings
    from framesift.store.store import Store
    from framesift.text.finding import search_events

    config = config_from(args)
    with ProgressBar(show=not args.json, unit=" s") as bar:
        text = search_events(args.video, config.text, Store(config.index.store), progress=bar)
    warnings = (*video_warnings(Store(config.index.store), args.video), *text.warnings)
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


def _library(args: Namespace) -> int:
    from framesift.store.maintenance import describe, describe_size, prune
    from framesift.store.store import Store

    store = Store(config_from(args).index.store)
    has_limit = args.older_than or args.max_size
    if has_limit and not args.prune:
        raise OptionError("--older-than and --max-size go with --prune")
    removed = prune(store, older_than_s=args.older_than, max_bytes=args.max_size) if args.prune else []
    entries = list(store.entries())
    rows = [row | {"video": public_url(row["video"])} for row in map(describe, entries)]
    if args.json:
        print_json({"store": str(store.root), "indexes": rows, "removed": removed})
        return 0
    if args.prune and not removed:
        others = ", and none is beyond --older-than and --max-size"
        if not has_limit:
            others = "; choose others with --older-than AGE or --max-size SIZE"
        print(f"nothing was removed: no entry is damaged, unfinished or of a missing video{others}", file=sys.stderr)
    for gone in removed:
        print(f"removed {gone['folder']} ({gone['reason']})")
    replies = Counter(row["encoder"] for row in rows if row["kind"] == "reply")
    for name, count in sorted(replies.items()):
        print(f"{printable(name)}: {counted(count, 'reply', 'replies')} to selectors")
    for row in (row for row in rows if row["kind"] == "index" or row["problem"]):
        length = "" if row["duration_s"] is None else duration_text(row["duration_s"])
        name, maker = printable(row["video"] or row["folder"]), row["encoder"] or row["kind"]
        size = f"{row['bytes'] / 1e6:.1f} MB"
        print(f"{name:<40} {length:>8}  {maker:<14} {size:>10}  {row['problem']}".rstrip())
    print_video_warnings((row["video"], warning) for row in rows for warning in row["warnings"])
    print(describe_size(store, entries))
    return 0


def _pull(args: Namespace) -> int:
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


def _selectors(args: Namespace) -> int:
    from framesift.selection import selectors
    from framesift.selection.registry import NEEDS

    available = selectors().values()
    if args.json:
        fields = ("name", "summary", "paper", "needs", "problem")
        print_json(
            [
                {field: getattr(selector, field) for field in fields}
                | {"options": {name: x if isinstance(x, JSON) else repr(x) for name, x in selector.options.items()}}
                for selector in available
            ]
        )
        return 0
    for selector in available:
        print(f"{selector.name:<16} {selector.summary}" + (f" ({selector.paper})" if selector.paper else ""))
        if selector.needs:
            print(f"{'':<16} needs {', '.join(NEEDS.get(need, need) for need in selector.needs)}")
        if selector.options:
            options = ", ".join(f"{name}={default!r}" for name, default in selector.options.items())
            print(f"{'':<16} options: {options}")
    return 0
