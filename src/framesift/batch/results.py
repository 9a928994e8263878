"""Result rows: one per answer, in files that many processes can append to and any run can resume from.

    RESULTS/<process>-<random>.jsonl    a Run line with what produced the rows, then one Result line each

Every process writes a file of its own, each line in one write, so nothing is locked and a shared network folder works.
A truncated line is skipped. Rows with the same key are the same job: the one that finished last counts.
"""

import hashlib
import json
import logging
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from framesift._utils.files import StrPath, no_empty_folders, output_error
from framesift._utils.json import load_json
from framesift._utils.records import read_record, read_value, shown
from framesift._utils.text import readable
from framesift.errors import FramesiftError, InputError
from framesift.selection.registry import get_selector
from framesift.types import Window

RESULT_SCHEMA = "framesift.result/3"
RUN_SCHEMA = "framesift.run/1"
UNIFORM = "uniform"  # the selector that can take its frames from the whole video
CANDIDATES, WHOLE_VIDEO = ("candidates", "video")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Run:
    """What produced a number of rows: enough to reproduce them.

    data: fingerprint of the questions; annotation: hash of their file. prompts: the full text of each prompt by the
    name rows use. readers: the options of each. missing: files that do not exist, as sentences;
    skipped: questions left out for that reason. items: questions of the run.
    """

    id: str
    encoder: str
    command: str = ""
    dataset: str = ""
    data: str = ""
    annotation: str = ""
    encoder_fingerprint: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    readers: Mapping[str, Any] = field(default_factory=dict)
    items: int = 0
    skipped: int = 0
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    machine: str = ""
    started_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"schema": RUN_SCHEMA, **asdict(self)}


@dataclass(frozen=True)
class Result:
    """One question, answered by one reader from the frames of one method.

    The fields up to `window` identify the job and make its key. config: the settings of the run that can change frames
    or prompts, by name. choice: the option the reader named, as a position among the published ones; truth: the correct
    one. Without a reader (reader = "") a row holds the frames only. seconds: by stage (decode, features, score, select,
    read); decode and features are the cost of the whole video divided by its questions. error: why there is no answer;
    such a row is in no score, but counted.
    """

    dataset: str
    item_id: str
    method: str
    options: Mapping[str, Any]
    budget: int
    text_mode: str
    reader: str  # its name, or its address
    prompt: str  # the reader's prompt preset
    config: Mapping[str, Any]
    window: Window | None = None  # the part of the video that was considered

    video_id: str = ""
    group: str = ""
    published_group: str = ""
    categories: tuple[str, ...] = ()
    truth: int | None = None
    choice: int | None = None
    parsed: bool = False  # the reply named exactly one option
    reply: str = ""
    times_s: tuple[float, ...] = ()
    frame_numbers: tuple[int, ...] = ()
    event_starts_s: tuple[float, ...] = ()  # of the events whose text is on the frames, in the frames' order
    frame_size: tuple[int, ...] = ()  # width and height of the frames
    rendered: int = 0  # frames shown to the reader with text on them
    rendered_words: int = 0  # the words of that text
    candidates: int = 0  # frames the selector could choose from
    looked_at: int = 0  # candidates whose score the selector used
    duration_s: float | None = None
    warnings: tuple[str, ...] = ()  # what was lost, guessed or odd in the video, its text and this selection
    seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory_bytes: int | None = None
    peak_gpu_memory_bytes: int | None = None
    tokens: int | None = None
    times_written: str = ""  # the format in which the reader got the frames' times
    frames_as: str = ""  # "video" or "images", as the reader got them
    annotation: str = ""
    run: str = ""
    finished_s: float = 0.0
    error: str = ""

    @property
    def key(self) -> str:
        """24 hex digits that identify the job."""
        job = [getattr(self, name) for name in _IDENTITY]
        text = json.dumps(job, sort_keys=True, ensure_ascii=False, allow_nan=False, default=asdict)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def value(self, name: str) -> Any:
        """A field or a setting of the run; None if it has neither."""
        return getattr(self, name, self.config.get(name))

    @property
    def is_answer(self) -> bool:
        """Whether the row counts in an accuracy: a reader replied, and the correct option is known."""
        return bool(self.reader) and not self.error and self.truth is not None

    @property
    def correct(self) -> bool | None:
        """Whether the reader named the correct option; an unparsed reply is wrong. None if the row is no answer."""
        return self.parsed and self.choice == self.truth if self.is_answer else None

    @property
    def variant(self) -> str:
        """The method with the options that differ from its defaults: "gcr", "gcr alpha_ground=0.125"."""
        short = {name: f"{x:g}" if isinstance(x, float) else str(x) for name, x in self.options.items()}
        return " ".join([self.method, *(f"{name}={text}" for name, text in sorted(short.items()))])

    def to_dict(self) -> dict[str, Any]:
        return {"schema": RESULT_SCHEMA, "key": self.key, **asdict(self), "correct": self.correct}


