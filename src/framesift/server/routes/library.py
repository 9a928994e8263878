"""The library: its videos, adding and removing them, their files and their pictures."""

import asyncio
import mimetypes
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Annotated

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi import Path as InPath
from fastapi.responses import FileResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from framesift._utils.text import readable
from framesift.errors import FramesiftError, InputError
from framesift.server.app import House, problems
from framesift.server.catalog import Facts, plain
from framesift.server.files import Film
from framesift.server.frame_images import Busy
from framesift.server.models import AddByPath, JobRecord, Library, Video, WordsFound
from framesift.server.routes import InHouse, OnShelf, told
from framesift.text.subtitles import read_events
from framesift.text.subtitles.formats import ENDINGS
from framesift.video.frames import probe

MOST_UPLOADS = 3  # at a time
SILENT_S = 60
ROOM_BYTES = 64 * 2**20
JPEG: dict[int | str, dict[str, object]] = {200: {"content": {"image/jpeg": {}}, "description": "A small picture"}}
VIDEO: dict[str, dict[str, object]] = {"video/*": {}, "application/octet-stream": {}}
FILE: dict[int | str, dict[str, object]] = {
    200: {"content": VIDEO, "description": "The video file"},
    206: {"content": VIDEO, "description": "The range asked for"},
}
BYTES = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

FileName = Annotated[str, Query(min_length=1, max_length=500)]
Version = Annotated[str, Query(max_length=64, description="The video's version; its picture may then be kept.")]

router = APIRouter(tags=["library"])


def describe(house: House, film: Film) -> Video:
    facts = house.catalog.facts(film)
    job = house.queue.of(film.id)
    indexed = house.catalog.is_indexed(film)
    words = house.catalog.words(film)
    return Video(
        id=film.id,
        version="" if facts is None else facts.version,
        name=film.name,
        uploaded=film.uploaded,
        known=facts is not None,
        problem="" if facts is None else facts.problem,
        duration_s=0 if facts is None else facts.duration_s,
        width=0 if facts is None else facts.width,
        height=0 if facts is None else facts.height,
        fps=0 if facts is None else facts.fps,
        codec="" if facts is None else facts.codec,
        has_audio=facts is not None and facts.has_audio,
        indexed=indexed,
        ready=indexed and words is not None,
        words=None if words is None else WordsFound.model_validate(asdict(words)),
        beside=[path.name for path in house.catalog.beside(film)] if film.uploaded else [],
        job=None if job is None else JobRecord.model_validate(asdict(job)),
    )


@router.get("/videos")
def list_videos(house: InHouse) -> Library:
    """The videos of the folder and the uploads."""
    folder = "" if house.settings.folder is None else house.settings.folder.name
    videos = []
    for film in house.shelf.films():
        try:
            videos.append(describe(house, film))
        except OSError:  # gone between listing and looking
            continue
    return Library(videos=videos, folder=readable(folder), upload_bytes=house.settings.upload_bytes)


@router.post("/videos", responses=problems(503))
def add_video(house: InHouse, asked: AddByPath) -> Video:
    """Add a video by its path inside the server's folder, and queue it."""
    film = house.shelf.inside(asked.path)
    facts = house.catalog.facts(film, wait=True)
    if facts is not None and facts.problem:
        raise InputError(facts.problem)
    house.shelf.add(film)
    house.queue.add(film.id, film.name, uploaded=film.uploaded)
    return describe(house, film)


@router.get("/videos/{video}", responses=problems(404))
def get_video(house: InHouse, film: OnShelf) -> Video:
    """One video."""
    house.catalog.facts(film, wait=True)
    return describe(house, film)


@router.delete("/videos/{video}", responses=problems(404), status_code=204)
def remove_video(house: InHouse, film: OnShelf) -> None:
    """Delete an uploaded video and its subtitles. Files in the folder are never touched."""
    house.shelf.remove(film)
    house.queue.forget(film.id)
    house.changes()


