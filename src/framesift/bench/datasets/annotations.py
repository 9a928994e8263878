"""Reading annotation files of the common formats as rows."""

import csv
import hashlib
import io
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from framesift._utils.json import load_json
from framesift._utils.records import Label, read_field
from framesift.errors import InputError, MissingExtra
from framesift.types import Question
from framesift.types.question import strip_option_letters

AnnotationRow = Mapping[str, Any]


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


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror or error}); expected an annotation file") from None


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def read_rows(path: Path) -> tuple[list[AnnotationRow], str]:
    """The rows of a JSON, JSON Lines, CSV or Parquet file, and a hash of its content."""
    data = read_bytes(path)
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            rows = _from_parquet(path)
        elif kind == ".jsonl":
            lines = enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), 1)
            rows = [load_json(line, f"{path}, line {k}", "one object per line") for k, line in lines if line.strip()]
        elif kind in (".csv", ".tsv"):
            dialect = "excel-tab" if kind == ".tsv" else "excel"
            rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), dialect=dialect))
        else:
            value = load_json(data, str(path), "a list of objects")
            rows = list(value.values()) if isinstance(value, dict) else value
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} can't be read as {kind or 'JSON'} ({error}); download it again") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(f"{path} has no list of questions; expected one object for each")
    return rows, content_hash(data)


def joined_hash(hashes: Iterable[str]) -> str:
    """One hash for an annotation in several files."""
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:16]


def options_of(row: AnnotationRow, name: str, location: str) -> tuple[str, ...]:
    """The options of a question: a list of texts or numbers."""
    options: tuple[str, ...] = read_field(row, name, tuple[Label, ...], location)
    return options


def without_letters(options: Iterable[str]) -> tuple[str, ...]:
    """Strip "A. ", "(B) " … from the options if each has the letter of its position; else leave them unchanged."""
    return tuple(strip_option_letters(dict(enumerate(options))).values())


def question_of(row: AnnotationRow, options: Sequence[str], location: str) -> Question:
    return Question(read_field(row, "question", str, location), tuple(options))


def first_file(candidates: Iterable[Path]) -> Path:
    """The first of these paths that is a file, else the first one, to be reported as missing."""
    paths = list(candidates)
    return next((path for path in paths if path.is_file()), paths[0])


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
