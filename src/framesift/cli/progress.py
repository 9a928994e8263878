"""How a run over many things is shown: a bar, a line per worker and the failures on a terminal; or JSON lines."""

import json
import sys
import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from framesift._utils.text import printable

if TYPE_CHECKING:
    from framesift.batch.executors.base import Report

NAME_WIDTH = 40


class Board:
    """Called with every report of a run; a context manager. On a terminal: bars. With as_json: a line per event."""

    def __init__(self, *, as_json: bool, unit: str) -> None:
        self.as_json = as_json
        self.failed = self.ended = self._total = 0
        self._show = not as_json and sys.stderr.isatty()
        self._unit = unit
        self._bar: Any = None
        self._lines: dict[str, Any] = {}
        self._started_s = time.monotonic()

    def __enter__(self) -> "Board":
        return self

    def __exit__(self, *_: object) -> None:
        for line in [*self._lines.values(), self._bar]:
            if line is not None:
                line.close()

    def begin(self, total: int, skipped: int) -> None:
        """Say how many there are to do; called once, before the first report."""
        self._total = total
        if self.as_json:
            self.event("begin", total=total, skipped=skipped)
        elif self._show:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=self._unit, position=0, dynamic_ncols=True)

    def __call__(self, report: "Report") -> None:
        self.ended += report.is_end
        self.failed += report.kind == "failed"
        if self.as_json:
            self._tell(report)
        elif self._show:
            self._draw(report)
        if not self.as_json and report.kind in ("failed", "retried"):
            what = "failed" if report.kind == "failed" else f"try {report.tries} failed, it waits for another"
            self._print(f"framesift: {printable(report.error)} ({what})")

    def event(self, kind: str, **said: Any) -> None:
        sys.stdout.write(json.dumps({"event": kind, **said}) + "\n")
        sys.stdout.flush()

    def _tell(self, report: "Report") -> None:
        said: dict[str, Any] = {"name": report.task.name, "worker": report.worker, "try": report.tries}
        if report.kind == "moved":
            said |= {"done": report.done, "expected": report.expected}
        if report.error:
            said["error"] = report.error
        if report.is_end:
            passed_s = time.monotonic() - self._started_s
            left_s = passed_s / self.ended * max(0, self._total - self.ended)
            said |= {**report.row, "seconds": round(report.seconds, 3), "ended": self.ended, "failed": self.failed}
            said |= {"total": self._total, "per_minute": round(60 * self.ended / passed_s, 3), "left_s": round(left_s)}
        self.event(report.kind, **said)

    def _draw(self, report: "Report") -> None:
        if report.is_end:
            self._bar.set_postfix_str(f"{self.failed} failed" if self.failed else "", refresh=False)
            self._bar.update(1)
        if report.worker not in self._lines:
            from tqdm import tqdm

            self._lines[report.worker] = tqdm(bar_format="{desc}", position=len(self._lines) + 1, leave=False)
        name = printable(PurePosixPath(report.task.name).name)[:NAME_WIDTH]
        how_far = f"{report.done}/{report.expected}" if report.kind == "moved" else report.kind
        self._lines[report.worker].set_description_str(f"  {report.worker}: {name} {how_far}, {report.seconds:.0f} s")

    def _print(self, line: str) -> None:
        if self._bar is None:
            print(line, file=sys.stderr)
        else:
            self._bar.write(line, file=sys.stderr)
