"""Rows of files: JSON Lines, CSV, TSV, Parquet, or lines of text."""

import csv
import io
from collections.abc import Collection
from pathlib import Path
from typing import Any

from framesift._utils.json import load_json
from framesift._utils.requirements import require
from framesift.errors import InputError


def read_bytes(path: Path, expected: str) -> bytes:
    """The content of a file; InputError, with what was expected, if it can't be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror or error}); expected {expected}") from None


def parse_rows(data: bytes, path: Path, expected: str) -> list[tuple[str, Any]]:
    """The rows of JSON Lines, CSV or TSV, else the lines of text without comments, each with its place in the file."""
    ending = path.suffix.lower()
    try:
        text = data.decode("utf-8-sig")
        if ending in (".csv", ".tsv"):
            table = csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab" if ending == ".tsv" else "excel")
            return [(f"row {k}", row) for k, row in enumerate(table, 1)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} can't be read ({error}); expected {expected}, as UTF-8 text") from None
    if ending == ".jsonl":
        lines = [(f"line {k}", line) for k, line in enumerate(text.split("\n"), 1) if line.strip()]
        return [(place, load_json(line, f"{path}, {place}", "one value per line")) for place, line in lines]
    lines = [(f"line {k}", line.strip()) for k, line in enumerate(text.splitlines(), 1)]
    return [(place, line) for place, line in lines if line and not line.startswith("#")]


def parquet_rows(path: Path, extra: str, columns: Collection[str] = ()) -> list[dict[str, Any]]:
    """The rows of a Parquet file. columns: only these, in lower case, where the file has any of them."""
    arrow, parquet = require("pyarrow", extra), require("pyarrow.parquet", extra)
    try:
        with parquet.ParquetFile(path) as table:
            wanted = [name for name in table.schema_arrow.names if name.strip().lower() in columns]
            rows: list[dict[str, Any]] = table.read(columns=wanted or None).to_pylist()
            return rows
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a Parquet file that can be read ({error}); download it again") from None
