"""Questions: the frames for them, a reader's answer, and the files to take away."""

import shutil
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from pydantic import ValidationError
from starlette.background import BackgroundTask

from framesift._utils.version import __version__
from framesift.errors import InputError
from framesift.readers.prompts import TEXT_MODES, TextMode
from framesift.rendering.report.page import ROLE_SENTENCES
from framesift.server import answering as evidence
from framesift.server.app import problems
from framesift.server.models import (
    MOST_BUDGET,
    MOST_METHODS,
    AnswerRecord,
    Ask,
    AskOne,
    AskReader,
    AskSeveral,
    Choices,
    ExportFormat,
    Method,
    Name,
    SelectionRecord,
    View,
    Words,
)
from framesift.server.routes import InHouse, OnShelf, apart
from framesift.text.subtitles.formats import ENDINGS

ATTACHMENT: dict[int | str, dict[str, object]] = {
    200: {
        "content": {"application/zip": {}, "application/json": {}, "text/html": {}},
        "description": "The exhibit's files as a zip, its selection as JSON, or its report",
    }
}
KINDS = {"zip": "application/zip", "json": "application/json", "report": "text/html; charset=utf-8"}

router = APIRouter(tags=["questions"])


@router.get("/choices")
def get_choices(house: InHouse) -> Choices:
    """What can be chosen: methods with their options, ways to show text, readers."""
    from framesift.encoders.base import choose_encoder

    named = house.settings.encoder
    return Choices(
        version=__version__,
        methods=[Method.model_validate(row) for row in evidence.methods()],
        text_modes=list(TEXT_MODES),
        readers=house.desk.readers,
        roles=ROLE_SENTENCES,
        encoder=choose_encoder()[1] if named == "auto" else named,
        subtitle_endings=list(ENDINGS),
    )


@router.post("/videos/{video}/select", responses=problems(404, 409, 503), response_model_by_alias=True)
async def select_frames(house: InHouse, film: OnShelf, ask: AskOne) -> SelectionRecord:
    """The frames for a question: the record of `framesift.selection`."""
    chosen = await apart(film, lambda: house.desk.choose(film, ask, ask.method))
    return SelectionRecord.model_validate(chosen.selection.to_dict())


@router.post("/videos/{video}/view", responses=problems(404, 409, 503))
async def view_frames(house: InHouse, film: OnShelf, ask: AskSeveral) -> View:
    """What the page draws: for each method the frames with their reasons, what was left out, and the swaps."""
    return View.model_validate(await apart(film, lambda: house.desk.view(film, ask, ask.methods, ask.text_mode)))


@router.post("/videos/{video}/ask", responses=problems(404, 409, 501, 502, 503))
async def ask_reader(house: InHouse, film: OnShelf, ask: AskReader) -> AnswerRecord:
    """Put the frames in front of a reader this server was started with: the record of `framesift.ask`."""
    answer, cited = await apart(film, lambda: house.desk.answer(film, ask, ask.method, ask.reader, ask.text_mode))
    return AnswerRecord.model_validate(answer.to_dict() | {"cited_s": cited})


@router.get("/videos/{video}/export", responses=problems(404, 409, 503) | ATTACHMENT, response_class=FileResponse)
async def export_exhibit(
    house: InHouse,
    film: OnShelf,
    question: Annotated[Words, Query(min_length=1)],
    format: Annotated[ExportFormat, Query()] = "zip",
    option: Annotated[list[Words], Query(max_length=26)] = [],  # noqa: B006 (never changed)
    budget: Annotated[int, Query(ge=1, le=MOST_BUDGET)] = 32,
    method: Annotated[list[Name], Query(min_length=1, max_length=MOST_METHODS)] = ["gcr"],  # noqa: B006
    text_mode: Annotated[TextMode, Query()] = "aligned",
    visual_demand: Annotated[float | None, Query(ge=0, le=1)] = None,
    settings: Annotated[str, Query(max_length=4000, description="As in a request's body, as JSON.")] = "{}",
) -> FileResponse:
    """The evidence to take away; with several methods the comparison. What `framesift select --out` writes."""
    try:
        fields = {"question": question, "options": option, "budget": budget, "visual_demand": visual_demand}
        own = Ask.model_validate_json(f'{{"question": "?", "settings": {settings}}}').settings
        ask = Ask.model_validate(fields | {"settings": own})
    except ValidationError as error:
        raise InputError(f"settings can't be read: {error.errors()[0]['msg']}") from None
    folder = house.desk.new_folder()

    def write() -> Path:
        try:
            return house.desk.export(film, ask, method, text_mode, format, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    file = await apart(film, write)
    name = file.name if format == "zip" else f"{evidence.export_name(film)}-{file.name}"
    return FileResponse(
        file,
        media_type=KINDS[format],
        headers={"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"},
        background=BackgroundTask(shutil.rmtree, folder, ignore_errors=True),
    )
