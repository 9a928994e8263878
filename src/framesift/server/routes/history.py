"""What was asked and answered about a video, kept on the server; readers added on the page."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse

from framesift.server.history import KeptAnswer, KeptQuestion, NothingKept
from framesift.server.models import (
    AddReaderRequest,
    AskRequest,
    ReadersRecord,
    RenameRequest,
    ViewRequest,
    error_responses,
)
from framesift.server.page_readers import AddedReader
from framesift.server.routes import STREAM_HEADERS, ServicesDep, VideoDep
from framesift.server.services import Services

POLL_S = 0.05
LINES: dict[int | str, dict[str, object]] = {
    200: {
        "content": {"application/x-ndjson": {}},
        "description": "One JSON object per line: the answer whenever it has grown, and as it ended",
    }
}
KeptId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]

router = APIRouter(tags=["history"])


@router.get("/videos/{video}/history", responses=error_responses(404))
def list_questions(services: ServicesDep, video: VideoDep) -> list[KeptQuestion]:
    """The questions asked about a video, the last one first, with their answers."""
    return services.history.questions(video)


@router.post("/videos/{video}/history", responses=error_responses(404))
def keep_question(services: ServicesDep, video: VideoDep, request: ViewRequest) -> KeptQuestion:
    """Keep a question. One that was asked before gets these settings and keeps its answers."""
    return services.history.keep(video, request.model_dump(mode="json", exclude={"partial"}))


@router.patch("/videos/{video}/history/{kept}", responses=error_responses(404))
def rename_question(services: ServicesDep, video: VideoDep, kept: KeptId, request: RenameRequest) -> KeptQuestion:
    """Give a question a title; an empty one removes it."""
    return services.history.rename(video, kept, request.title.strip())


@router.delete("/videos/{video}/history/{kept}", responses=error_responses(404), status_code=204)
def delete_question(services: ServicesDep, video: VideoDep, kept: KeptId) -> None:
    """Delete a question and its answers."""
    services.history.delete(video, kept)


@router.post("/videos/{video}/history/{kept}/answers", responses=error_responses(404, 503), status_code=202)
def start_answer(services: ServicesDep, video: VideoDep, kept: KeptId, request: AskRequest) -> KeptAnswer:
    """Ask a reader. The answer is written on the server, whether or not anybody follows it."""
    return services.history.start_answer(video, kept, request)


@router.get(
    "/videos/{video}/history/{kept}/answers/{answer}",
    responses=error_responses(404) | LINES,
    response_class=StreamingResponse,
)
def follow_answer(services: ServicesDep, video: VideoDep, kept: KeptId, answer: KeptId) -> StreamingResponse:
    """Follow an answer as it is written, from its beginning."""
    services.history.answer(video, kept, answer)
    lines = _answer_lines(services, lambda: services.history.answer(video, kept, answer))
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=STREAM_HEADERS)


@router.delete("/videos/{video}/history/{kept}/answers/{answer}", responses=error_responses(404), status_code=204)
def stop_answer(services: ServicesDep, video: VideoDep, kept: KeptId, answer: KeptId) -> None:
    """Cancel an answer that is being written, whose text so far is kept; delete any other."""
    services.history.remove_answer(video, kept, answer)


@router.post("/readers", responses=error_responses(502))
def add_reader(services: ServicesDep, request: AddReaderRequest) -> ReadersRecord:
    """Test an OpenAI-type server and add it to the readers."""
    services.answering.readers.add(AddedReader(request.address, request.key))
    return _readers_record(services)


@router.post("/readers/test", responses=error_responses(502), status_code=204)
def test_reader(services: ServicesDep, request: AddReaderRequest) -> None:
    """Test whether an OpenAI-type server responds, accepts the key, and has a model."""
    services.answering.readers.test(AddedReader(request.address, request.key))


@router.delete("/readers")
def remove_reader(services: ServicesDep, address: Annotated[str, Query(min_length=1, max_length=300)]) -> ReadersRecord:
    """Remove a reader that was added on the page, and its key."""
    services.answering.readers.remove(address)
    return _readers_record(services)


def _readers_record(services: Services) -> ReadersRecord:
    return ReadersRecord(readers=services.answering.readers.names, added=services.answering.readers.added)


async def _answer_lines(services: Services, current: Callable[[], KeptAnswer]) -> AsyncIterator[str]:
    """The answer as JSON lines: whenever it has grown, then as it is kept."""
    sent = None
    with suppress(NothingKept):  # deleted meanwhile
        while not services.closing and (sent is None or sent.state == "running"):
            if (answer := current()) != sent:
                sent = answer
                yield json.dumps(asdict(answer)) + "\n"
            await asyncio.sleep(POLL_S)
