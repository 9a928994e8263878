"""Questions: selections, views, reader answers and exports."""

import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from framesift._utils.version import __version__
from framesift.library.files import LibraryVideo
from framesift.readers.prompts import TEXT_MODES
from framesift.readers.stopping import StopEvent
from framesift.rendering.reasons import explain
from framesift.rendering.report.page import ROLE_SENTENCES
from framesift.server.answering import answer_record, export_name, frame_url, list_methods
from framesift.server.models import (
    AnswerRecord,
    AskRequest,
    Choices,
    ClipQuery,
    ExportQuery,
    SelectionRecord,
    TracedSelectRequest,
    ViewRequest,
    error_responses,
)
from framesift.server.routes import ServicesDep, VideoDep, run_in_thread
from framesift.server.services import Services
from framesift.text.subtitles.reading import ENDINGS
from framesift.types import Selection

ATTACHMENT: dict[int | str, dict[str, object]] = {
    200: {
        "content": {"application/zip": {}, "application/json": {}, "text/html": {}},
        "description": "The exhibit's files as a zip, its selection as JSON, or its report",
    }
}
CLIP: dict[int | str, dict[str, object]] = {200: {"content": {"video/mp4": {}}, "description": "The clip"}}
MEDIA_TYPES = {"zip": "application/zip", "json": "application/json", "report": "text/html; charset=utf-8"}

router = APIRouter(tags=["questions"])


@router.get("/choices")
def get_choices(services: ServicesDep) -> Choices:
    """What can be chosen: methods with their options, text modes, readers."""
    from framesift.encoders.registry import choose_encoder

    encoder = services.config.pipeline.index.encoder
    return Choices(
        version=__version__,
        methods=list_methods(),
        text_modes=list(TEXT_MODES),
        readers=services.answering.readers.names,
        added_readers=services.answering.readers.added,
        roles=ROLE_SENTENCES,
        encoder=choose_encoder()[1] if encoder == "auto" else encoder if isinstance(encoder, str) else encoder.name,
        subtitle_endings=list(ENDINGS),
    )


@router.post("/videos/{video}/select", responses=error_responses(404, 409, 503), response_model_by_alias=True)
async def select_frames(
    http: Request, services: ServicesDep, video: VideoDep, request: TracedSelectRequest
) -> SelectionRecord:
    """Select frames for a question: the record of `framesift.select`, the URLs of the frames and the reasons."""
    selected = await run_in_thread(
        http, lambda abandoned: services.answering.select([video], request, [request.method], abandoned)
    )
    selection = selected.exhibits[0].selection
    record = selection.to_dict() | {"frames": await run_in_threadpool(frame_links, services, video, selection)}
    return SelectionRecord.model_validate(record if request.trace else record | {"trace": {}})


def frame_links(services: Services, video: LibraryVideo, selection: Selection) -> list[dict[str, object]]:
    """The URLs of a selection's frames and why each was selected."""
    facts = services.catalog.facts(video)
    rows: list[dict[str, object]] = []
    for slot, reason in zip(selection.slots, explain(selection), strict=True):
        url = frame_url(video, facts.image_version, slot.time_s)
        urls = {"image": url, "full_image": f"{url}&size=full"}
        rows.append({"time_s": slot.time_s, "role": slot.role, **urls, "why": list(reason.why)})
    return rows


@router.post("/videos/{video}/view", responses=error_responses(404, 409, 503))
async def view_frames(http: Request, services: ServicesDep, video: VideoDep, request: ViewRequest) -> dict[str, Any]:
    """What the page draws: for each method the frames with their reasons, omitted segments and swaps."""
    return await run_in_thread(http, lambda abandoned: services.answering.view(video, request, abandoned))


@router.post("/videos/{video}/ask", responses=error_responses(404, 409, 501, 502, 503))
async def ask_reader(http: Request, services: ServicesDep, video: VideoDep, request: AskRequest) -> AnswerRecord:
    """Ask one of this server's readers: the record of `framesift.ask`."""
    answer = await run_in_thread(http, lambda abandoned: services.answering.ask([video], request, abandoned))
    return AnswerRecord.model_validate(answer_record(answer))


@router.get(
    "/videos/{video}/export", responses=error_responses(404, 409, 503) | ATTACHMENT, response_class=FileResponse
)
async def export_exhibit(
    http: Request,
    services: ServicesDep,
    video: VideoDep,
    query: Annotated[ExportQuery, Query()],
) -> FileResponse:
    """Download the evidence, as `framesift select --out` writes it; with several methods, the comparison."""
    answers = services.history.question(video, query.kept).answers_by(query.methods) if query.kept else []

    def write(folder: Path, abandoned: threading.Event) -> Path:
        return services.answering.export(video, query, folder, abandoned, answers)

    prefix = "" if query.format == "zip" else f"{export_name(video)}-"
    return await _send_written(http, write, MEDIA_TYPES[query.format], prefix)


@router.get("/videos/{video}/clip", responses=error_responses(404, 503) | CLIP, response_class=FileResponse)
async def get_clip(
    http: Request, services: ServicesDep, video: VideoDep, query: Annotated[ClipQuery, Query()]
) -> FileResponse:
    """Download a part of the video as an MP4 file, with its sound and its text, as `framesift select --clips` does."""

    def write(folder: Path, abandoned: threading.Event) -> Path:
        return services.answering.clip(video, query, folder, abandoned)

    return await _send_written(http, write, "video/mp4")


async def _send_written(
    http: Request, write: Callable[[Path, StopEvent], Path], media_type: str, prefix: str = ""
) -> FileResponse:
    """Send what is written into a temporary folder, which is removed afterwards."""
    folder = Path(tempfile.mkdtemp())

    def write_or_remove(abandoned: StopEvent) -> Path:
        try:
            return write(folder, abandoned)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    file = await run_in_thread(http, write_or_remove)
    return FileResponse(
        file,
        media_type=media_type,
        headers={"content-disposition": f"attachment; filename*=UTF-8''{quote(prefix + file.name)}"},
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )
