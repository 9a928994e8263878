"""Saving exhibits: everything is written under a temporary name and then renamed, so that no partial result is seen."""

import contextlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from framesift._utils.files import atomic_folder, atomic_path
from framesift._utils.json import dump_json
from framesift._utils.text import readable
from framesift.errors import InputError
from framesift.progress import Progress, ignore_progress
from framesift.rendering.contact_sheet import Card, sheet
from framesift.rendering.export_formats import FORMATS, check_formats, file_name
from framesift.rendering.reasons import short_clock
from framesift.rendering.rendered_selection import RenderedSelection
from framesift.rendering.report.page import render_report
from framesift.rendering.report.view import view_of
from framesift.rendering.thumbnails import ReportImages, collect_images, jpeg

FRAME_QUALITY = 92
SHEET_QUALITY = 88
REPORT, SELECTION = "report.html", "selection.json"


def save(
    exhibit: RenderedSelection,
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    as_zip: bool = False,
    with_video: bool = False,
    formats: Sequence[str] = (),
    row: Mapping[str, Any],
    progress: Progress = ignore_progress,
) -> Path:
    """Write one exhibit; see `Exhibit.save`."""
    names = check_formats(formats)
    with new_directory(folder, force=force, as_zip=as_zip) as directory:
        (directory / "frames").mkdir()

        def write_frame(position: int, image: Image.Image) -> None:
            (directory / "frames" / file_name(exhibit, position)).write_bytes(jpeg(image, quality=FRAME_QUALITY))

        images = collect_images(exhibit, on_frame=write_frame, progress=progress)
        text = dump_json(exhibit.to_dict())
        (directory / SELECTION).write_text(text, encoding="utf-8")
        (directory / "sheet.jpg").write_bytes(jpeg(_contact_sheet(exhibit, images), quality=SHEET_QUALITY))
        view = view_of([exhibit], [images], json_text=text)
        (directory / REPORT).write_text(render_report(view), encoding="utf-8")
        for name in names:
            file, text_of = FORMATS[name]
            (directory / file).write_text(text_of(exhibit, row), encoding="utf-8")
        if with_video:
            _link(exhibit.video, directory / exhibit.video.name)
    return _target(folder, as_zip=as_zip)


def save_comparison(
    exhibits: Sequence[RenderedSelection],
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    as_zip: bool = False,
    with_video: bool = False,
    progress: Progress = ignore_progress,
) -> Path:
    """Write one report with a lane for each exhibit, and the selection of each as a JSON file."""
    count = sum(len(exhibit) for exhibit in exhibits)
    with new_directory(folder, force=force, as_zip=as_zip) as directory:
        images, selections = [], {}
        for k, exhibit in enumerate(exhibits):
            before = sum(len(earlier) for earlier in exhibits[:k])

            def report_overall(stage: str, done: float, _: float, before: int = before) -> None:
                progress(stage, min(before + done, count), count)

            images.append(collect_images(exhibit, count=count, progress=report_overall))
            selections[exhibit.selection.method] = exhibit.to_dict()
        for method, data in selections.items():
            (directory / f"selection-{method}.json").write_text(dump_json(data), encoding="utf-8")
        view = view_of(exhibits, images, json_text=dump_json(selections))
        (directory / REPORT).write_text(render_report(view), encoding="utf-8")
        if with_video:
            _link(exhibits[0].video, directory / exhibits[0].video.name)
    return _target(folder, as_zip=as_zip)


@contextlib.contextmanager
def new_directory(folder: str | os.PathLike[str], *, force: bool, as_zip: bool) -> Iterator[Path]:
    """A temporary directory that gets the requested name when the block succeeds and is removed when it fails."""
    target = _target(folder, as_zip=as_zip)
    check_free(folder, force=force, as_zip=as_zip)
    with contextlib.ExitStack() as cleanup:
        try:
            if not as_zip:
                directory = cleanup.enter_context(atomic_folder(target, replace=True))
            else:
                archive = cleanup.enter_context(atomic_path(target))
                unpacked = cleanup.enter_context(tempfile.TemporaryDirectory(prefix=".tmp-", dir=target.parent))
                directory = Path(unpacked, target.name.removesuffix(".zip"))
                directory.mkdir()
        except OSError as error:
            raise InputError(
                f"{target} can't be written ({error.strerror or error}); choose another directory"
            ) from None
        yield directory
        if as_zip:
            _zip(directory, archive)


def check_free(folder: str | os.PathLike[str], *, force: bool, as_zip: bool = False, marker: str = REPORT) -> None:
    """Reject a name that is in use. With force, a directory may be replaced if it contains the file `marker`."""
    target = _target(folder, as_zip=as_zip)
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        raise InputError(f"{target} already exists; choose another name, or replace it with --force (force=True)")
    if target.is_dir() and not as_zip and not (target / marker).is_file():
        raise InputError(f"{target} contains other things than an exhibit and is not replaced; choose another name")
    if target.is_dir() == as_zip:
        expected, actual = ("file", "directory") if as_zip else ("directory", "file")
        raise InputError(f"{target} is a {actual}; expected a {expected} to replace, choose another name")


def _target(folder: str | os.PathLike[str], *, as_zip: bool) -> Path:
    """The final path: the directory, or its name with .zip."""
    path = Path(folder).absolute()
    return path if not as_zip or path.suffix == ".zip" else path.with_name(f"{path.name}.zip")


def _zip(directory: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file in sorted(directory.rglob("*")):
            if file.is_file():
                zipped.write(file, readable(str(Path(directory.name) / file.relative_to(directory))))


def _link(source: Path, target: Path) -> None:
    """Hard-link the file where the file system allows it, else copy it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _contact_sheet(exhibit: RenderedSelection, images: ReportImages) -> Image.Image:
    question = exhibit.question
    cards = [
        Card(
            thumbnail,
            short_clock(frame.slot.time_s),
            frame.slot.role,
            frame.slot.relevance,
            frame.text,
            frame.is_damaged,
        )
        for thumbnail, frame in zip(images.thumbnails, exhibit.frames, strict=True)
    ]
    return sheet(cards, title=exhibit.video.name if question is None else question.text)
