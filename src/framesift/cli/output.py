"""What commands print: JSON on the output, warnings on the error output, progress bars on the terminal."""

import io
import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from framesift._utils.json import dump_json
from framesift._utils.text import printable
from framesift.errors import FramesiftError, OutputError, ReaderError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class PipeOutput(io.FileIO):
    """A standard stream that discards what is written after its reader has closed it, as `head` does.

    error: of a stream that can't be written for another reason, such as a full disk; it is discarded from there on.
    """

    error: OSError | None = None

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.error = error
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), self.fileno())
            return memoryview(data).nbytes


def prepare_streams() -> None:
    """Let commands finish when their output or error output is closed or can't show a character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller, as with `>&-`
            setattr(sys, name, io.StringIO())
        elif stream is getattr(sys, f"__{name}__") and isinstance(
            getattr(stream.buffer, "raw", stream.buffer), io.FileIO
        ):
            lines = stream.line_buffering or stream.write_through  # the second with `python -u`
            raw = PipeOutput(stream.fileno(), "wb", closefd=False)
            text = io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, "replace", line_buffering=lines)
            setattr(sys, name, text)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a file's name may hold what the terminal can't show


def error_code(error: FramesiftError) -> int:
    """The exit code for an error: 2 for bad input, 1 for what is not the user's to correct."""
    return 1 if isinstance(error, ReaderError | OutputError) else 2


def check_output(code: int) -> int:
    """Write what is buffered and return the exit code; if the output can't be written, say so and make 0 a 1."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if not isinstance(raw, PipeOutput) or raw.error is None:
        return code
    print(f"framesift: the output can't be written ({raw.error.strerror})", file=sys.stderr)
    raw.error = None
    return code or 1


def print_json(value: Any) -> None:
    """Print JSON, with escapes in place of characters that the output's encoding may lack."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(dump_json(value) if is_unicode else json.dumps(value, indent=2) + "\n")


def print_warnings(warnings: Iterable[str], notes: Iterable[str] = ()) -> None:
    """Print what is uncertain or wrong in a video, then notes on it, a line each on the error output."""
    for kind, texts in {"warning": warnings, "note": notes}.items():
        for text in texts:
            print(f"{kind}: {printable(text)}", file=sys.stderr)


def print_video_warnings(pairs: Iterable[tuple[str, str]]) -> None:
    """Print (video, warning) pairs, each once, on the error output."""
    print_warnings(dict.fromkeys(f"{video}: {warning}" for video, warning in pairs))


class ProgressBar:
    """A bar for each stage on a terminal, nothing elsewhere. A Progress; a context manager.

    single: one bar for the whole run, with the stage behind it.
    """

    def __init__(self, name: str = "", *, show: bool, unit: str = " frames", single: bool = False) -> None:
        self.name, self.unit, self.single = printable(name), unit, single
        self._show = show and sys.stderr.isatty()
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, stage: str, done: float, total: float) -> None:
        if not self._show:
            return
        if self._bar is None or (stage != self._stage and not self.single):
            from tqdm import tqdm

            self.__exit__()
            title = ": ".join(filter(None, [self.name, "" if self.single else stage]))
            self._bar = tqdm(desc=title, unit=self.unit, miniters=0)
        if self.single:
            self._bar.set_postfix_str(printable(stage)[-40:], refresh=False)
        self._stage = stage
        self._bar.total = round(total)
        self._bar.update(round(done) - self._bar.n)
