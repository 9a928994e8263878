"""The command index: decode and encode videos once."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framesift._utils.text import counted, duration_text, printable
from framesift.cli.arguments import AddCommand
from framesift.cli.output import ProgressBar, error_code, print_json, print_video_warnings, print_warnings
from framesift.cli.settings import INDEX_SETTINGS, add_all_settings, add_settings, config_from
from framesift.errors import FramesiftError
from framesift.progress import WatchedProgress

if TYPE_CHECKING:
    from framesift.indexing.index import IndexSettings


def add_commands(add: AddCommand) -> None:
    example = "framesift index video.mp4 talks/"
    index = add("index", _index, "decode and encode videos once, so that every later command is quick", example)
    index.group("what to index").add("videos", "VIDEO", "video files, folders of them, or patterns", nargs="+")
    add_settings(index.group("how"), "encoder", "fps", "store", "quick")
    add_all_settings(index, INDEX_SETTINGS)
    index.finish("print a row per video as JSON")
    index.set_defaults(stored=True)


def _index(args: argparse.Namespace) -> int:
    from framesift.encoders.registry import choose_encoder, identify
    from framesift.video.files import find_videos

    paths = find_videos(args.videos)
    settings = config_from(args).index
    encoder = str(settings.encoder)
    identify(encoder)  # an encoder that can't be used is one sentence, not one per video
    rows, code = [], 0
    for path in paths:
        row, code = _index_one(args, path, settings)
        rows.append(row)
        if not args.json:
            _print_index_row(rows[-1], name_warnings=len(paths) > 1)
    failed = sum(1 for row in rows if row["error"])
    if encoder == "auto" and failed < len(rows) and not args.json:
        print(f"note: encoder {choose_encoder()[1]}", file=sys.stderr)
    if args.json:
        print_json(rows)
    elif len(rows) > 1:
        print(f"{len(rows) - failed} of {len(rows)} videos indexed" + (f", {failed} failed" if failed else ""))
    return code if len(rows) == 1 else min(failed, 1)


def _index_one(args: argparse.Namespace, path: Path, settings: "IndexSettings") -> tuple[dict[str, Any], int]:
    """Index a video; the row with the result or the error, which does not stop the others, and the exit code."""
    from framesift.indexing.index import build_index

    started, code = time.perf_counter(), 0
    row: dict[str, Any] = {"path": str(path), "error": None, "warnings": []}
    with ProgressBar(path.name, show=not args.json) as bar:
        progress = WatchedProgress(bar)
        try:
            index = build_index(path, settings, progress=progress)
            row |= {"candidates": len(index), "duration_s": index.info.duration_s, "encoder": index.encoder}
            row |= {"cached": not progress.was_called, "warnings": list(index.warnings)}
        except FramesiftError as error:
            row["error"], code = str(error), error_code(error)
    return row | {"seconds": round(time.perf_counter() - started, 3)}, code


def _print_index_row(row: dict[str, Any], *, name_warnings: bool) -> None:
    if row["error"]:
        print(f"framesift: {printable(row['error'])}", file=sys.stderr)
        return
    how = "already in the store" if row["cached"] else f"made in {row['seconds']:.1f} s"
    candidates = f"{counted(row['candidates'], 'candidate')} from {duration_text(row['duration_s'])} of video"
    print(f"{printable(row['path'])}: {candidates}, encoder {row['encoder']}, {how}")
    if name_warnings:
        print_video_warnings((row["path"], warning) for warning in row["warnings"])
    else:
        print_warnings(row["warnings"])
