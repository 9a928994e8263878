"""What a run knows of its videos, on disk at every moment.

    STORE/corpus/seen-<encoder and sampling>.jsonl   finished videos, by path, size, time of change and inode
    MANIFEST.jsonl                                   the run's journal: each try's start and each video's end
    MANIFEST.parquet                                 a row per video, written when the run ends or is stopped

Lines are added in one write each; one that was cut off is passed over. The first file makes going on quick, the
journal makes it fair: a try that never ended counts, so a video that takes a whole machine down is not tried for ever.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from framesift._utils.optional import require
from framesift.batch.index_worker import Settings, stamp
from framesift.batch.listing import Video
from framesift.errors import FramesiftError
from framesift.store.store import MANIFEST

FOLDER = "corpus"  # inside the store
# Column → its type in the Parquet file. seconds: what the last try took.
COLUMNS = {
    "path": "string",
    "fingerprint": "string",
    "frames": "int64",
    "seconds": "float64",
    "bytes": "int64",
    "status": "string",  # indexed (by this or an earlier run of it), kept (was there before), failed, waiting
    "error": "string",
    "duration_s": "float64",
    "tries": "int64",
    "encoder": "string",
    "subtitles": "string",
}
Row = dict[str, Any]


class Lines:
    """A file of JSON lines that any number of processes may add to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[Any]:
        try:
            file = self.path.open("rb")
        except (FileNotFoundError, NotADirectoryError):
            return
        with file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue

    def add(self, value: Any) -> None:
        # The line break in front ends whatever a full disk or a kill cut off before.
        line = ("\n" + json.dumps(value) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                if os.write(handle, line) != len(line):
                    raise OSError("the disk is full")
            finally:
                os.close(handle)
        except OSError as error:
            raise FramesiftError(
                f"{self.path} can't be written ({error.strerror or error}); free some space and run the command again: "
                "what was done so far is kept"
            ) from error


class Seen:
    """Finished videos, known without opening them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        key = settings.key("any")
        self._root = Path(settings.store)
        self._lines = Lines(self._root / FOLDER / f"seen-{key.folder.name}.jsonl")
        self._rows: dict[str, Row] = {
            row["path"]: row for row in self._lines if isinstance(row, dict) and "path" in row
        }
        self._folder = key.folder.name

    def find(self, video: Video) -> Row | None:
        """What is known of this video, if it is still the same and its index is there."""
        row = self._rows.get(video.path)
        if row is None or row["subtitles"] != video.subtitles:
            return None
        if stamp(video.path) != row["stamp"]:
            return None
        there = os.path.exists(os.path.join(self._root, row["fingerprint"], self._folder, MANIFEST))
        return row if there else None

    def add(self, row: Row) -> None:
        self._rows[row["path"]] = row
        self._lines.add(row)


class History(NamedTuple):
    """What the journal of earlier runs says of a video."""

    tries: int = 0  # since it last ended
    error: str = ""  # why it failed, if that was its end


def read_journal(lines: Lines) -> dict[str, History]:
    told: dict[str, History] = {}
    for line in lines:
        if not isinstance(line, dict) or "path" not in line:
            continue
        before = told.get(line["path"], History())
        if line.get("event") == "started":
            told[line["path"]] = before._replace(tries=before.tries + 1)
        elif line.get("event") in ("retried", "stopped"):
            # This try has an end: only the driver's death leaves one open.
            told[line["path"]] = before._replace(tries=max(0, before.tries - 1))
        else:
            told[line["path"]] = History(0, line.get("error", ""))
    return told


def write_manifest(path: Path, rows: Iterable[Row]) -> None:
    """The rows as a Parquet file, whole or not at all."""
    require("pyarrow", "corpus")
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    kept = list(rows)
    fields = {name: getattr(arrow, kind)() for name, kind in COLUMNS.items()}
    columns = {name: arrow.array([_cell(row.get(name)) for row in kept], type=kind) for name, kind in fields.items()}
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(arrow.table(columns), temporary)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise FramesiftError(
            f"{path} can't be written ({error.strerror or error}); free some space and run the command again"
        ) from error


def read_manifest_rows(path: Path) -> list[Row]:
    require("pyarrow", "corpus")
    import pyarrow.parquet as parquet

    rows: list[Row] = parquet.read_table(path).to_pylist()
    return rows


def row_of(video: Video, settings: Settings, **said: Any) -> Row:
    """A manifest row, every column there."""
    row: Row = dict.fromkeys(COLUMNS)
    row |= {"path": video.path, "subtitles": video.subtitles, "encoder": settings.encoder, "status": "waiting"}
    return row | said


def _cell(value: Any) -> Any:
    """A file name that is no Unicode has to be shown somehow; Parquet takes Unicode only."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value


def counted(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    counts = dict.fromkeys(("indexed", "kept", "failed", "waiting"), 0)
    for row in rows:
        counts[row["status"]] += 1
    return counts
