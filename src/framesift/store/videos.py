"""Several videos in a row: one that fails does not stop the others."""

import glob
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from framesift.encoders.base import identify
from framesift.errors import FramesiftError, InputError
from framesift.progress import Progress, ignore_progress
from framesift.store.indexing import index
from framesift.store.store import Store
from framesift.video.frames import Fps, Mode

VIDEO_ENDINGS: tuple[str, ...] = (
    *(".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf", ".ogv", ".ts"),
    *(".vob", ".webm", ".wmv"),
)


def find_videos(names: Sequence[str]) -> list[Path]:
    """Files as named, the videos below folders, and what patterns match; each once, in order."""
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.suffix.lower() in VIDEO_ENDINGS and p.is_file())
            if not inside:
                raise InputError(f"{name} holds no video; expected files ending in {', '.join(VIDEO_ENDINGS)}")
            found |= dict.fromkeys(inside)
        elif not path.exists() and glob.has_magic(name):
            matches = sorted(Path(match) for match in glob.glob(name, recursive=True))
            if not matches:
                raise InputError(f"no file matches {name}; check the pattern")
            found |= dict.fromkeys(match for match in matches if match.is_file())
        else:
            found[path] = None
    return list(found)


def index_videos(
    paths: Sequence[Path],
    *,
    encoder: str = "auto",
    fps: Fps = "auto",
    mode: Mode = "exact",
    store: str | os.PathLike[str] | None = None,
    device: str = "auto",
    progress: Progress = ignore_progress,
) -> Iterator[dict[str, Any]]:
    """Index each video and yield what came of it. Each video is a stage of its progress."""
    identify(encoder)  # an encoder that can't be used is one sentence, not one per video
    kept = Store(store)
    for path in paths:
        started = time.perf_counter()
        moved = False

        def watch(_stage: str, done: float, expected: float, path: Path = path) -> None:
            nonlocal moved
            moved = True
            progress(path.name, done, expected)

        row: dict[str, Any] = {"path": str(path), "error": None}
        try:
            made = index(path, encoder, fps, mode, progress=watch, store=kept, device=device)
            row |= {"candidates": len(made), "duration_s": made.info.duration_s, "encoder": made.encoder}
            row |= {"cached": not moved}
        except FramesiftError as error:
            row["error"] = str(error)
        yield row | {"seconds": round(time.perf_counter() - started, 3)}
