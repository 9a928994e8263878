"""Saving exhibits: everything is written under a temporary name and then renamed, so that no partial result is seen."""

import contextlib
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from framesift._utils.files import link_or_copy
from framesift._utils.json import dump_json
from framesift._utils.output_folder import (
    files_in,
    has_output,
    is_unused,
    output_folder,
    staging_folder,
)
from framesift._utils.text import readable
from framesift.errors import InputError
from framesift.progress import Progress, ignore_progress
from framesift.rendering.contact_sheet import Card, sheet
from framesift.rendering.export_formats import FORMATS, check_formats, file_name
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
    exhibit: RenderedSelection,
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    with_video: bool = False,
    formats: Sequence[str] = (),
    row: Mapping[str, Any],
    answers: Sequence[Answer] = (),
    progress: Progress = ignore_progress,
) -> Path:
    """Write one exhibit; see `Exhibit.save`."""
    names = check_formats(formats)
    with new_directory(folder, force=force) as directory:
        (directory / "frames").mkdir()

        def write_frame(position: int, image: Image.Image) -> None:
            (directory / "frames" / file_name(exhibit, position)).write_bytes(jpeg(image, quality=FRAME_QUALITY))

        images = collect_images(exhibit, on_frame=write_frame, progress=progress)
        text = dump_json(exhibit.to_dict())
        (directory / SELECTION).write_text(text, encoding="utf-8")
        (directory / SHEET).write_bytes(jpeg(_contact_sheet(exhibit, images), quality=SHEET_QUALITY))
        _write_answers(directory, answers)
        view = view_of([exhibit], [images], json_text=text) | {"answers": [answer_row(answer) for answer in answers]}
        (directory / REPORT).write_text(render_report(view), encoding="utf-8")
        for name in names:
            file, text_of = FORMATS[name]
            (directory / file).write_text(text_of(exhibit, row), encoding="utf-8")
        if with_video:
            _add_videos(exhibit, directory)
    return Path(folder).absolute()


def save_comparison(
    exhibits: Sequence[RenderedSelection],
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    with_video: bool = False,
    answers: Sequence[tuple[str, Answer]] = (),
    progress: Progress = ignore_progress,
) -> Path:
    """Write one report with a lane for each exhibit, and the frames and the selection of each.

    answers: of readers, each with the method whose frames it is about.
    """
    count = sum(len(exhibit) for exhibit in exhibits)
    with new_directory(folder, force=force) as directory:
        images, selections = [], {}
        for k, exhibit in enumerate(exhibits):
            before = sum(len(earlier) for earlier in exhibits[:k])

            def report_overall(stage: str, done: float, _: float, before: int = before) -> None:
                progress(stage, min(before + done, count), count)

            folder_of_lane = directory / "frames" / _lane_name(exhibit.selection.method, k + 1)
            folder_of_lane.mkdir(parents=True, exist_ok=True)

            def write_frame(
                position: int, image: Image.Image, own: RenderedSelection = exhibit, target: Path = folder_of_lane
            ) -> None:
                (target / file_name(own, position)).write_bytes(jpeg(image, quality=FRAME_QUALITY))

            images.append(collect_images(exhibit, on_frame=write_frame, count=count, progress=report_overall))
            selections[exhibit.selection.method] = exhibit.to_dict()
        for number, (method, data) in enumerate(selections.items(), 1):
            (directory / f"selection-{_lane_name(method, number)}.json").write_text(dump_json(data), encoding="utf-8")
        _write_answers(directory, [answer for _, answer in answers])
        view = view_of(exhibits, images, json_text=dump_json(selections))
        view |= {"answers": [answer_row(answer, method) for method, answer in answers]}
        (directory / REPORT).write_text(render_report(view), encoding="utf-8")
        if with_video:
            _add_videos(exhibits[0], directory)
    return Path(folder).absolute()


@contextlib.contextmanager
def new_directory(folder: str | os.PathLike[str], *, force: bool) -> Iterator[Path]:
    """A temporary directory whose files get under the requested name when the block succeeds, else it is removed."""
    check_free(folder, force=force)
    with output_folder(folder) as directory:
        yield directory


def check_free(folder: str | os.PathLike[str], *, force: bool, marker: str = REPORT) -> None:
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
        if not has_output(target, marker):
            raise InputError(f"{target} contains other things than an exhibit and is not replaced; choose another name")
    with staging_folder(target, target if is_folder else target.parent):
        pass


def zip_directory(directory: Path) -> Path:
    """Write a zip file with this directory and its files beside it."""
    archive = directory.with_name(f"{directory.name}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name in sorted(files_in(directory)):
            zipped.write(directory / name, readable(f"{directory.name}/{name}"))
    return archive


def _add_videos(exhibit: RenderedSelection, directory: Path) -> None:
    for video in exhibit.videos:
        link_or_copy(video.path.resolve(), directory / video.name)


def _lane_name(method: str, number: int) -> str:
    """A method as part of the names of its files. One restored from a file may be any text."""
    return method if _NAME.fullmatch(method) and method.strip(".") else str(number)


def _write_answers(directory: Path, answers: Sequence[Answer]) -> None:
    if answers:
        rows = [answer.to_dict() for answer in answers]
        (directory / ANSWERS).write_text(dump_json(rows), encoding="utf-8")


def answer_row(answer: Answer, method: str = "") -> dict[str, Any]:
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
            frame.slot.relevance,
            frame.text,
            frame.is_damaged,
        )
        for thumbnail, frame in zip(images.thumbnails, exhibit.frames, strict=True)
    ]
    return sheet(cards, title=", ".join(exhibit.names) if question is None else question.text)
