"""The hits of a search as one self-contained HTML file, with a thumbnail of each."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePath

from framesift._utils.files import StrPath, output_error, write_text
from framesift._utils.templates import csp_hash, read_asset, render_template
from framesift._utils.text import printable
from framesift.errors import FramesiftError, InputError
from framesift.search.search import Hit, match_note
from framesift.selection.explainer import short_clock

THUMBNAIL_SIDE = 240  # pixels of the shorter side
JPEG_QUALITY = 80
TITLE_END = b"framesift search</title>"  # of the page's template
HEAD_BYTES = 1 << 16


def check_report_path(path: StrPath) -> None:
    """Reject a file that exists, unless it is a search report, which may be replaced."""
    try:
        with open(path, "rb") as file:
            is_report = TITLE_END in file.read(HEAD_BYTES)
    except FileNotFoundError:
        return
    except OSError as error:
        raise output_error(path, error) from error
    if not is_report:
        raise InputError(f"{os.fspath(path)} exists and is not a search report; choose another name")


def write_report(text: str, hits: Sequence[Hit], path: StrPath) -> Path:
    """Write the page atomically; of existing files, only a search report is replaced.

    A hit whose video file no longer exists is shown without a thumbnail.
    """
    check_report_path(path)
    style = read_asset("search/templates/search_report.css")
    page = render_template(
        "search/templates/search_report.html",
        policy=f"default-src 'none'; style-src {csp_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'",
        style=style,
        query=printable(text),
        hits=hits,
        show=printable,
        name=_name,
        folder=lambda hit: "" if "://" in hit.video else printable(str(PurePath(hit.video).parent)),
        clock=short_clock,
        thumbnail=_thumbnail,
        note=match_note(hits),
        warnings=list(dict.fromkeys((_name(hit), printable(text)) for hit in hits for text in hit.warnings)),
    )
    try:
        return write_text(path, page)
    except OSError as error:
        raise output_error(path, error) from error


def _name(hit: Hit) -> str:
    return printable(hit.video if "://" in hit.video else PurePath(hit.video).name)


def _thumbnail(hit: Hit) -> str:
    """The frame on screen at the hit's time as a data URL; empty if it can't be decoded."""
    from PIL import Image

    from framesift.rendering.thumbnails import data_url
    from framesift.video.frames import fetch

    try:
        ((_, frame),) = fetch(hit.video, [hit.time_s], short_side=THUMBNAIL_SIDE)
    except FramesiftError:
        return ""
    return data_url(Image.fromarray(frame), quality=JPEG_QUALITY)