@router.post("/uploads", responses=problems(408, 413, 503), openapi_extra=BYTES)
async def upload_video(request: Request, house: InHouse, name: FileName) -> Video:
    """Upload a video: the file's bytes are the body. It is checked to be a video, then queued."""
    with _uploading(house) as partial:
        length = request.headers.get("content-length", "0")
        await run_in_threadpool(house.shelf.room, int(length) if length.isdigit() else 0)
        await _receive(request, house, partial)
        film = await run_in_threadpool(_accept, house, partial, name)
    return await run_in_threadpool(describe, house, film)


@router.post("/videos/{video}/subtitles", responses=problems(404, 408, 413, 503), openapi_extra=BYTES)
async def add_subtitles(request: Request, house: InHouse, film: OnShelf, name: FileName) -> Video:
    """Give an uploaded video subtitles: the file's bytes are the body. Its words are then looked for again."""
    if not film.uploaded:
        raise InputError(
            f"{film.name!r} lies in the folder this server was started with; put its "
            "subtitles beside it, under the same name"
        )
    ending = PurePosixPath(name).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{name[:200]!r} is no subtitle file; expected one that ends in {', '.join(ENDINGS)}")
    with _uploading(house, ending) as partial:
        await _receive(request, house, partial)
        await run_in_threadpool(_accept_subtitles, house, film, partial, name)
    return await run_in_threadpool(describe, house, film)


def _accept_subtitles(house: House, film: Film, partial: Path, name: str) -> None:
    """Read what came; a file without a line that lies inside the video leaves nothing behind."""
    facts = house.catalog.facts(film, wait=True)
    if facts is None or facts.problem:
        raise HTTPException(404, "There is no such video in the library")
    try:
        read_events(partial, language=house.settings.language, duration_s=facts.duration_s)
    except InputError as error:
        raise InputError(str(error).replace(str(partial), repr(name[:200]))) from None
    house.shelf.keep_subtitles(film, partial, name)
    house.queue.add(film.id, film.name, uploaded=film.uploaded)


@contextmanager
def _uploading(house: House, ending: str = "") -> Iterator[Path]:
    """Where an upload goes until it is known to be what it should be; nothing of it stays there."""
    if house.uploading >= MOST_UPLOADS:
        raise Busy(f"{MOST_UPLOADS} uploads are under way; try again when one is done")
    house.uploading += 1
    partial = house.shelf.partial(secrets.token_hex(8) + ending)
    try:
        yield partial
    finally:
        house.uploading -= 1
        partial.unlink(missing_ok=True)


async def _receive(request: Request, house: House, partial: Path) -> None:
    """Write a body to the disk as it comes. Who sends nothing for a while gives up the place."""
    chunks, held = request.stream().__aiter__(), 0
    try:
        with partial.open("wb") as file:
            while chunk := await asyncio.wait_for(anext(chunks, b""), SILENT_S):
                if held // ROOM_BYTES != (held + len(chunk)) // ROOM_BYTES:  # how much will come is not always told
                    await run_in_threadpool(house.shelf.room, ROOM_BYTES)
                held += len(chunk)
                await run_in_threadpool(file.write, chunk)
    except TimeoutError:
        raise HTTPException(408, f"The upload stood still for {SILENT_S} seconds; send it again") from None
    except asyncio.CancelledError:
        raise Busy("the server is closing; send it again when it runs") from None
    except ClientDisconnect:
        raise HTTPException(400, "The upload broke off") from None  # nobody hears it
    except OSError as error:
        raise InputError(
            f"the upload can't be kept ({error.strerror or error}); free some space and try again"
        ) from None


def _accept(house: House, partial: Path, name: str) -> Film:
    """Probe what came; a file that is no video leaves nothing behind."""
    try:
        probe(partial)
    except FramesiftError as error:
        raise InputError(str(error).replace(repr(str(partial)), repr(name[:200])).replace(str(partial), name)) from None
    film = house.shelf.keep(partial, name)
    house.catalog.facts(film, wait=True)
    house.queue.add(film.id, film.name, uploaded=film.uploaded)
    return film


