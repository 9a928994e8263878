"""Reading annotation files of the common formats as rows."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from framesift.errors import InputError, MissingExtra
from framesift.types import Question
from framesift.types.question import strip_option_letters

AnnotationRow = Mapping[str, Any]
_LETTER = re.compile(r"^\s*[(\[]?([A-Za-z])[)\].:、]\s*")


def find_annotation(folder: Path, names: Sequence[str], dataset: str) -> Path:
    """Return the first existing file of these patterns below the directory; a file is returned unchanged."""
    if folder.is_file():
        return folder
    if not folder.is_dir():
        raise InputError(f"{folder} is not a directory; expected that of {dataset}, with {names[0]}")
    for name in names:
        matches = sorted(folder.glob(name))
        if matches:
            return matches[0]
    raise InputError(f"{folder} has none of {', '.join(names)}; expected {dataset} as published")


def root_of(folder: Path) -> Path:
    """The data set's directory, also for a path to its annotation file."""
    return folder.parent if folder.is_file() else folder


def read_rows(path: Path) -> tuple[list[AnnotationRow], str]:
    """The rows of a JSON, JSON Lines, CSV or Parquet file, and a hash of its content."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror or error}); expected an annotation file") from None
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            rows = _from_parquet(path)
        elif kind == ".jsonl":
            rows = [json.loads(line) for line in data.decode("utf-8-sig").split("\n") if line.strip()]
        elif kind in (".csv", ".tsv"):
            dialect = "excel-tab" if kind == ".tsv" else "excel"
            rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), dialect=dialect))
        else:
            value = json.loads(data.decode("utf-8-sig"))
            rows = list(value.values()) if isinstance(value, dict) else value
    except (UnicodeDecodeError, json.JSONDecodeError, csv.Error, RecursionError) as error:
        raise InputError(f"{path} can't be read as {kind or 'JSON'} ({error}); download it again") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(f"{path} has no list of questions; expected one object for each")
    return rows, hashlib.sha256(data).hexdigest()[:16]


def joined_hash(hashes: Iterable[str]) -> str:
    """One hash for an annotation in several files."""
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


def field_of(row: AnnotationRow, name: str, location: str) -> Any:
    if name not in row or row[name] is None:
        raise InputError(f"{location} has no {name!r}; it has {', '.join(map(str, row))}")
    return row[name]


def without_letters(options: Iterable[object]) -> tuple[str, ...]:
    """Strip "A. ", "(B) " … from the options if each has the letter of its position; else leave them unchanged."""
    return tuple(strip_option_letters(dict(enumerate(map(str, options)))).values())


def question_of(text: object, options: Sequence[str], location: str) -> Question:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{location} has no question; expected a text")
    return Question(text, tuple(options))


def first_file(candidates: Iterable[Path]) -> Path:
    """The first of these paths that is a file, else the first one, to be reported as missing."""
    paths = list(candidates)
    return next((path for path in paths if path.is_file()), paths[0])


def seconds_of(clock: str, location: str) -> float:
    """Parse 1:02:03, 02:03 or 3.5 as seconds."""
    try:
        parts = [float(part) for part in clock.strip().split(":")]
    except ValueError:
        parts = []
    if not 1 <= len(parts) <= 3:
        raise InputError(f"{location}: the time is {clock!r}; expected h:mm:ss, mm:ss or seconds")
    return sum(part * 60.0**power for power, part in enumerate(reversed(parts)))


def _from_parquet(path: Path) -> list[AnnotationRow]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(f"{path.name} needs pyarrow: pip install 'framesift[bench]'") from None
    try:
        rows: list[AnnotationRow] = pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path} can't be read as Parquet ({error}); download it again") from None
    return rows
