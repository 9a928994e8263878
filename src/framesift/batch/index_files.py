"""Indexing several videos one after another in this process; a failure does not stop the others."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from framesift.encoders.base import identify
from framesift.errors import FramesiftError
from framesift.progress import Progress, ignore_progress
from framesift.store.indexing import index
from framesift.store.store import Store
from framesift.video.frames import Fps, Mode


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
    """Index each video and yield a row of results. Each video is a stage of the progress, under its file name."""
    identify(encoder)  # an unusable encoder is reported once, not per video
    opened = Store(store)
    for path in paths:
        started = time.perf_counter()
        was_built = False

        def on_progress(_stage: str, done: float, expected: float, path: Path = path) -> None:
            nonlocal was_built
            was_built = True
            progress(path.name, done, expected)

        row: dict[str, Any] = {"path": str(path), "error": None}
        try:
            video_index = index(path, encoder, fps, mode, progress=on_progress, store=opened, device=device)
            row |= {
                "candidates": len(video_index),
                "duration_s": video_index.info.duration_s,
                "encoder": video_index.encoder,
            }
            row |= {"cached": not was_built}
        except FramesiftError as error:
            row["error"] = str(error)
        yield row | {"seconds": round(time.perf_counter() - started, 3)}
