"""The state of an indexing run on disk, complete at every moment.

    STORE/corpus/seen-<encoder and sampling>.jsonl   finished videos, by path, size, modification time and inode
    MANIFEST.parquet                                 a row per video, written when the run ends or is stopped
    MANIFEST.parquet.journal.jsonl                   the run's journal: start of each attempt, end of each video

Each line is appended in one write; a truncated line is skipped. The first file makes resuming fast. The journal counts
attempts that never ended, so a video that takes a whole machine down is not tried for ever.
"""

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from framesift._utils.credentials import public_url
from framesift._utils.files import atomic_path, output_error
from framesift._utils.json import load_json
from framesift._utils.optional import require
from framesift._utils.records import FilePath, read_field, read_record, shown
from framesift.batch.listing import VideoEntry, is_url
from framesift.batch.settings import IndexSpec
from framesift.errors import InputError
from framesift.store.store import is_current

FOLDER = "corpus"  # inside the store
# Column → its type in the Parquet file. seconds: of the last attempt.
COLUMNS = {
    "path": "string",
    "fingerprint": "string",
    "frames": "int64",
    "seconds": "float64",
    "bytes": "int64",
    "status": "string",  # indexed (by this or an earlier run of it), kept (was in the store before), failed, waiting
    "error": "string",
    "duration_s": "float64",
    "tries": "int64",
    "encoder": "string",
    "subtitles": "string",
    "warnings": "strings",  # what was lost, guessed or odd in the video and its subtitles
}
ManifestRow = dict[str, Any]
_TEXT: Any = str | FilePath
_KINDS: dict[str, Any] = {"string": _TEXT, "int64": int, "float64": float, "strings": list[_TEXT]}


class JsonLines:
    """A file of JSON lines that any number of processes may append to; unreadable lines are skipped."""

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
                    yield load_json(line, str(self.path), "one object per line")
                except InputError:
                    continue

    def append(self, value: Any) -> None:
        # The leading line break ends a line that a full disk or a kill truncated.
        line = ("\n" + json.dumps(value) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                if os.write(handle, line) != len(line):
                    raise OSError(errno.ENOSPC, "the disk is full")
            finally:
                os.close(handle)
        except OSError as error:
            remedy = "free some space and run the command again: finished work is saved"
            raise output_error(self.path, error, remedy) from error


class FinishedVideos:
    """Videos indexed by earlier runs, recognised without opening them."""

    def __init__(self, settings: IndexSpec) -> None:
        self._root = Path(settings.index.store or "")
        self._folder = settings.key("any").folder.name
        self._lines = JsonLines(self._root / FOLDER / f"seen-{self._folder}.jsonl")
        self._rows: dict[str, ManifestRow] = {}
        for line in self._lines:
            with suppress(InputError):
                row = _read_row(line, str(self._lines.path))
                self._rows[row["path"]] = row

    def find(self, video: VideoEntry) -> ManifestRow | None:
        """The row of this video, if the file is unchanged and its index exists."""
        row = self._rows.get(public_url(video.path))
        if row is None or row["subtitles"] != public_url(video.subtitles):
            return None
        if file_stamp(video.path) != row["stamp"]:
            return None
        folder = self._root / row["fingerprint"] / self._folder
        return row if is_current(folder) else None

    def add(self, row: ManifestRow) -> None:
        self._rows[row["path"]] = row
        self._lines.append(row)


def file_stamp(path: str) -> list[int] | None:
    """Size, modification time and inode: equal values mean an unchanged file.

    None for a URL, whose content is assumed to stay the same, and for a missing file.
    """
    if is_url(path) or not os.path.exists(path):
        return None
    status = os.stat(path)
    return [status.st_size, status.st_mtime_ns, status.st_ino]


class JournalEntry(NamedTuple):
    """The state of a video after earlier runs."""

    tries: int = 0  # attempts that never ended
    error: str = ""  # why it failed, if it did


@dataclass(frozen=True)
class _JournalLine:
    path: FilePath
    event: str = ""
    error: str | FilePath | None = None


def find_journal(manifest: Path) -> JsonLines:
    """The journal of a manifest. One that an earlier version wrote, as MANIFEST.jsonl, is continued.

    A file of these names that is not a journal is the user's and is never written to.
    """
    earlier = JsonLines(manifest.with_suffix(".jsonl"))
    if _is_journal(earlier):
        return earlier
    journal = JsonLines(manifest.with_name(f"{manifest.name}.journal.jsonl"))
    if os.path.exists(journal.path) and os.path.getsize(journal.path) and not _is_journal(journal):
        raise InputError(f"{journal.path} is not the journal of an earlier run; choose another name for the manifest")
    return journal


def _is_journal(lines: JsonLines) -> bool:
    """Whether a file has lines of a journal and, but for truncated ones, no others."""
    try:
        is_line = [isinstance(line, dict) and {"event", "path"} <= line.keys() for line in lines]
    except OSError:
        return False
    return bool(is_line) and all(is_line)


def read_journal(lines: JsonLines) -> dict[str, JournalEntry]:
    """The entry of each video in the journal, by its path or its URL without credentials."""
    entries: dict[str, JournalEntry] = {}
    for line in lines:
        try:
            row = read_record(_JournalLine, line, str(lines.path))
        except InputError:
            continue
        path = public_url(row.path)
        before = entries.get(path, JournalEntry())
        if row.event == "started":
            entries[path] = before._replace(tries=before.tries + 1)
        elif row.event in ("retried", "stopped"):
            # This attempt ended: only the death of the driver leaves one open.
            entries[path] = before._replace(tries=max(0, before.tries - 1))
        else:
            entries[path] = JournalEntry(0, row.error or "")
    return entries


def check_manifest_path(path: Path) -> None:
    """Reject a directory, and a file that is not a manifest of an earlier run, which is replaced."""
    require("pyarrow", "corpus")
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    if os.path.isdir(path):
        raise InputError(f"manifest is {path}, a directory; expected the Parquet file to write")
    if not os.path.exists(path):
        return
    try:
        names = parquet.read_schema(path).names
    except (OSError, arrow.ArrowException):
        names = []
    if not {"path", "fingerprint", "status"} <= set(names):
        raise InputError(f"{path} exists and is not the manifest of an earlier run; choose another name")


def write_manifest(path: Path, rows: Iterable[ManifestRow]) -> None:
    """Write the rows as a Parquet file, atomically."""
    require("pyarrow", "corpus")
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    table_rows = list(rows)
    text_list = arrow.list_(arrow.string())
    fields = {name: text_list if kind == "strings" else getattr(arrow, kind)() for name, kind in COLUMNS.items()}
    columns = {name: arrow.array([_cell(row.get(name)) for row in table_rows], type=t) for name, t in fields.items()}
    try:
        with atomic_path(path) as temporary:
            parquet.write_table(arrow.table(columns), temporary)
    except OSError as error:
        raise output_error(path, error, "free some space and run the command again") from error


def manifest_row(video: VideoEntry, settings: IndexSpec) -> ManifestRow:
    """The row of a video that waits to be indexed, with every column."""
    row: ManifestRow = dict.fromkeys(COLUMNS)
    return row | {
        "path": public_url(video.path),
        "subtitles": public_url(video.subtitles),
        "encoder": str(settings.index.encoder),
        "status": "waiting",
        "warnings": [],
    }


def count_by_status(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    counts = dict.fromkeys(("indexed", "kept", "failed", "waiting"), 0)
    for row in rows:
        counts[row["status"]] += 1
    return counts


def _read_row(value: Any, location: str) -> ManifestRow:
    """A row of the finished videos; InputError if it is none."""
    if not isinstance(value, dict):
        raise InputError(f"{location} has a line that is {shown(value)}; expected a row of a finished video")
    present = {name: kind for name, kind in COLUMNS.items() if name in value}
    row: ManifestRow = {name: read_field(value, name, _KINDS[kind], location, None) for name, kind in present.items()}
    for name in ("path", "fingerprint"):
        row[name] = read_field(value, name, FilePath, location)
    return row | {"subtitles": row.get("subtitles") or "", "stamp": value.get("stamp")}


def _cell(value: Any) -> Any:
    """Replace the bytes of file names that are not Unicode, which Parquet does not accept."""
    if isinstance(value, list):
        return [_cell(item) for item in value]
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(value, str) else value
