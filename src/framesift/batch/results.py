"""One row per answer, in files that many processes can add to and any run can go on from.

    RESULTS/<host>-<process>-<random>.jsonl    a Run line that says what made the rows, then one Result line each

Every process writes a file of its own, each line in one write, so nothing is locked and a shared network folder will
do. A line that was cut off is passed over. Rows of one key are one job: the last that finished counts.
"""

import hashlib
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from framesift.bench.items import Dataset, Item
from framesift.errors import FramesiftError, InputError

RESULT_SCHEMA = "framesift.result/1"
RUN_SCHEMA = "framesift.run/1"
STAGES = ("decode", "features", "score", "select", "read")
R = TypeVar("R", "Result", "Run")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """What made a number of rows: enough to make them again.

    data: `Dataset.fingerprint`; annotation: `Dataset.annotation`. prompts: the full text of each prompt by the name
    rows give it. missing: files not there, as sentences; skipped: questions not asked for that reason. items: questions
    that were to be asked.
    """

    id: str
    command: str = ""
    dataset: str = ""
    data: str = ""
    annotation: str = ""
    encoder: str = ""
    encoder_fingerprint: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, Any] = field(default_factory=dict)
    items: int = 0
    skipped: int = 0
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int = 0
    machine: str = ""
    started_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"schema": RUN_SCHEMA, **asdict(self)}


