"""The library: its videos, uploads and removals, their files and images."""

import asyncio
import mimetypes
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi import Path as PathParam
from fastapi.responses import FileResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from framesift._utils.text import readable
from framesift.demo.story import EXAMPLES
from framesift.demo.video import SHOWN_NAME
from framesift.errors import FramesiftError, InputError
from framesift.library.catalog import PreparedSummary, VideoFacts
from framesift.library.files import LibraryVideo, check_disk_space, public_message
from framesift.pipeline.chapters import find_chapters
from framesift.server.answering import frame_url
from framesift.server.frame_images import ServerBusy
from framesift.server.models import ChapterRecord, LibraryRecord, VideoRecord, error_responses
from framesift.server.routes import BINARY_BODY, NO_SUCH_VIDEO, ServicesDep, VideoDep, describe_job, wait_for
from framesift.server.services import Services
from framesift.text.subtitles import read_events
from framesift.text.subtitles.reading import ENDINGS
from framesift.video.frames import probe

MAX_UPLOADS = 3  # at a time
JPEG: dict[int | str, dict[str, object]] = {200: {"content": {"image/jpeg": {}}, "description": "A small JPEG"}}
VIDEO: dict[str, dict[str, object]] = {"video/*": {}, "application/octet-stream": {}}
FILE: dict[int | str, dict[str, object]] = {
    200: {"content": VIDEO, "description": "The video file"},
    206: {"content": VIDEO, "description": "The requested range"},
}

FileName = Annotated[str, Query(min_length=1, max_length=500)]
FrameTime = Annotated[float, PathParam(ge=0, lt=1e7)]
ImageSize = Annotated[Literal["small", "full"], Query(description="full: as large as the video.")]
Version = Annotated[str, Query(max_length=64, description="The video's version; the image may then be cached.")]

router = APIRouter(tags=["library"])


def describe(services: Services, video: LibraryVideo) -> VideoRecord:
    facts = services.catalog.known_facts(video)
    known = facts or VideoFacts()
    job = services.queue.find(video.id)
    stored_warnings = services.catalog.index_warnings(video)
    summary = services.catalog.summary(video)
    return VideoRecord(
        **asdict(known),
        id=video.id,
        version=known.image_version,
        name=video.name,
        uploaded=video.uploaded,
        known=facts is not None,
        indexed=stored_warnings is not None,
        ready=stored_warnings is not None and summary is not None,
        words=summary,
        warnings=stored_warnings or [] if summary is None else summary.warnings,
        beside=[path.name for path in services.catalog.subtitle_files(video)] if video.uploaded else [],
        job=None if job is None else describe_job(services, job),
        examples=_questions_to_try(video, summary),
    )


def _questions_to_try(video: LibraryVideo, summary: PreparedSummary | None) -> list[str]:
    if video.uploaded and video.name == SHOWN_NAME:
        return list(EXAMPLES)
    return [] if summary is None else summary.questions


@router.get("/videos")
def list_videos(services: ServicesDep) -> LibraryRecord:
    """The videos of the directory and the uploads."""
    return LibraryRecord(
        videos=[describe(services, video) for video in services.files.list_videos()],
        folder="" if services.config.folder is None else readable(services.config.folder.name),
        upload_bytes=services.config.upload_bytes,
    )


@router.get("/videos/{video}", responses=error_responses(404))
def get_video(services: ServicesDep, video: VideoDep) -> VideoRecord:
    """One video."""
    services.catalog.facts(video)
    record = describe(services, video)
    if not video.path.is_file():  # deleted meanwhile
        raise HTTPException(404, NO_SUCH_VIDEO)
    return record


@router.get("/videos/{video}/chapters", responses=error_responses(404, 409))
def get_chapters(services: ServicesDep, video: VideoDep) -> list[ChapterRecord]:
    """The chapters of the video's file, else its scenes by changes of the picture and pauses of the text."""
    version = services.catalog.facts(video).image_version
    return [
        ChapterRecord(**asdict(chapter), image=frame_url(video, version, chapter.frame_s))
        for chapter in find_chapters(services.catalog.prepared_so_far(video)[0])
    ]


@router.delete("/videos/{video}", responses=error_responses(404), status_code=204)
def remove_video(services: ServicesDep, video: VideoDep) -> None:
    """Delete an uploaded video and its subtitles. Files in the directory are never deleted."""
    services.files.remove(video)
    services.queue.remove(video.id)
    services.history.delete_all(video)
    services.changes()


@router.post("/uploads", responses=error_responses(408, 413, 503), openapi_extra=BINARY_BODY)
async def upload_video(request: Request, services: ServicesDep, name: FileName) -> VideoRecord:
    """Upload a video: the file's bytes are the body. It is checked to be a video, then queued."""
    if request.headers.get("content-type", "").startswith("multipart/"):
        raise InputError("the body is a form; expected the file's bytes, as curl -X POST -T video.mp4 sends them")
    with _upload_slot(services) as partial:
        length = request.headers.get("content-length", "0")
        await run_in_threadpool(check_disk_space, partial.parent, int(length) if length.isdigit() else 0)
        await _receive(request, partial)
        video = await run_in_threadpool(_accept_video, services, partial, name)
    return await run_in_threadpool(describe, services, video)


