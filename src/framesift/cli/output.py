"""What commands print: JSON on the output, progress bars on the terminal."""

import json
import sys
from typing import Any

from framesift._utils.json import dump_json
from framesift._utils.text import printable


def print_json(value: Any) -> None:
    """Print JSON, with escapes in place of characters that the output's encoding lacks."""
    text = dump_json(value)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = "".join(letter if letter.isascii() else json.dumps(letter)[1:-1] for letter in text)
    sys.stdout.write(text)


class ProgressBar:
    """A bar for each stage on a terminal, nothing elsewhere. A Progress; a context manager."""

    def __init__(self, name: str = "", *, show: bool, unit: str = " frames") -> None:
        self.name, self.unit = name, unit
        self._show = show and sys.stderr.isatty()
        self._bar: Any = None
        self._stage: str | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, stage: str, done: float, total: float) -> None:
        if not self._show:
            return
        if stage != self._stage:
            from tqdm import tqdm

            self.close()
            title = f"{printable(self.name)}: {stage}" if self.name else stage
            self._bar, self._stage = tqdm(desc=title, unit=self.unit), stage
        self._bar.total = round(total)
        self._bar.update(round(done) - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = self._stage = None
