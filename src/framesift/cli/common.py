"""What several commands share: options, progress on a terminal, JSON on the output."""

import argparse
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from framesift._utils.json import dump_json

if TYPE_CHECKING:
    from framesift.store.events import Found

Run = Callable[[argparse.Namespace], int]
Add = Callable[[str, Run, str], argparse.ArgumentParser]  # (name, what runs it, its summary) → its parser


def add_store(command: argparse.ArgumentParser) -> None:
    command.add_argument("--store", metavar="DIR", help="folder of the indexes (default: the user's cache folder)")


def add_index_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--encoder", default="auto", help="auto, siglip, offline, …, or a checkpoint's folder")
    command.add_argument("--fps", type=_fps, default="auto", help="candidates per second, or auto (default)")
    command.add_argument("--mode", choices=("exact", "fast", "keyframes"), default="exact")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    add_store(command)


def add_relevance_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--visual-demand", metavar="SHARE", help="0 (text) to 1 (frames); default: from the question")
    command.add_argument("--event-encoder", metavar="NAME", help="minilm: compare events by a sentence encoder")
    command.add_argument("--namer", metavar="URL", help="server that names the objects to search for (default: rules)")


def add_event_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--subtitles", metavar="FILE", default="auto", help="a file, auto (default) or none")
    command.add_argument("--language", metavar="CODE", help="preferred language of subtitles and speech, as in en")
    command.add_argument(
        "--speech", metavar="ENGINE", default="auto", help="auto (default), none, moonshine, whisper:…"
    )
    command.add_argument("--screen-text", action="store_true", help="also read what is written on the screen")


def speech_of(args: argparse.Namespace) -> str | bool:
    """What `--speech` means to `search_events`."""
    engine: str = args.speech
    return engine == "auto" if engine in ("auto", "none") else engine


def events_of(args: argparse.Namespace) -> "Found":
    """The video's timestamped text, as the options say, with progress where it must be recognised first."""
    from framesift.store.events import search_events

    bar = Bar(show=not args.json)
    found = search_events(
        args.video,
        subtitles=args.subtitles,
        language=args.language,
        recognise_speech=speech_of(args),
        screen_text=args.screen_text,
        store=args.store,
        progress=bar,
    )
    bar.close()
    return found


def _fps(text: str) -> float | str:
    if text == "auto":
        return text
    value = float(text)
    if not 0 < value <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is no rate; expected a number above 0, or auto")
    return value


def print_json(value: Any) -> None:
    """JSON can say in ASCII what an output of another encoding can't hold."""
    text = dump_json(value)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = "".join(letter if letter.isascii() else json.dumps(letter)[1:-1] for letter in text)
    sys.stdout.write(text)


class Bar:
    """A progress bar per stage on a terminal, nothing elsewhere: candidates, rate, time left."""

    def __init__(self, *, show: bool, unit: str = " frames") -> None:
        self.show = show and sys.stderr.isatty()
        self.unit = unit
        self._bar: Any = None
        self._stage: str | None = None

    def __call__(self, stage: str, done: float, total: float) -> None:
        if not self.show:
            return
        if stage != self._stage:
            from tqdm import tqdm

            self.close()
            self._bar, self._stage = tqdm(desc=stage, unit=self.unit), stage
        self._bar.total = round(total)
        self._bar.update(round(done) - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
