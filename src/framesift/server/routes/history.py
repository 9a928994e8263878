"""What was asked and answered about a video, kept on the server; readers added on the page."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from framesift.server.history import KeptAnswer, KeptQuestion, NothingKept
from framesift.server.models import (
    AddReaderRequest,
    AskRequest,
    KeptAnswerRecord,
    KeptQuestionRecord,
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
def list_questions(services: ServicesDep, video: VideoDep) -> list[KeptQuestionRecord]:
    """The questions asked about a video, the last one first, with their answers."""
    return [_question_record(question) for question in services.history.questions(video)]


@router.post("/videos/{video}/history", responses=error_responses(404))
def keep_question(services: ServicesDep, video: VideoDep, request: ViewRequest) -> KeptQuestionRecord:
    """Keep a question. One that was asked before gets these settings and keeps its answers."""
    return _question_record(services.history.keep(video, request.model_dump(mode="json", exclude={"partial"})))


@router.patch("/videos/{video}/history/{kept}", responses=error_responses(404))
def rename_question(services: ServicesDep, video: VideoDep, kept: KeptId, request: RenameRequest) -> KeptQuestionRecord:
    """Give a question a title; an empty one removes it."""
    return _question_record(services.history.rename(video, kept, request.title.strip()))


@router.delete("/videos/{video}/history/{kept}", responses=error_responses(404), status_code=204)
def delete_question(services: ServicesDep, video: VideoDep, kept: KeptId) -> None:
    """Delete a question and its answers."""
    for answer in services.history.question(video, kept).answers:
        services.tasks.cancel(answer.id)
    services.history.delete(video, kept)


@router.post("/videos/{video}/history/{kept}/answers", responses=error_responses(404, 503), status_code=202)
def start_answer(services: ServicesDep, video: VideoDep, kept: KeptId, request: AskRequest) -> KeptAnswerRecord:
    """Ask a reader. The answer is written on the server, whether or not anybody follows it."""
    return _answer_record(services.tasks.start(video, services.history.question(video, kept), request))


@router.get(
    "/videos/{video}/history/{kept}/answers/{answer}",
    responses=error_responses(404) | LINES,
    response_class=StreamingResponse,
)
def follow_answer(services: ServicesDep, video: VideoDep, kept: KeptId, answer: KeptId) -> StreamingResponse:
    """Follow an answer as it is written, from its beginning."""
    _find_answer(services.history.question(video, kept), answer)
    return StreamingResponse(
        _answer_lines(services, lambda: services.history.question(video, kept), answer),
        media_type="application/x-ndjson",
        headers=STREAM_HEADERS,
    )


@router.delete("/videos/{video}/history/{kept}/answers/{answer}", responses=error_responses(404), status_code=204)
def stop_answer(services: ServicesDep, video: VideoDep, kept: KeptId, answer: KeptId) -> None:
    """Cancel an answer that is being written, whose text so far is kept; delete any other."""
    _find_answer(services.history.question(video, kept), answer)
    if not services.tasks.cancel(answer):
        services.history.delete_answer(video, kept, answer)


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


def _question_record(question: KeptQuestion) -> KeptQuestionRecord:
    return KeptQuestionRecord.model_validate(asdict(question))


def _answer_record(answer: KeptAnswer) -> KeptAnswerRecord:
    return KeptAnswerRecord.model_validate(asdict(answer))


def _find_answer(question: KeptQuestion, answer_id: str) -> KeptAnswer:
    for answer in question.answers:
        if answer.id == answer_id:
            return answer
    raise NothingKept("there is no such answer; it may have been deleted")


async def _answer_lines(services: Services, question: Callable[[], KeptQuestion], answer_id: str) -> AsyncIterator[str]:
    """The answer as JSON lines: whenever it has grown, then as it is kept."""
    sent: KeptAnswer | None = None
    while not services.closing:
        running = services.tasks.current(answer_id)
        answer = running or _find_answer(await run_in_threadpool(question), answer_id)
        if answer != sent:
            sent = answer
            yield json.dumps(_answer_record(answer).model_dump(mode="json")) + "\n"
        if running is None or running.state != "running":
            return
        await asyncio.sleep(POLL_S)
