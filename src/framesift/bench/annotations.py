"""Reading annotation files of the common formats as rows."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from framesift._utils.json import load_json
from framesift._utils.tables import parquet_rows, parse_rows, read_bytes
from framesift.errors import InputError

AnnotationRow = Mapping[str, Any]
FILE = "an annotation file"


def find_annotation(folder: Path, names: Sequence[str], dataset: str) -> Path:
    """Return the first existing file of these patterns below the directory; a file is returned unchanged."""
    if folder.is_file():
        return folder
    found = next((match for name in names for match in sorted(folder.glob(name))), None)
    if found is None:
        raise InputError(f"{folder} has none of {', '.join(names)}; expected the folder of {dataset} as published")
    return found


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def read_rows(path: Path) -> tuple[list[AnnotationRow], str]:
    """The rows of a JSON, JSON Lines, CSV or Parquet file, and a hash of its content."""
    data = read_bytes(path, FILE)
    ending = path.suffix.lower()
    rows: Any
    if ending == ".parquet":
        rows = parquet_rows(path, "bench")
    elif ending in (".jsonl", ".csv", ".tsv"):
        rows = [row for _, row in parse_rows(data, path, FILE)]
    else:
        value = load_json(data, str(path), "a list of objects")
        rows = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(f"{path} has no list of questions; expected one object for each")
    return rows, content_hash(data)
