"""An exhibit on the disk: written under a temporary name, then renamed, so that nothing half-written is ever seen."""

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
from framesift._utils.text import clock, readable
from framesift.errors import InputError
from framesift.progress import Progress, ignore_progress
from framesift.rendering.contact_sheet import Card, sheet
from framesift.rendering.exhibit import Exhibit
from framesift.rendering.export_formats import FORMATS, checked_formats, file_name
from framesift.rendering.report.page import render_report
from framesift.rendering.report.view import view_of
from framesift.rendering.thumbnails import Album, gather, jpeg

FRAME_QUALITY = 92
REPORT, SELECTION = "report.html", "selection.json"


def save(
    exhibit: Exhibit,
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
    names = checked_formats(formats)
    with new_place(folder, force=force, as_zip=as_zip) as place:
        (place / "frames").mkdir()

        def write(k: int, picture: Image.Image) -> None:
            (place / "frames" / file_name(exhibit, k)).write_bytes(jpeg(picture, quality=FRAME_QUALITY))

        album = gather(exhibit, each=write, progress=progress)
        text = dump_json(exhibit.to_dict())
        (place / SELECTION).write_text(text, encoding="utf-8")
        (place / "sheet.jpg").write_bytes(jpeg(_contact_sheet(exhibit, album), quality=88))
        view = view_of([exhibit], [album], json_text=text)
        (place / REPORT).write_text(render_report(view), encoding="utf-8")
        for name in names:
            file, written = FORMATS[name]
            (place / file).write_text(written(exhibit, row), encoding="utf-8")
        if with_video:
            _link(exhibit.video, place / exhibit.video.name)
    return _target(folder, as_zip=as_zip)


def save_comparison(
    exhibits: Sequence[Exhibit],
    folder: str | os.PathLike[str],
    *,
    force: bool = False,
    as_zip: bool = False,
    with_video: bool = False,
    progress: Progress = ignore_progress,
) -> Path:
    """Write one report with the exhibits' timelines one above the other, and each one's selection beside it."""
    count = sum(len(exhibit) for exhibit in exhibits)
    with new_place(folder, force=force, as_zip=as_zip) as place:
        albums, told = [], {}
        for k, exhibit in enumerate(exhibits):
            before = sum(len(earlier) for earlier in exhibits[:k])

            def move(stage: str, done: float, _: float, before: int = before) -> None:
                progress(stage, min(before + done, count), count)

            albums.append(gather(exhibit, pictures=count, progress=move))
            told[exhibit.selection.method] = exhibit.to_dict()
        for method, data in told.items():
            (place / f"selection-{method}.json").write_text(dump_json(data), encoding="utf-8")
        view = view_of(exhibits, albums, json_text=dump_json(told))
        (place / REPORT).write_text(render_report(view), encoding="utf-8")
        if with_video:
            _link(exhibits[0].video, place / exhibits[0].video.name)
    return _target(folder, as_zip=as_zip)


@contextlib.contextmanager
def new_place(folder: str | os.PathLike[str], *, force: bool, as_zip: bool) -> Iterator[Path]:
    """A temporary folder that takes the name asked for once all is written in it, and vanishes if that fails."""
    target = _target(folder, as_zip=as_zip)
    check_free(folder, force=force, as_zip=as_zip)
    with contextlib.ExitStack() as cleanup:
        try:
            if not as_zip:
                place = cleanup.enter_context(atomic_folder(target, replace=True))
            else:
                archive = cleanup.enter_context(atomic_path(target))
                unpacked = cleanup.enter_context(tempfile.TemporaryDirectory(prefix=".tmp-", dir=target.parent))
                place = Path(unpacked, target.name.removesuffix(".zip"))
                place.mkdir()
        except OSError as error:
            raise InputError(f"{target} can't be written ({error.strerror or error}); name another folder") from None
        yield place
        if as_zip:
            _zip(place, archive)


def check_free(folder: str | os.PathLike[str], *, force: bool, as_zip: bool = False, mark: str = REPORT) -> None:
    """Refuse a name that is taken; with force, take it only from a folder of ours, known by the file `mark` in it."""
    target = _target(folder, as_zip=as_zip)
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    if not force:
        raise InputError(f"{target} is already there; choose another name, or replace it with --force (force=True)")
    if target.is_dir() and not as_zip and not (target / mark).is_file():
        raise InputError(f"{target} holds other things than an exhibit and is left alone; choose another name")
    if target.is_dir() == as_zip:
        raise InputError(f"{target} is not what would be written there; choose another name")


def _target(folder: str | os.PathLike[str], *, as_zip: bool) -> Path:
    """Where it will lie: the folder, or its name with .zip."""
    path = Path(folder).absolute()
    return path if not as_zip or path.suffix == ".zip" else path.with_name(f"{path.name}.zip")


def _zip(place: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file in sorted(place.rglob("*")):
            if file.is_file():
                zipped.write(file, readable(str(Path(place.name) / file.relative_to(place))))


def _link(source: Path, target: Path) -> None:
    """The same file under a second name where the disk allows it, else a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _contact_sheet(exhibit: Exhibit, album: Album) -> Image.Image:
    question = exhibit.question
    cards = [
        Card(thumb, clock(frame.slot.time_s), frame.slot.role, frame.slot.relevance, frame.text)
        for thumb, frame in zip(album.thumbs, exhibit.frames, strict=True)
    ]
    return sheet(cards, title=exhibit.video.name if question is None else question.text)