@dataclass(frozen=True)
class Result:
    """One question, put to one reader with one method's frames.

    The fields up to `seed` say which job it is and make its key. choice: the option the reader named, as a position
    among the published ones; truth: the right one. Without a reader (reader = "") a row holds the frames alone.
    seconds: by the STAGES that took time; decode and features are the video's whole cost shared out over its questions.
    error: why there is no answer; such a row has no part in any score, but is counted.
    """

    dataset: str
    item_id: str
    method: str
    budget: int
    options: Mapping[str, Any] = field(default_factory=dict)
    text_mode: str = "none"
    reader: str = ""
    prompt: str = ""
    encoder: str = ""
    events: str = "subtitles"  # where the text came from: subtitles, speech, screen, none
    fps: str = "1"
    seed: int = 0

    video_id: str = ""
    group: str = ""
    published_group: str = ""
    categories: tuple[str, ...] = ()
    truth: int | None = None
    choice: int | None = None
    parsed: bool = False
    reply: str = ""
    times_s: tuple[float, ...] = ()
    frame_numbers: tuple[int, ...] = ()
    rendered: int = 0  # frames that carry text
    candidates: int = 0  # frames the selector could choose from
    looked_at: int = 0  # candidates it asked a score of
    duration_s: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory_bytes: int | None = None
    peak_gpu_memory_bytes: int | None = None
    tokens: int | None = None
    annotation: str = ""
    run: str = ""
    finished_s: float = 0.0
    error: str = ""

    @classmethod
    def of(cls, item: Item, *, method: str, budget: int, **said: Any) -> "Result":
        """A row for this question, with what is known of it filled in."""
        known: dict[str, Any] = {
            "dataset": item.dataset,
            "item_id": item.id,
            "video_id": item.video_id,
            "group": item.group,
            "published_group": item.published_group,
            "categories": item.categories,
            "truth": item.answer,
            "duration_s": item.duration_s,
        }
        return cls(method=method, budget=budget, **{**known, **said})

    @property
    def key(self) -> str:
        """24 hex digits for the job: equal exactly when all that identifies it is."""
        job = [getattr(self, name) for name in _IDENTITY]
        text = json.dumps(job, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def is_answer(self) -> bool:
        """Whether it counts in an accuracy: a reader was asked and replied, in whatever form."""
        return bool(self.reader) and not self.error and self.truth is not None

    @property
    def correct(self) -> bool:
        """An unparsed reply is wrong; it is never guessed at."""
        return self.is_answer and self.parsed and self.choice == self.truth

    @property
    def variant(self) -> str:
        """The method and the options that differ from its defaults: "gcr", "gcr alpha_ground=0.125"."""
        return " ".join([self.method, *(f"{name}={_short(value)}" for name, value in sorted(self.options.items()))])

    def to_dict(self) -> dict[str, Any]:
        return {"schema": RESULT_SCHEMA, "key": self.key, **asdict(self), "correct": self.correct}


_IDENTITY = tuple(f.name for f in fields(Result))[: [f.name for f in fields(Result)].index("seed") + 1]


class Results(NamedTuple):
    """What a folder holds: the rows that count, the runs by id, and how many lines could not be read."""

    rows: list[Result]
    runs: dict[str, Run]
    unreadable: int = 0

    @property
    def done(self) -> set[str]:
        """Keys of the jobs that need not be run again: those that ended without an error."""
        return {row.key for row in self.rows if not row.error}


class ResultWriter:
    """Adds the rows of one process to a folder; a context manager."""

    def __init__(self, folder: str | os.PathLike[str], run: Run) -> None:
        self.run = run
        self.path = Path(folder) / f"{_slug(socket.gethostname())}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o644)
        except OSError as error:
            raise FramesiftError(f"no results can be kept in {folder} ({error.strerror or error})") from error
        self._add(run.to_dict())

    def add(self, row: Result) -> Result:
        """Keep a row, with this run's id and the time of now; returns it as kept."""
        kept = replace(row, run=self.run.id, annotation=row.annotation or self.run.annotation, finished_s=time.time())
        self._add(kept.to_dict())
        return kept

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> "ResultWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, value: Mapping[str, Any]) -> None:
        line = memoryview((json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode())
        try:
            while line:  # a full disk may take a part of it
                line = line[os.write(self._file, line) :]
        except OSError as error:
            raise FramesiftError(f"{self.path} can't be written ({error.strerror or error})") from error


def new_run(dataset: Dataset | None = None, **said: Any) -> Run:
    """A Run with an id and a starting time of its own, and what the data set says of itself."""
    told: dict[str, Any] = {"id": secrets.token_hex(8), "started_s": time.time()}
    if dataset is not None:
        told |= {"dataset": dataset.name, "data": dataset.fingerprint, "annotation": dataset.annotation}
        told |= {"items": len(dataset), "skipped": len(dataset.skipped), "notes": dataset.notes}
        told["missing"] = (dataset.describe_missing(),) if dataset.missing else ()
    return Run(**{**told, **said})


def read_results(*paths: str | os.PathLike[str]) -> Results:
    """The rows of folders or files, one per key, by data set, question and the rest; a torn line is passed over."""
    rows: dict[str, Result] = {}
    runs: dict[str, Run] = {}
    unreadable = 0
    for path in _files(paths):
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            record = _record(line)
            if isinstance(record, Run):
                runs[record.id] = record
            elif isinstance(record, Result):
                before = rows.get(record.key)
                if before is None or record.finished_s >= before.finished_s:
                    rows[record.key] = record
            else:
                unreadable += 1
                log.warning("%s, line %d is no result: passed over", path, number)
    ordered = sorted(rows.values(), key=lambda row: [str(getattr(row, name)) for name in _IDENTITY])
    return Results(ordered, runs, unreadable)


def _files(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    found: list[Path] = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            found += sorted(path.glob("*.jsonl"))
        elif path.is_file():
            found.append(path)
        else:
            raise InputError(f"{path} is not there; expected a folder or a JSONL of results")
    return found


def _record(line: bytes) -> Result | Run | None:
    try:
        value = json.loads(line)
        kind = value.get("schema")
        if kind == RESULT_SCHEMA:
            return _made(Result, value)
        return _made(Run, value) if kind == RUN_SCHEMA else None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _made(record: type[R], value: Mapping[str, Any]) -> R:
    """The record from those of the line's keys that it knows, lists made tuples."""
    known = {f.name for f in fields(record)}
    told = {name: _frozen(item) for name, item in value.items() if name in known}
    return record(**told)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in name)[:40] or "host"