@router.head("/videos/{video}/file", include_in_schema=False)
@router.get("/videos/{video}/file", responses=problems(404, 416) | FILE, response_class=FileResponse)
def get_file(request: Request, film: OnShelf) -> FileResponse:
    """The video itself; a range is served, so that a player can seek."""
    try:
        status = film.path.stat()
    except OSError:
        raise HTTPException(404, "There is no such video in the library") from None
    _check_range(request, status.st_size)
    guessed = mimetypes.guess_type(film.path.name)[0] or ""
    # Whatever its name says, no file is handed out as a page.
    kind = guessed if guessed.startswith("video/") else "application/octet-stream"
    return FileResponse(film.path, media_type=kind, stat_result=status, headers={"content-disposition": "inline"})


def _check_range(request: Request, size: int) -> None:
    """Refuse a range past the end in a sentence, and ignore, as HTTP has it, what is no single range."""
    asked = request.headers.get("range", "").strip()
    if request.method == "HEAD":
        asked = ""  # ranges are for GET
    found = re.fullmatch(r"bytes=(?:(\d{1,18})-(\d{0,18})|-(\d{1,18}))", asked, re.IGNORECASE)
    if found is None or (found[1] and found[2] and int(found[2]) < int(found[1])):
        request.scope["headers"] = [row for row in request.scope["headers"] if row[0].lower() != b"range"]
    elif int(found[1] or 0) >= size or found[3] == "0":
        raise HTTPException(416, f"The video ends at byte {size}", headers={"content-range": f"bytes */{size}"})


@router.get("/videos/{video}/thumbnail.jpg", responses=problems(404) | JPEG, response_class=Response)
def get_thumbnail(house: InHouse, film: OnShelf, v: Version = "") -> Response:
    """A picture of the video for lists."""
    facts = _version(house, film, v)
    try:
        data = house.pictures.thumbnail(film, facts.fingerprint, facts.duration_s)
    except InputError as error:
        raise HTTPException(404, plain(error, film)) from None
    return Response(data, media_type="image/jpeg", headers=_kept(v))


@router.get("/videos/{video}/frames/{time_s}.jpg", responses=problems(404, 503) | JPEG, response_class=Response)
async def get_frame(
    house: InHouse,
    film: OnShelf,
    time_s: Annotated[float, InPath(ge=0, lt=1e7, description="A frame's own time.")],
    v: Version = "",
) -> Response:
    """The frame at one of a selection's times, as a small picture. Many asked for together cost one pass."""
    facts = await run_in_threadpool(_version, house, film, v)
    future = house.pictures.ask(film, facts.fingerprint, time_s)
    try:
        data = await told(future)
    except InputError as error:
        raise HTTPException(404, plain(error, film)) from None
    return Response(data, media_type="image/jpeg", headers=_kept(v))


@router.get("/videos/{video}/near/{time_s}.jpg", responses=problems(404, 409, 503) | JPEG, response_class=Response)
async def get_near(
    house: InHouse,
    film: OnShelf,
    time_s: Annotated[float, InPath(ge=0, lt=1e7, description="Any time of the video.")],
    v: Version = "",
) -> Response:
    """The frame nearest to a time, of those that were indexed, as a small picture."""
    await run_in_threadpool(_version, house, film, v)
    index = await run_in_threadpool(house.catalog.index, film)
    nearest = float(index.times_s[np.abs(index.times_s - time_s).argmin()])
    return await get_frame(house, film, nearest, v)


def _version(house: House, film: Film, version: str) -> Facts:
    """The facts of a video that has pictures, and of this version."""
    facts = house.catalog.facts(film, wait=True)
    if facts is None or facts.problem:
        raise HTTPException(404, "This video has no picture")
    if version and version != facts.version:
        raise HTTPException(404, "This file has been replaced; ask again")
    return facts


def _kept(version: str) -> dict[str, str]:
    """A picture may be kept for good under the address of its file's version, and under no other."""
    return {"cache-control": "private, max-age=86400, immutable"} if version else {}
