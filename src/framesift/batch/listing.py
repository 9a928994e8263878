"""Lists of videos: a directory, a pattern, a file, or paths and URLs in a text, CSV, JSONL or Parquet file."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from framesift._utils.credentials import reject_login
from framesift._utils.files import StrPath
from framesift._utils.records import FilePath, first_value, listed, read_field, shown
from framesift._utils.tables import parquet_rows, parse_rows, read_bytes
from framesift.errors import InputError
from framesift.video.files import find_videos

VideoSources = StrPath | Sequence[StrPath]
LISTS = (".txt", ".list", ".csv", ".tsv", ".jsonl", ".parquet")
LIST = "a list of videos"
PATH_COLUMNS = ("path", "video", "video_path", "file", "url", "uri")
SUBTITLE_COLUMNS = ("subtitles", "subtitle", "subtitles_path", "subtitle_path", "srt")


def names_of(source: VideoSources) -> list[str]:
    """The names of one or more sources."""
    return [os.fspath(name) for name in ([source] if isinstance(source, str | os.PathLike) else source)]


def list_videos(source: VideoSources) -> dict[str, str]:
    """The path or URL of each video of one or more sources, in order, and its subtitles where a list names them.

    Paths inside a list file are relative to it.
    """
    videos: dict[str, str] = {}
    for name in names_of(source):
        if is_url(name):
            found = {resolve(name, Path()): ""}
        elif name.lower().endswith(LISTS) and not Path(name).is_dir():
            found = _read_list(Path(name))
        else:
            found = {os.path.abspath(path): "" for path in find_videos([name])}
        for path, subtitles in found.items():
            videos.setdefault(path, subtitles)
    if not videos:
        raise InputError("no video was given; expected a list, a directory or a pattern")
    return videos


def is_url(name: str) -> bool:
    """Whether the file has to be downloaded first; file:// URLs are local paths."""
    return "://" in name and not name.startswith("file://")


def resolve(name: str, folder: Path) -> str:
    """The absolute path of a list entry; a URL unchanged."""
    if name.startswith("file://"):
        name = unquote(urlsplit(name).path)
    if not is_url(name):
        return os.path.abspath(folder / name)
    reject_login(name)
    return name


def read_path(row: Mapping[str, Any], columns: Sequence[str], location: str) -> str:
    """The path or URL in the first of these columns that a row has, as written; empty without any."""
    name, value = columns[0], first_value(row, columns)
    return str(read_field({name: value}, name, FilePath, location, "")).strip()


def _read_list(path: Path) -> dict[str, str]:
    if path.suffix.lower() == ".parquet":
        columns = (*PATH_COLUMNS, *SUBTITLE_COLUMNS)
        rows = [(f"row {k}", row) for k, row in enumerate(parquet_rows(path, "corpus", columns), 1)]
    else:
        rows = parse_rows(read_bytes(path, LIST), path, LIST)
    videos: dict[str, str] = {}
    for place, value in rows:
        row, location = {"path": value} if isinstance(value, str) else value, f"{path}, {place}"
        if not isinstance(row, Mapping):
            raise InputError(f"{location} is {shown(row)}; expected a path, or an object with one")
        name, subtitles = read_path(row, PATH_COLUMNS, location), read_path(row, SUBTITLE_COLUMNS, location)
        if not name:
            raise InputError(
                f"{location} has no video, only {listed(row)}; expected a path or a URL under {', '.join(PATH_COLUMNS)}"
            )
        videos.setdefault(resolve(name, path.parent), resolve(subtitles, path.parent) if subtitles else "")
    if not videos:
        raise InputError(f"{path} lists no video; expected a path or a URL per row")
    return videos
