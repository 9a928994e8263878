"""The command line: parse, call the public API, show progress, print.

Exit codes: 0 done, 2 bad usage or input, 1 anything else (one of several videos failed, say).
"""

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from framesift import __version__
from framesift.errors import FramesiftError
from framesift.records import clock

Run = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="framesift: %(message)s", force=True)
    try:
        run: Run = args.run
        return run(args)
    except FramesiftError as error:
        print(f"framesift: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("framesift: stopped; what was done so far is kept", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="framesift", description="Pick the frames of a video that answer a question.")
    parser.add_argument("--version", action="version", version=f"framesift {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, run: Run, summary: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        command.set_defaults(run=run)
        return command

    demo = add("demo", _demo, "make a sample video, index it, ask it a question")
    demo.add_argument("--method", default="gcr", help="a name of `framesift selectors` (default: gcr)")
    demo.add_argument("--budget", type=int, default=16, help="how many frames (default: 16)")

    index = add("index", _index, "decode and encode videos once, so that every later command is quick")
    index.add_argument("videos", nargs="+", metavar="VIDEO", help="files, folders or patterns")
    index.add_argument("--encoder", default="auto", help="auto, siglip, offline, …, or a checkpoint's folder")
    index.add_argument("--fps", type=_fps, default="auto", help="candidates per second, or auto (default)")
    index.add_argument("--mode", choices=("exact", "fast", "keyframes"), default="exact")
    index.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    _add_store(index)

    events = add("events", _events, "show the timestamped text of a video, and where it came from")
    events.add_argument("video", metavar="VIDEO")
    _add_event_options(events)
    _add_store(events)

    library = add("library", _library, "list the indexes that are kept, or remove some")
    library.add_argument(
        "--prune", action="store_true", help="remove what is damaged, unfinished or of a missing video"
    )
    library.add_argument("--older-than", type=_age, metavar="AGE", help="with --prune: unused for so long, as in 30d")
    library.add_argument("--max-size", type=_size, metavar="SIZE", help="with --prune: the oldest beyond, as in 5GB")
    _add_store(library)

    add("selectors", _selectors, "list the ways to choose frames, with their options")
    pull = add("pull", _pull, "fetch an encoder's weights")
    pull.add_argument("encoder", help="siglip, siglip-base, siglip2, clip, or a name on the model hub")
    doctor = add("doctor", _doctor, "tell what is installed, what is missing, and which encoder would be used")
    _add_store(doctor)
    return parser


def _add_store(command: argparse.ArgumentParser) -> None:
    command.add_argument("--store", metavar="DIR", help="folder of the indexes (default: the user's cache folder)")


def _add_event_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--subtitles", metavar="FILE", default="auto", help="a file, auto (default) or none")
    command.add_argument("--language", metavar="CODE", help="preferred language of subtitles and speech, as in en")
    command.add_argument(
        "--speech", metavar="ENGINE", default="auto", help="auto (default), none, moonshine, whisper:…"
    )
    command.add_argument("--screen-text", action="store_true", help="also read what is written on the screen")


def _fps(text: str) -> float | str:
    if text == "auto":
        return text
    value = float(text)
    if not 0 < value <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is no rate; expected a number above 0, or auto")
    return value


def _age(text: str) -> float:
    return _quantity(text, {"s": 1, "h": 3600, "d": 86400, "w": 7 * 86400}, "30d, 12h")


def _size(text: str) -> float:
    return _quantity(text.upper().removesuffix("B"), {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}, "500MB, 5GB")


def _quantity(text: str, units: dict[str, float], examples: str) -> float:
    try:
        value = float(text[:-1]) * units[text[-1:]]
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r} is no amount; expected one like {examples}") from None
    return value


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


class _Bar:
    """A progress bar per video on a terminal, nothing elsewhere: candidates, rate, time left."""

    def __init__(self, *, show: bool) -> None:
        self.show = show and sys.stderr.isatty()
        self._bar: Any = None
        self._path: Path | None = None

    def __call__(self, path: Path, done: int, expected: int) -> None:
        if not self.show:
            return
        if path != self._path:
            from tqdm import tqdm

            self.close()
            self._bar, self._path = tqdm(desc=path.name, unit=" frames"), path
        self._bar.total = expected
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _index(args: argparse.Namespace) -> int:
    from framesift.library.batch import find_videos, index_videos

    paths = find_videos(args.videos)
    bar = _Bar(show=not args.json)
    rows = []
    for row in index_videos(
        paths,
        encoder=args.encoder,
        fps=args.fps,
        mode=args.mode,
        store=args.store,
        device=args.device,
        progress=bar,
    ):
        bar.close()
        rows.append(row)
        if not args.json:
            _print_index_row(row)
    failed = sum(1 for row in rows if row["error"])
    if args.encoder == "auto" and failed < len(rows) and not args.json:
        from framesift.encode.base import choose_encoder

        print(f"note: encoder {choose_encoder()[1]}", file=sys.stderr)
    if args.json:
        _print_json(rows)
    elif len(rows) > 1:
        print(f"{len(rows) - failed} of {len(rows)} videos indexed" + (f", {failed} failed" if failed else ""))
    if not failed:
        return 0
    return 2 if len(rows) == 1 else 1


def _print_index_row(row: dict[str, Any]) -> None:
    if row["error"]:
        print(f"framesift: {row['error']}", file=sys.stderr)
        return
    how = "kept from before" if row["cached"] else f"{row['seconds']:.1f} s"
    print(f"{row['path']}: {row['candidates']} candidates of {row['duration_s']:.0f} s, {row['encoder']}, {how}")


def _events(args: argparse.Namespace) -> int:
    from framesift.library.events import search_events

    bar = _Bar(show=not args.json)
    found = search_events(
        args.video,
        subtitles=args.subtitles,
        language=args.language,
        recognise_speech=args.speech if args.speech not in ("auto", "none") else args.speech == "auto",
        screen_text=args.screen_text,
        store=args.store,
        progress=lambda what, done, total: bar(Path(what), round(done), round(total)),
    )
    bar.close()
    if args.json:
        _print_json(
            {
                "events": [asdict(event) for event in found.events],
                "sources": [asdict(source) for source in found.sources],
                "span": found.span,
                "notes": found.notes,
            }
        )
        return 0
    for event in found.events:
        print(f"{clock(event.start_s)} – {clock(event.end_s)}  {event.text}")
    for source in found.sources:
        repairs = ", ".join(f"{count} {what}" for what, count in source.repairs.items())
        print(f"{source.events} events from {source.name}" + (f" ({repairs})" if repairs else ""), file=sys.stderr)
    if found.events:
        print(f"they span {found.span:.0%} of the video's {found.duration_s:.0f} s", file=sys.stderr)
    else:
        print("no timestamped text was found", file=sys.stderr)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _library(args: argparse.Namespace) -> int:
    from framesift.library.store import Store
    from framesift.library.upkeep import describe, prune

    store = Store(args.store)
    if (args.older_than or args.max_size) and not args.prune:
        print("framesift: --older-than and --max-size go with --prune", file=sys.stderr)
        return 2
    removed = prune(store, older_than_s=args.older_than, max_bytes=args.max_size) if args.prune else []
    rows = [describe(entry) for entry in store.entries()]
    if args.json:
        _print_json({"store": str(store.root), "indexes": rows, "removed": removed})
        return 0
    for gone in removed:
        print(f"removed {gone['folder']} ({gone['reason']})")
    for row in rows:
        length = "" if row["duration_s"] is None else f"{row['duration_s']:.0f} s"
        size = f"{row['bytes'] / 1e6:.1f} MB"
        name = row["video"] or row["folder"]
        print(f"{name:<40} {length:>8}  {row['encoder']:<14} {size:>10}  {row['problem']}".rstrip())
    print(f"{len(rows)} in {store.root}, {sum(row['bytes'] for row in rows) / 1e6:.1f} MB")
    return 0


def _pull(args: argparse.Namespace) -> int:
    from framesift.encode.base import pull

    folder = pull(args.encoder)
    if args.json:
        _print_json({"encoder": args.encoder, "folder": str(folder)})
    else:
        print(f"{args.encoder} is in {folder}")
    return 0


def _doctor(args: argparse.Namespace) -> int:
    from framesift.library.upkeep import examine

    report = examine(args.store)
    if args.json:
        _print_json(report)
        return 0
    for line in report["lines"]:
        print(line)
    return 0


def _demo(args: argparse.Namespace) -> int:
    import framesift as fs
    from framesift.demo import QUESTION, sample_events, sample_video

    bar = _Bar(show=not args.json)
    if not args.json:
        print("Making the sample video and its index; they are kept for the next time.", file=sys.stderr)
    video = sample_video(progress=bar)
    index = fs.index(video, progress=lambda done, expected: bar(video, done, expected))
    bar.close()
    selection = fs.select(index, QUESTION, events=sample_events(), budget=args.budget, method=args.method)
    if args.json:
        print(selection.to_json(indent=2))
        return 0
    print(f"{video}: {len(index)} candidates of {index.info.duration_s:.0f} s, encoder {index.encoder}")
    print(f"Question: {QUESTION.text}\n")
    print(selection)
    return 0


def _selectors(args: argparse.Namespace) -> int:
    from framesift.select import selectors
    from framesift.select.registry import NEEDS

    known = selectors().values()
    if args.json:
        fields = ("name", "summary", "paper", "needs", "options")
        _print_json([{field: getattr(selector, field) for field in fields} for selector in known])
        return 0
    for selector in known:
        print(f"{selector.name:<16} {selector.summary}" + (f" ({selector.paper})" if selector.paper else ""))
        if selector.needs:
            print(f"{'':<16}   needs {', '.join(NEEDS.get(need, need) for need in selector.needs)}")
        for name, default in selector.options.items():
            print(f"{'':<16}   {name} = {default!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
