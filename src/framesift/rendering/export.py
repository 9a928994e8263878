"""Saving exhibits: everything is written under a temporary name and then renamed, so that no partial result is seen."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from framesift._utils.files import StrPath, link_or_copy
from framesift._utils.json import dump_json
from framesift._utils.output_folder import (
    is_unused,
    listed_files,
    output_folder,
    staging_folder,
)
from framesift.errors import InputError
from framesift.progress import Progress, ignore_progress
from framesift.rendering.contact_sheet import Card, sheet
from framesift.rendering.export_formats import FORMATS, check_formats, file_name
from framesift.rendering.formats.base import Export
from framesift.rendering.rendered_selection import RenderedSelection
from framesift.rendering.report.page import render_report
from framesift.rendering.report.view import view_of
from framesift.rendering.thumbnails import ReportImages, collect_images, jpeg
from framesift.selection.explainer import short_clock
from framesift.types import Answer

FRAME_QUALITY = 92
SHEET_QUALITY = 88
REPORT, SELECTION, SHEET, ANSWER = "report.html", "selection.json", "sheet.jpg", "answer.json"
ANSWERS = "answers.json"
_NAME = re.compile(r"[\w.+-]{1,100}", re.ASCII)  # of a method, as part of a file name


def save(
    exhibits: Sequence[RenderedSelection],
    folder: StrPath,
    *,
    force: bool = False,
    with_video: bool = False,
    formats: Sequence[str] = (),
    row: Mapping[str, Any] | None = None,
    answers: Sequence[tuple[str, Answer]] = (),
    progress: Progress = ignore_progress,
) -> Path:
    """Write one report with a lane for each exhibit, and the frames and the selection of each; see `Exhibit.save`.

    answers: of readers, each with the method whose frames it is about. The contact sheet and `formats` are written for
    a single exhibit only.
    """
    names = check_formats(formats)
    check_free(folder, force=force)
    count, done = sum(len(exhibit) for exhibit in exhibits), 0
    with output_folder(folder) as directory:
        images, selections = [], {}
        for number, exhibit in enumerate(exhibits, 1):
            method = exhibit.method
            # A method that comes from a file may be any text.
            is_name = _NAME.fullmatch(method) and method.strip(".")
            name = "" if len(exhibits) == 1 else method if is_name else str(number)

            def report(stage: str, written: float, _: float, /, before: int = done) -> None:
                progress(stage, min(before + written, count), count)

            images.append(_write_frames(exhibit, directory / "frames" / name, count, report))
            done += len(exhibit)
            selections[method] = exhibit.to_dict()
            file, text = f"selection-{name}.json" if name else SELECTION, dump_json(selections[method])
            (directory / file).write_text(text, encoding="utf-8")
        only = exhibits[0] if len(exhibits) == 1 else None
        if only is not None:
            (directory / SHEET).write_bytes(jpeg(_contact_sheet(only, images[0]), quality=SHEET_QUALITY))
            for name in names:
                FORMATS[name](Export(only, directory, row or {}, progress))
        if answers:
            rows = [answer.to_dict() for _, answer in answers]
            (directory / ANSWERS).write_text(dump_json(rows), encoding="utf-8")
        view = view_of(exhibits, images, json_text=text if only else dump_json(selections))
        view |= {"answers": [_answer_row(answer, "" if only else method) for method, answer in answers]}
        (directory / REPORT).write_text(render_report(view), encoding="utf-8")
        for video in (one for one in exhibits[0].videos if with_video and one.frames is None):
            link_or_copy(video.path.resolve(), directory / video.name)
    return Path(folder).absolute()


def _write_frames(exhibit: RenderedSelection, folder: Path, count: int, progress: Progress) -> ReportImages:
    """Write the frames of one of the exhibits of a report with `count` frames in all."""
    folder.mkdir(parents=True)

    def write(position: int, image: Image.Image) -> None:
        (folder / file_name(exhibit, position)).write_bytes(jpeg(image, quality=FRAME_QUALITY))

    return collect_images(exhibit, on_frame=write, count=count, progress=progress)


def check_free(folder: StrPath, *, force: bool, marker: str = REPORT) -> None:
    """Reject a name that is in use, and a folder that can't be written.

    With force, an exhibit may be replaced: a directory that lists the file `marker`.
    """
    target = Path(folder).absolute()
    is_folder = os.path.isdir(target)  # False for a name that no file can have; writing then says so
    if os.path.exists(target) and not (is_folder and is_unused(target)):
        if not force:
            raise InputError(f"{target} already exists; choose another name, or replace it with --force (force=True)")
        if not is_folder:
            raise InputError(f"{target} is a file; expected a directory to replace, choose another name")
        if marker not in listed_files(target):
            raise InputError(f"{target} contains other things than an exhibit and is not replaced; choose another name")
    with staging_folder(target, target if is_folder else target.parent):
        pass


def zip_directory(directory: Path) -> Path:
    """Write a zip file with this directory and its files beside it."""
    return Path(shutil.make_archive(os.fspath(directory), "zip", directory.parent, directory.name))


def _answer_row(answer: Answer, method: str) -> dict[str, Any]:
    """A reader's answer as the report shows it. method: whose frames it is about, in a comparison."""
    letter = f"{answer.letter}: " if answer.letter else ""
    text = f"{letter}{answer.text}" if answer.parsed else answer.raw or answer.text
    is_markdown = answer.parsed and not letter
    return {"reader": answer.reader, "method": method, "text": text, "is_markdown": is_markdown, "note": answer.note}


def _contact_sheet(exhibit: RenderedSelection, images: ReportImages) -> Image.Image:
    question = exhibit.question
    cards = [
        Card(
            thumbnail,
            exhibit.label(frame.slot.time_s, short_clock),
            frame.slot.role,
            frame.text,
            frame.is_damaged,
        )
        for thumbnail, frame in zip(images.thumbnails, exhibit.frames, strict=True)
    ]
    return sheet(cards, title=", ".join(exhibit.names) if question is None else question.text)
