"""Progress of a run over many tasks: bars and failures on a terminal, or JSON lines."""

import json
import sys
import time
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from framesift._utils.text import printable

if TYPE_CHECKING:
    from framesift.batch.executors.base import TaskEvent

NAME_WIDTH = 40


class RunDisplay:
    """Shows every event of a run; a context manager. as_json: a JSON line per event in place of bars."""

    def __init__(self, *, as_json: bool, unit: str) -> None:
        self.as_json = as_json
        self.failed = self.ended = self._total = 0
        self._show = not as_json and sys.stderr.isatty()
        self._unit = unit
        self._bar: Any = None
        self._worker_lines: dict[str, Any] = {}
        self._started_s = time.monotonic()

    def __enter__(self) -> "RunDisplay":
        return self

    def __exit__(self, *_: object) -> None:
        for line in [*self._worker_lines.values(), self._bar]:
            if line is not None:
                line.close()

    def begin(self, total: int, skipped: int) -> None:
        """Set the number of tasks; called once, before the first event."""
        self._total = total
        if self.as_json:
            self.print_event("begin", total=total, skipped=skipped)
        elif self._show:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=self._unit, position=0, dynamic_ncols=True)

    def __call__(self, event: "TaskEvent") -> None:
        self.ended += event.is_end
        self.failed += event.kind == "failed"
        if self.as_json:
            self._print_task_event(event)
        elif self._show:
            self._draw(event)
        if not self.as_json and event.kind in ("failed", "retried"):
            outcome = "failed" if event.kind == "failed" else f"attempt {event.tries} failed, it will be retried"
            self._print_error(f"framesift: {printable(event.error)} ({outcome})")

    def print_event(self, kind: str, **fields: Any) -> None:
        sys.stdout.write(json.dumps({"event": kind, **fields}) + "\n")
        sys.stdout.flush()

    def _print_task_event(self, event: "TaskEvent") -> None:
        fields: dict[str, Any] = {"name": event.task.title, "worker": event.worker, "try": event.tries}
        if event.kind == "moved":
            fields |= {"done": event.done, "expected": event.expected}
        if event.error:
            fields["error"] = event.error
        if event.is_end:
            elapsed_s = time.monotonic() - self._started_s
            left_s = elapsed_s / self.ended * max(0, self._total - self.ended)
            fields |= {**event.row, "seconds": round(event.seconds, 3), "ended": self.ended, "failed": self.failed}
            fields |= {"total": self._total, "per_minute": round(60 * self.ended / elapsed_s, 3)}
            fields["left_s"] = round(left_s)
        self.print_event(event.kind, **fields)

    def _draw(self, event: "TaskEvent") -> None:
        if event.is_end:
            self._bar.set_postfix_str(f"{self.failed} failed" if self.failed else "", refresh=False)
            self._bar.update(1)
        if event.worker not in self._worker_lines:
            from tqdm import tqdm

            position = len(self._worker_lines) + 1
            self._worker_lines[event.worker] = tqdm(bar_format="{desc}", position=position, leave=False)
        name = printable(PurePosixPath(event.task.title).name)[:NAME_WIDTH]
        state = f"{event.done:.0f}/{event.expected:.0f}" if event.kind == "moved" else event.kind
        text = f"  {event.worker}: {name} {state}, {event.seconds:.0f} s"
        self._worker_lines[event.worker].set_description_str(text)

    def _print_error(self, line: str) -> None:
        if self._bar is None:
            print(line, file=sys.stderr)
        else:
            self._bar.write(line, file=sys.stderr)
