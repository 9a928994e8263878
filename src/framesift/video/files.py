"""Listing video files."""

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from framesift.errors import InputError

VIDEO_SUFFIXES: tuple[str, ...] = (
    *(".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf", ".ogv", ".ts"),
    *(".vob", ".webm", ".wmv"),
)

# Also with one slash, as in a Path.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def check_path(name: str) -> None:
    """Reject an empty path, which would be the current directory, and a URL."""
    if not name:
        raise InputError("a path is empty; expected a video file")
    scheme = _SCHEME.match(name)
    if scheme and not os.path.exists(name):
        url = f"{scheme[0]}/{name[scheme.end() :].lstrip('/')}"
        raise InputError(
            f"{url!r} is a URL; expected a file: download it first (curl -O, yt-dlp), or use framesift mcp or "
            "framesift corpus index, which take URLs"
        )


def find_videos(names: Sequence[str]) -> list[Path]:
    """List the named files, the videos below named folders and the matches of patterns, without duplicates."""
    paths: dict[Path, None] = {}
    for name in names:
        check_path(name)
        path = Path(name)
        if path.is_dir():
            videos = sorted(p for p in path.rglob("*") if p.suffix.lower() in VIDEO_SUFFIXES and p.is_file())
            if not videos:
                raise InputError(f"{name} contains no video; expected files ending in {', '.join(VIDEO_SUFFIXES)}")
            paths |= dict.fromkeys(videos)
        elif not path.exists() and glob.has_magic(name):
            matches = sorted(Path(match) for match in glob.glob(name, recursive=True))
            if not matches:
                raise InputError(f"no file matches {name}; check the pattern")
            paths |= dict.fromkeys(match for match in matches if match.is_file())
        else:
            paths[path] = None
    return list(paths)
