"""Questions: selections, views, reader answers and exports."""

import shutil
import threading
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse
from pydantic import ValidationError
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from framesift._utils.version import __version__
from framesift.errors import InputError
from framesift.library.files import LibraryVideo
from framesift.readers.prompts import TEXT_MODES, TextMode
from framesift.rendering.reasons import explain
from framesift.rendering.report.page import ROLE_SENTENCES
from framesift.selection.selector import DEFAULT_METHOD
from framesift.server.answering import TimedExhibit, export_name, frame_url, list_methods
from framesift.server.models import (
    MAX_BUDGET,
    MAX_METHODS,
    AnswerRecord,
    AskRequest,
    BoundedName,
    BoundedText,
    Choices,
    ExportFormat,
    MethodRecord,
    QuestionRequest,
    SelectionRecord,
    TracedSelectRequest,
    ViewRecord,
    ViewRequest,
    error_responses,
)
from framesift.server.routes import ServicesDep, VideoDep, run_in_thread
from framesift.server.services import Services
from framesift.text.subtitles.formats import ENDINGS

ATTACHMENT: dict[int | str, dict[str, object]] = {
    200: {
        "content": {"application/zip": {}, "application/json": {}, "text/html": {}},
        "description": "The exhibit's files as a zip, its selection as JSON, or its report",
    }
}
MEDIA_TYPES = {"zip": "application/zip", "json": "application/json", "report": "text/html; charset=utf-8"}

router = APIRouter(tags=["questions"])


@router.get("/choices")
def get_choices(services: ServicesDep) -> Choices:
    """What can be chosen: methods with their options, text modes, readers."""
    from framesift.encoders.registry import choose_encoder

    encoder = services.config.pipeline.encoder
    return Choices(
        version=__version__,
        methods=[MethodRecord.model_validate(row) for row in list_methods()],
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
    timed = await run_in_thread(
        http, video, lambda abandoned: services.answering.select(video, request, request.method, abandoned=abandoned)
    )
    record = timed.exhibit.selection.to_dict() | {
        "frames": await run_in_threadpool(frame_links, services, video, timed)
    }
    return SelectionRecord.model_validate(record if request.trace else record | {"trace": {}})


def frame_links(services: Services, video: LibraryVideo, timed: TimedExhibit) -> list[dict[str, object]]:
    """The URLs of a selection's frames and why each was selected."""
    facts = services.catalog.facts(video)
    selection = timed.exhibit.selection
    rows: list[dict[str, object]] = []
    for slot, reason in zip(selection.slots, explain(selection), strict=True):
        url = frame_url(video, facts.version, slot.time_s)
        row = {"time_s": slot.time_s, "role": slot.role, "picture": url, "full_picture": f"{url}&size=full"}
        rows.append({**row, "why": list(reason.why)})
    return rows


@router.post("/videos/{video}/view", responses=error_responses(404, 409, 503))
async def view_frames(http: Request, services: ServicesDep, video: VideoDep, request: ViewRequest) -> ViewRecord:
    """What the page draws: for each method the frames with their reasons, omitted segments and swaps."""
    view = await run_in_thread(http, video, lambda abandoned: services.answering.view(video, request, abandoned))
    return ViewRecord.model_validate(view)


@router.post("/videos/{video}/ask", responses=error_responses(404, 409, 501, 502, 503))
async def ask_reader(http: Request, services: ServicesDep, video: VideoDep, request: AskRequest) -> AnswerRecord:
    """Ask one of this server's readers: the record of `framesift.ask`."""
    record = await run_in_thread(http, video, lambda abandoned: services.answering.ask(video, request, abandoned))
    return AnswerRecord.model_validate(record)


@router.get(
    "/videos/{video}/export", responses=error_responses(404, 409, 503) | ATTACHMENT, response_class=FileResponse
)
async def export_exhibit(
    http: Request,
    services: ServicesDep,
    video: VideoDep,
    question: Annotated[BoundedText, Query(min_length=1)],
    format: Annotated[ExportFormat, Query()] = "zip",
    option: Annotated[list[BoundedText], Query(max_length=26)] = [],  # noqa: B006 (never mutated)
    budget: Annotated[int, Query(ge=1, le=MAX_BUDGET)] = 32,
    method: Annotated[list[BoundedName], Query(min_length=1, max_length=MAX_METHODS)] = [DEFAULT_METHOD],  # noqa: B006
    text_mode: Annotated[TextMode, Query()] = "aligned",
    visual_demand: Annotated[float | None, Query(ge=0, le=1)] = None,
    from_s: Annotated[float | None, Query(ge=0)] = None,
    to_s: Annotated[float | None, Query(ge=0)] = None,
    settings: Annotated[str, Query(max_length=4000, description="The `settings` of a request's body, as JSON.")] = "{}",
    partial: Annotated[bool, Query(description="Export what is indexed so far of a video being indexed.")] = False,
    kept: Annotated[
        str | None, Query(pattern=r"^[0-9a-f]{16}$", description="A kept question, whose answers are exported too.")
    ] = None,
) -> FileResponse:
    """Download the evidence, as `framesift select --out` writes it; with several methods, the comparison."""
    try:
        fields = {"question": question, "options": option, "budget": budget, "visual_demand": visual_demand}
        fields |= {"from_s": from_s, "to_s": to_s, "partial": partial}
        parsed = QuestionRequest.model_validate_json(f'{{"question": "?", "settings": {settings}}}').settings
        request = QuestionRequest.model_validate(fields | {"settings": parsed})
    except ValidationError as error:
        raise InputError(f"settings can't be read: {error.errors()[0]['msg']}") from None
    answers = services.history.question(video, kept).answers_by(method) if kept else []
    folder = services.answering.new_export_folder()

    def write(abandoned: threading.Event) -> Path:
        try:
            return services.answering.export(video, request, method, text_mode, format, folder, abandoned, answers)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    file = await run_in_thread(http, video, write)
    name = file.name if format == "zip" else f"{export_name(video)}-{file.name}"
    return FileResponse(
        file,
        media_type=MEDIA_TYPES[format],
        headers={"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"},
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )
