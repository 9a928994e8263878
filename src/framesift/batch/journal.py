"""The state of indexing runs on disk, complete at every moment.

    STORE/corpus/journal-<encoder and sampling>.jsonl    start of each attempt, end of each video
    MANIFEST.parquet                                     a row per video, written when a run ends or is stopped

All runs with the same store, encoder and sampling append to one journal, each line in one write; a truncated line is
skipped. It makes resuming fast: a finished video is recognised by path, size, modification time and inode. It counts
attempts that never ended, so a video that takes a whole machine down is not tried for ever.
"""

import errno
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from framesift._utils.credentials import public_url
from framesift._utils.files import atomic_path, output_error
from framesift._utils.json import load_json
from framesift._utils.records import FilePath, read_field, read_record
from framesift._utils.text import readable
from framesift.batch.listing import is_url
from framesift.errors import InputError
from framesift.indexing.index import IndexSettings
from framesift.store.store import current_manifest

FOLDER = "corpus"  # inside the store
# Column → what it holds; paths and messages may have the bytes of a file name. seconds: of the last attempt.
COLUMNS: dict[str, Any] = {
    "path": FilePath,
    "fingerprint": FilePath,
    "frames": int,
    "seconds": float,
    "bytes": int,
    "status": FilePath,  # indexed (by this or an earlier run of it), kept (was in the store before), failed, waiting
    "error": FilePath,
    "duration_s": float,
    "tries": int,
    "encoder": FilePath,
    "subtitles": FilePath,
    "warnings": list[FilePath],  # what was lost, guessed or odd in the video and its subtitles
}
_ARROW_TYPES = {FilePath: "string", int: "int64", float: "float64"}
STATUSES = ("indexed", "kept", "failed", "waiting")
ManifestRow = dict[str, Any]


@dataclass(frozen=True)
class JournalLine:
    """event: started, retried, stopped, failed or done. stamp: of the file that was indexed."""

    path: FilePath
    event: str
    row: dict[str, Any] = field(default_factory=dict)
    stamp: tuple[int, ...] | None = None


@dataclass
class VideoState:
    """What earlier runs left of a video. tries: attempts that never ended; error: why it failed."""

    tries: int = 0
    error: str = ""
    row: ManifestRow = field(default_factory=dict)
    stamp: tuple[int, ...] | None = None


class Journal:
    """The journal of a store for one encoder and sampling."""

    def __init__(self, settings: IndexSettings) -> None:
        self._store = Path(settings.store or "")
        self._folder = settings.key("any").folder.name
        self.path = self._store / FOLDER / f"journal-{self._folder}.jsonl"
        self.videos = read_journal(self.path)

    def find(self, path: str, subtitles: str) -> ManifestRow | None:
        """The row of a finished video, if its file is unchanged and its index exists."""
        state = self.videos.get(public_url(path))
        if state is None or not state.row or (state.row["subtitles"] or "") != public_url(subtitles):
            return None
        if file_stamp(path) != state.stamp:
            return None
        folder = self._store / state.row["fingerprint"] / self._folder
        return state.row if current_manifest(folder) is not None else None

    def append(self, event: str, path: str, **fields: Any) -> None:
        # The leading line break ends a line that a full disk or a kill truncated.
        line = ("\n" + json.dumps({"event": event, "path": public_url(path), **fields}) + "\n").encode()
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


def read_journal(path: Path) -> dict[str, VideoState]:
    """The state of each video, by its path or its URL without credentials; unreadable lines are skipped."""
    videos: dict[str, VideoState] = {}
    for text in path.read_bytes().split(b"\n") if path.is_file() else ():
        with suppress(InputError):
            line = read_record(JournalLine, load_json(text, str(path), "one object per line"), str(path))
            row = {name: read_field(line.row, name, kind, str(path), None) for name, kind in COLUMNS.items()}
            state = videos.setdefault(line.path, VideoState())
            if line.event == "started":
                state.tries += 1
            elif line.event in ("retried", "stopped"):
                # This attempt ended: only the death of the driver leaves one open.
                state.tries = max(0, state.tries - 1)
            elif line.event == "failed":
                state.tries, state.error = 0, row["error"] or ""
            elif line.event == "done" and row["fingerprint"]:
                videos[line.path] = VideoState(0, "", row, line.stamp)
    return videos


def file_stamp(path: str) -> tuple[int, ...] | None:
    """Size, modification time and inode: equal values mean an unchanged file.

    None for a URL, whose content is assumed to stay the same, and for a missing file.
    """
    if is_url(path) or not os.path.exists(path):
        return None
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino


def check_manifest_path(path: Path) -> None:
    """Reject a directory, and a file that is not a manifest of an earlier run, which is replaced."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    if path.is_dir():
        raise InputError(f"manifest is {path}, a directory; expected the Parquet file to write")
    if not path.exists():
        return
    try:
        names = parquet.read_schema(path).names
    except (OSError, arrow.ArrowException):
        names = []
    if not {"path", "fingerprint", "status"} <= set(names):
        raise InputError(f"{path} exists and is not the manifest of an earlier run; choose another name")


def write_manifest(path: Path, rows: Iterable[ManifestRow]) -> None:
    """Write the rows as a Parquet file, atomically."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    texts = arrow.list_(arrow.string())
    schema = arrow.schema([(name, _ARROW_TYPES.get(kind, texts)) for name, kind in COLUMNS.items()])
    cells = [{name: _unicode(value) for name, value in row.items()} for row in rows]
    try:
        with atomic_path(path) as temporary:
            parquet.write_table(arrow.Table.from_pylist(cells, schema=schema), temporary)
    except OSError as error:
        raise output_error(path, error, "free some space and run the command again") from error


def _unicode(value: Any) -> Any:
    """Replace the bytes of file names that are not Unicode, which Parquet does not accept."""
    if isinstance(value, list):
        return [readable(text) for text in value]
    return readable(value) if isinstance(value, str) else value
