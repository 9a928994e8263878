"""Reading annotation files of the common formats as rows."""

import csv
import hashlib
import io
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from framesift._utils.json import load_json
from framesift.errors import InputError, MissingExtra

AnnotationRow = Mapping[str, Any]


def find_annotation(folder: Path, names: Sequence[str], dataset: str) -> Path:
    """Return the first existing file of these patterns below the directory; a file is returned unchanged."""
    if folder.is_file():
        return folder
    found = next((match for name in names for match in sorted(folder.glob(name))), None)
    if found is None:
        raise InputError(f"{folder} has none of {', '.join(names)}; expected the folder of {dataset} as published")
    return found


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
