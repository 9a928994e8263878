"""Searches and questions in all indexed videos of the library, and the timestamped text of one, also as a file."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response
from PIL import Image

from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError, NotStored
from framesift.library.files import LibraryVideo, public_message
from framesift.readers.stopping import StopEvent
from framesift.rendering.formats.base import part_around
from framesift.search.images import decode_image, frame_image
from framesift.search.search import Hit, search
from framesift.server.answering import answer_record, cited_by, export_name, frame_url
from framesift.server.models import (
    MAX_MOMENTS,
    AnswerRecord,
    EvidenceRecord,
    LibraryAnswer,
    LibraryAskRequest,
    MomentRecord,
    SearchQuery,
    error_responses,
)
from framesift.server.routes import BINARY_BODY, ServicesDep, VideoDep, find_video, run_in_thread
from framesift.server.services import Services
from framesift.text.subtitles.timed_blocks import to_srt, to_vtt
from framesift.types import Event

EVENTS: dict[int | str, dict[str, object]] = {
    200: {"content": {"application/x-subrip": {}, "text/vtt": {}}, "description": "The events, by time"}
}

router = APIRouter(tags=["library"])
MAX_ASKED = 16  # videos: their vectors are in memory together
_OF_HIT = MomentRecord.model_fields.keys() - {"video"}
_one_at_a_time = threading.Lock()  # the first search of a store verifies and scores all of its vectors


@router.get("/search", responses=error_responses(404, 503))
def search_library(services: ServicesDep, query: Annotated[SearchQuery, Query()]) -> list[MomentRecord]:
    """The moments of all indexed videos, or of one, that best match a text or a frame, best first.

    As of `framesift corpus search`.
    """
    if query.like is None:
        return _found(services, query, query.text) if query.text.strip() else []
    return _found(services, query, frame_image(find_video(query.like, services).path, query.at_s))


@router.post("/search", responses=error_responses(404, 413, 503), openapi_extra=BINARY_BODY)
async def search_by_image(
    request: Request, services: ServicesDep, query: Annotated[SearchQuery, Query()]
) -> list[MomentRecord]:
    """The moments that look most like an image, whose file is the body: a JPEG, PNG, WebP or GIF."""
    image = await run_in_threadpool(decode_image, await request.body(), "the image")
    return await run_in_threadpool(_found, services, query, image)


@router.post("/ask", responses=error_responses(404, 409, 501, 502, 503))
async def ask_library(http: Request, services: ServicesDep, request: LibraryAskRequest) -> LibraryAnswer:
    """Select frames for a question from all indexed videos, or from some, and have a reader answer from them.

    Of more than 16 videos those are asked about in which a search finds the best moments.
    """
    videos, left_out = await run_in_threadpool(_asked_about, services, request)
    try:
        answer = await run_in_thread(http, lambda stopped: _answered(services, videos, request, stopped))
    except FramesiftError as error:
        raise type(error)(public_message(error, *videos)) from error
    return answer.model_copy(update={"left_out": left_out})


def _asked_about(services: Services, request: LibraryAskRequest) -> tuple[list[LibraryVideo], int]:
    """The videos to ask about, and how many are left out."""
    indexed = _indexed(services, request.videos)
    ready = {key: video for key, video in indexed.items() if services.catalog.is_ready(video)}
    if not ready:
        raise NotStored("no video is indexed yet; index one first")
    if len(ready) <= MAX_ASKED:
        return list(ready.values()), 0
    hits = _search(services, SearchQuery(limit=MAX_MOMENTS), request.question, ready)
    best = list(dict.fromkeys(hit.fingerprint for hit in hits))[:MAX_ASKED]
    return [video for fingerprint, video in ready.items() if fingerprint in best], len(ready) - len(best)


def _answered(
    services: Services, videos: list[LibraryVideo], request: LibraryAskRequest, stopped: StopEvent
) -> LibraryAnswer:
    answer, answering = None, services.answering
    if request.reader:
        answer = answering.ask(videos, request, stopped)
        exhibit = answer.exhibit
    else:
        (exhibit,) = answering.select(videos, request, [request.method], stopped).exhibits
    cited_s = [] if answer is None else cited_by(answer)
    frames, basis = [], exhibit.selection.basis
    for slot, reason in zip(exhibit.selection, exhibit.reasons, strict=True):
        shown, time_s = exhibit.place(slot.time_s)
        video, at_s = videos[exhibit.videos.index(shown)], slot.time_s - time_s
        event = slot.event and replace(slot.event, start_s=slot.event.start_s - at_s, end_s=slot.event.end_s - at_s)
        start_s, end_s = part_around(time_s, event)
        frames.append(
            EvidenceRecord(
                video=video.id,
                name=video.name,
                time_s=time_s,
                image=frame_url(video, services.catalog.facts(video).image_version, time_s),
                relevance=slot.relevance,
                event_relevance=None,
                event=event,
                stands_out=slot.role != "context",
                strength=reason.strength,
                start_s=max(0.0, start_s),
                end_s=min(end_s, shown.info.duration_s),
                why=list(reason.why),
                cited=slot.time_s in cited_s,
            )
        )
    return LibraryAnswer(
        videos=[video.id for video in videos],
        frames=frames,
        note="" if basis is None or basis.chance is None else basis.chance.note,
        warnings=list(exhibit.selection.warnings),
        answer=None if answer is None else AnswerRecord.model_validate(answer_record(answer)),
    )


def _found(services: Services, query: SearchQuery, wanted: str | Image.Image) -> list[MomentRecord]:
    videos = _indexed(services, query.video)
    return [
        MomentRecord(
            video=videos[hit.fingerprint].id,
            name=videos[hit.fingerprint].name,
            image=frame_url(videos[hit.fingerprint], hit.fingerprint[:16], hit.time_s),
            **{name: value for name, value in vars(hit).items() if name in _OF_HIT},
        )
        for hit in (_search(services, query, wanted, videos) if videos else [])
    ]


def _indexed(services: Services, ids: Sequence[str]) -> dict[str, LibraryVideo]:
    """Those of these videos that are indexed, by default of all, by fingerprint."""
    return services.catalog.indexed([find_video(video, services) for video in ids] or services.files.list_videos())


def _search(
    services: Services, query: SearchQuery, wanted: str | Image.Image, videos: Mapping[str, LibraryVideo]
) -> list[Hit]:
    settings = services.config.pipeline.index
    with _one_at_a_time:
        return search(
            wanted,
            limit=query.limit,
            by=query.by,
            encoder=get_encoder(settings.encoder, device=settings.device),
            store=settings.store,
            videos=videos.keys(),
        )


@router.get("/videos/{video}/events", responses=error_responses(404, 409) | EVENTS, response_model=list[Event])
def get_events(
    services: ServicesDep,
    video: VideoDep,
    format: Annotated[Literal["json", "srt", "vtt"], Query(description="JSON, SubRip or WebVTT.")] = "json",
) -> Response:
    """The video's timestamped text: subtitles, speech or text on screen, as far as it is known."""
    events = services.catalog.prepared_so_far(video)[0].text.events
    if format == "json":
        return JSONResponse([asdict(event) for event in events])
    content, media_type = (to_srt(events), "application/x-subrip") if format == "srt" else (to_vtt(events), "text/vtt")
    name = quote(f"{export_name(video)}.{format}")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
    return Response(content, media_type=f"{media_type}; charset=utf-8", headers=headers)
