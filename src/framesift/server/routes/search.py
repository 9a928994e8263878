"""Search in all indexed videos of the library, and the timestamped text of one: as JSON, and as a subtitle file."""

import threading
from dataclasses import asdict
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response
from PIL import Image

from framesift.encoders.registry import get_encoder
from framesift.library.files import LibraryVideo
from framesift.search.images import decode_image, frame_image
from framesift.search.search import Hit, search
from framesift.server.answering import export_name, frame_url
from framesift.server.models import MomentRecord, SearchQuery, error_responses
from framesift.server.routes import BINARY_BODY, ServicesDep, VideoDep, find_video
from framesift.server.services import Services
from framesift.text.subtitles.timed_blocks import to_srt, to_vtt
from framesift.types import Event

EVENTS: dict[int | str, dict[str, object]] = {
    200: {"content": {"application/x-subrip": {}, "text/vtt": {}}, "description": "The events, by time"}
}

router = APIRouter(tags=["library"])
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


def _found(services: Services, query: SearchQuery, wanted: str | Image.Image) -> list[MomentRecord]:
    listed = services.files.list_videos() if query.video is None else [find_video(query.video, services)]
    videos = services.catalog.indexed(listed)
    if not videos:
        return []
    settings = services.config.pipeline.index
    with _one_at_a_time:
        hits = search(
            wanted,
            limit=query.limit,
            by=query.by,
            encoder=get_encoder(settings.encoder, device=settings.device),
            store=settings.store,
            videos=videos,
        )
    return [_moment(hit, videos[hit.fingerprint]) for hit in hits]


def _moment(hit: Hit, video: LibraryVideo) -> MomentRecord:
    return MomentRecord(
        video=video.id,
        name=video.name,
        time_s=hit.time_s,
        image=frame_url(video, hit.fingerprint[:16], hit.time_s),
        relevance=hit.relevance,
        event_relevance=hit.event_relevance,
        event=hit.event,
        stands_out=hit.stands_out,
        strength=hit.strength,
        start_s=hit.start_s,
        end_s=hit.end_s,
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
