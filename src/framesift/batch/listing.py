"""Lists of videos: a directory, a pattern, a file, or paths and URLs in a text, CSV, JSONL or Parquet file."""

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from framesift._utils.credentials import reject_login
from framesift._utils.json import load_json
from framesift._utils.optional import require
from framesift._utils.records import FilePath, listed, read_field, shown
from framesift.errors import InputError
from framesift.video.files import find_videos

LISTS = (".txt", ".list", ".csv", ".tsv", ".jsonl", ".parquet")
PATH_COLUMNS = ("path", "video", "video_path", "file", "url", "uri")
SUBTITLE_COLUMNS = ("subtitles", "subtitle", "subtitles_path", "subtitle_path", "srt")


@dataclass(frozen=True)
class VideoEntry:
    """A path or a URL, and its subtitle file where the list names one."""

    path: str
    subtitles: str = ""

    def __post_init__(self) -> None:
        for name in (self.path, self.subtitles):
            if is_url(name):
                reject_login(name)


def list_videos(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[VideoEntry]:
    """List the videos of one or more sources, each once, in order. Paths inside a list file are relative to it."""
    names = [source] if isinstance(source, str | os.PathLike) else list(source)
    entries: dict[str, VideoEntry] = {}
    for name in [os.fspath(name) for name in names]:
        if is_url(name):
            videos = [VideoEntry(name)]
        elif name.lower().endswith(LISTS) and not Path(name).is_dir():
            videos = _read_list(Path(name))
        else:
            videos = [VideoEntry(os.path.abspath(path)) for path in find_videos([name])]
        for video in videos:
            entries.setdefault(video.path, video)
    if not entries:
        raise InputError("no video was given; expected a list, a directory or a pattern")
    return list(entries.values())


def is_url(name: str) -> bool:
    """Whether the file has to be downloaded first; file:// URLs are local paths."""
    return "://" in name and not name.startswith("file://")


def resolve(name: str, folder: Path) -> str:
    """The absolute path of a list entry; a URL unchanged."""
    if name.startswith("file://"):
        name = unquote(urlsplit(name).path)
    return name if is_url(name) else os.path.abspath(folder / name)


def column_of(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The row's spelling of the first of these column names it has."""
    lowered = {key.strip().lower(): key for key in row if isinstance(key, str)}
    return next((lowered[name] for name in names if name in lowered), None)


def subtitles_of(row: Mapping[str, Any], folder: Path, location: str) -> str:
    """The absolute path or the URL of the subtitles that a row names; empty without any."""
    column = column_of(row, SUBTITLE_COLUMNS)
    name = read_field(row, column, FilePath, location, None) if column else None
    return "" if name is None else resolve(name.strip(), folder)


def _read_list(path: Path) -> list[VideoEntry]:
    try:
        rows = list(_read_rows(path))
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror or error}); expected a list of videos") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; expected a list of videos: save it as UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path} can't be read as a table ({error}); expected a list of videos") from None
    videos = []
    for number, row in enumerate(rows, 1):
        column = column_of(row, PATH_COLUMNS)
        if column is None:
            raise InputError(
                f"{path}, row {number} has the columns {listed(row)}; expected one of {', '.join(PATH_COLUMNS)}"
            )
        location = f"{path}, row {number}"
        name = read_field(row, column, FilePath, location, None)
        if name is None:
            raise InputError(f"{location} has no video; expected a path or a URL under {column}")
        videos.append(VideoEntry(resolve(name.strip(), path.parent), subtitles_of(row, path.parent, location)))
    if not videos:
        raise InputError(f"{path} lists no video; expected a path or a URL per row")
    return videos


def _read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    ending = path.suffix.lower()
    if ending == ".parquet":
        yield from _parquet_rows(path)
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        if ending in (".csv", ".tsv"):
            yield from csv.DictReader(file, dialect="excel-tab" if ending == ".tsv" else "excel")
            return
        for number, line in enumerate(file, 1):
            text = line.strip()
            if ending == ".jsonl" and text:
                yield _json_row(text, f"{path}, line {number}")
            elif text and not text.startswith("#"):
                yield {"path": text}


def _json_row(text: str, location: str) -> Mapping[str, Any]:
    value = load_json(text, location, "a path, or an object with one")
    if isinstance(value, str):
        return {"path": value}
    if not isinstance(value, dict):
        raise InputError(f"{location} is {shown(value)}; expected a path, or an object with one")
    return value


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    require("pyarrow", "corpus")
    import pyarrow.parquet as parquet
    from pyarrow.lib import ArrowException

    try:
        with parquet.ParquetFile(path) as table:
            used = [*PATH_COLUMNS, *SUBTITLE_COLUMNS]
            wanted = [name for name in table.schema_arrow.names if name.strip().lower() in used]
            if not wanted:
                columns = listed(table.schema_arrow.names)
                raise InputError(f"{path} has the columns {columns}; expected one of {', '.join(PATH_COLUMNS)}")
            for batch in table.iter_batches(columns=wanted):
                yield from batch.to_pylist()
    except ArrowException as error:
        raise InputError(f"{path} is not a Parquet file ({error}); expected a table of videos") from None