_NAMES = [f.name for f in fields(Result)]
_IDENTITY = _NAMES[: _NAMES.index("window") + 1]


class Results(NamedTuple):
    """The contents of a folder: the rows that count, the runs by id, and how many lines could not be read."""

    rows: list[Result]
    runs: dict[str, Run]
    unreadable: int = 0

    @property
    def done(self) -> set[str]:
        """Keys of the finished jobs: those without an error."""
        return {row.key for row in self.rows if not row.error}


class ResultWriter:
    """Appends the rows of one process to a folder; a context manager."""

    def __init__(self, folder: StrPath, run: Run) -> None:
        self.run = run
        self.path = Path(folder) / f"{os.getpid()}-{secrets.token_hex(8)}.jsonl"
        if Path(folder).is_file():
            raise InputError(f"{folder} is a file; expected a directory for the results")
        with no_empty_folders(self.path.parent):
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("xb", buffering=0)
            except OSError as error:
                raise output_error(folder, error) from error
            try:
                self._write(run.to_dict())
            except FramesiftError:
                self._file.close()
                self.path.unlink()
                raise

    def add(self, row: Result) -> Result:
        """Write a row with this run's id and the current time; returns it as written."""
        written = replace(
            row,
            run=self.run.id,
            annotation=row.annotation or self.run.annotation,
            finished_s=time.time(),
        )
        self._write(written.to_dict())
        return written

    def __enter__(self) -> "ResultWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _write(self, value: Mapping[str, Any]) -> None:
        # A reply, and the name of a video, may hold what is not Unicode.
        line = memoryview((readable(json.dumps(value, ensure_ascii=False, allow_nan=False)) + "\n").encode())
        end = self._file.tell()
        try:
            while line:  # a nearly full disk may take a part of it
                line = line[self._file.write(line) :]
        except OSError as error:
            self._file.seek(end)
            self._file.truncate()
            remedy = "free some space and run the command again: finished rows are saved"
            raise output_error(self.path, error, remedy) from error


def new_run(**values: Any) -> Run:
    """A Run with a new id and the current time."""
    return Run(**{"id": secrets.token_hex(8), "started_s": time.time(), **values})


def read_results(*paths: StrPath) -> Results:
    """Read the rows of folders or files, one per key, sorted by identity; a truncated line is skipped."""
    rows: dict[str, Result] = {}
    runs = {}
    unreadable = 0
    for path in _files(paths):
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                record = _record(line, f"{path}, line {number}")
            except InputError as error:
                unreadable += 1
                log.warning("skipped: %s", error)
                continue
            if isinstance(record, Run):
                runs[record.id] = record
                continue
            before = rows.get(record.key)
            if before is None or _precedence(record) >= _precedence(before):
                rows[record.key] = record
    ordered = sorted(rows.values(), key=lambda row: [str(getattr(row, name)) for name in _IDENTITY])
    return Results(ordered, runs, unreadable)


def read_earlier(folder: StrPath) -> Results:
    """Read the rows of a folder; none if it does not exist yet."""
    return read_results(folder) if Path(folder).is_dir() else Results([], {})


def _precedence(row: Result) -> tuple[bool, float]:
    """Of rows with the same key the greatest counts: a result before an error, then the latest."""
    return not row.error, row.finished_s


def _files(paths: Sequence[StrPath]) -> list[Path]:
    files = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            files += sorted(path.glob("*.jsonl"))
        elif path.is_file():
            files.append(path)
        else:
            raise InputError(f"{path} does not exist; expected a folder or a JSONL file of results")
    return files


def _record(line: bytes, location: str) -> Result | Run:
    """Read the record of a line; raise InputError if the line has no valid record."""
    value = read_value(Mapping[str, Any], load_json(line, location, "a result or a run"), location)
    schema = value.get("schema")
    if schema == RUN_SCHEMA:
        return read_record(Run, value, location)
    if schema != RESULT_SCHEMA:
        raise InputError(f"{location} has the schema {shown(schema)}; expected {RESULT_SCHEMA} or {RUN_SCHEMA}")
    return read_record(Result, value, location)


def own_options(method: str, options: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The options that differ from the method's defaults, without a seed equal to the row's."""
    defaults = get_selector(method).options
    own = {name: value for name, value in options.items() if name not in defaults or value != defaults[name]}
    return {name: value for name, value in own.items() if (name, value) != ("seed", seed)}