@router.post("/videos/{video}/subtitles", responses=error_responses(404, 408, 413, 503), openapi_extra=BINARY_BODY)
async def add_subtitles(request: Request, services: ServicesDep, video: VideoDep, name: FileName) -> VideoRecord:
    """Upload subtitles for an uploaded video: the file's bytes are the body. The video is then indexed again."""
    if not video.uploaded:
        raise InputError(
            f"{video.name!r} is in the directory this server was started with; put its "
            "subtitles beside it, under the same name"
        )
    ending = PurePosixPath(name).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{name[:200]!r} is not a subtitle file; expected one that ends in {', '.join(ENDINGS)}")
    with _upload_slot(services, ending) as partial:
        await _receive(request, partial)
        await run_in_threadpool(_accept_subtitles, services, video, partial, name)
    return await run_in_threadpool(describe, services, video)


@contextmanager
def _upload_slot(services: Services, ending: str = "") -> Iterator[Path]:
    """A path for an upload until it is accepted; a rejected one is deleted."""
    if services.active_uploads >= MAX_UPLOADS:
        raise ServerBusy(f"{MAX_UPLOADS} uploads are in progress; try again when one is done")
    services.active_uploads += 1
    partial = services.files.partial_path(secrets.token_hex(8) + ending)
    try:
        yield partial
    finally:
        services.active_uploads -= 1
        partial.unlink(missing_ok=True)


async def _receive(request: Request, partial: Path) -> None:
    """Write a request's body to disk as it arrives."""
    try:
        with partial.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
    except asyncio.CancelledError:
        raise ServerBusy("the server is shutting down; upload the file again when it is running") from None
    except ClientDisconnect:
        raise HTTPException(400, "The upload was interrupted") from None
    except OSError as error:
        raise InputError(
            f"the upload can't be stored ({error.strerror or error}); free some space and try again"
        ) from None


def _accept_video(services: Services, partial: Path, name: str) -> LibraryVideo:
    """Check that an upload is a video, store and queue it."""
    try:
        probe(partial)
    except FramesiftError as error:
        raise InputError(str(error).replace(repr(str(partial)), repr(name[:200])).replace(str(partial), name)) from None
    video = services.files.store_upload(partial, name)
    services.enqueue(video)
    return video


def _accept_subtitles(services: Services, video: LibraryVideo, partial: Path, name: str) -> None:
    """Check that subtitles have a line inside the video's duration, store them and queue the video."""
    facts = services.catalog.facts(video)
    if facts.problem:
        raise HTTPException(404, NO_SUCH_VIDEO)
    try:
        read_events(partial, language=services.config.pipeline.text.language, duration_s=facts.duration_s)
    except InputError as error:
        raise InputError(str(error).replace(str(partial), repr(name[:200]))) from None
    services.files.store_subtitles(video, partial, name)
    job = services.queue.find(video.id)
    if job is not None and job.state == "running":  # which may recognise speech that is not needed any more
        services.queue.cancel(job.id)
    services.queue.move_first(services.enqueue(video).id)


@router.head("/videos/{video}/file", include_in_schema=False)
@router.get("/videos/{video}/file", responses=error_responses(404, 416) | FILE, response_class=FileResponse)
def get_file(video: VideoDep) -> FileResponse:
    """The video file; ranges are supported, so that a player can seek."""
    try:
        status = video.path.stat()
    except OSError:
        raise HTTPException(404, NO_SUCH_VIDEO) from None
    guessed = mimetypes.guess_type(video.path.name)[0] or ""
    # Whatever its name, a file is never sent as a page.
    media_type = guessed if guessed.startswith("video/") else "application/octet-stream"
    headers = {"content-disposition": "inline", "content-encoding": "identity"}  # not compressed: a player seeks in it
    return FileResponse(video.path, media_type=media_type, stat_result=status, headers=headers)


@router.get("/videos/{video}/thumbnail.jpg", responses=error_responses(404) | JPEG, response_class=Response)
def get_thumbnail(services: ServicesDep, video: VideoDep, v: Version = "") -> Response:
    """A frame of the video for lists."""
    facts = _facts_of_version(services, video, v)
    with _not_found(video):
        return _jpeg(services.images.thumbnail(video, facts.fingerprint, facts.duration_s), v)


@router.get("/videos/{video}/frames/{time_s}.jpg", responses=error_responses(404, 503) | JPEG, response_class=Response)
async def get_frame(
    services: ServicesDep, video: VideoDep, time_s: FrameTime, v: Version = "", size: ImageSize = "small"
) -> Response:
    """The frame on screen at a time, as a JPEG. Requests for small ones share one decoding pass."""
    facts = await run_in_threadpool(_facts_of_version, services, video, v)
    with _not_found(video):
        if size == "full":
            return _jpeg(await run_in_threadpool(services.images.full_size, video, time_s), v)
        return _jpeg(await wait_for(services.images.request(video, facts.fingerprint, time_s)), v)


@contextmanager
def _not_found(video: LibraryVideo) -> Iterator[None]:
    """A frame that can't be decoded, or beyond the end, is not found."""
    try:
        yield
    except InputError as error:
        raise HTTPException(404, public_message(error, video)) from None


def _jpeg(data: bytes, version: str) -> Response:
    """An image, which may only be cached under a URL with its file's version."""
    headers = {"cache-control": "private, max-age=86400, immutable"} if version else {}
    return Response(data, media_type="image/jpeg", headers=headers)


def _facts_of_version(services: Services, video: LibraryVideo, version: str) -> VideoFacts:
    """The facts of a readable video; 404 where the file is not, or no longer, of this version."""
    facts = services.catalog.facts(video)
    if facts.problem:
        raise HTTPException(404, "This video can't be decoded")
    if version and version != facts.image_version:
        raise HTTPException(404, "This file has been replaced; reload the page")
    return facts
