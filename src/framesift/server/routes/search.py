"""Search in all indexed videos of the library, and the timestamped text of one: as JSON, and as a subtitle file."""

import threading
from dataclasses import asdict
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from framesift.encoders.registry import get_encoder
from framesift.library.files import LibraryVideo
from framesift.search.search import Hit, SearchBy, search
from framesift.server.answering import export_name, frame_url
from framesift.server.models import BoundedText, MomentRecord, error_responses
from framesift.server.routes import ServicesDep, VideoDep
from framesift.text.subtitles.timed_blocks import to_srt, to_vtt
from framesift.types import Event

MAX_MOMENTS = 100
EVENTS: dict[int | str, dict[str, object]] = {
    200: {"content": {"application/x-subrip": {}, "text/vtt": {}}, "description": "The events, by time"}
}

router = APIRouter(tags=["library"])
_one_at_a_time = threading.Lock()  # the first search of a store verifies and scores all of its vectors


@router.get("/search", responses=error_responses(503))
def search_library(
    services: ServicesDep,
    text: Annotated[BoundedText, Query(min_length=1)],
    limit: Annotated[int, Query(ge=1, le=MAX_MOMENTS)] = 24,
    by: Annotated[SearchBy, Query(description="By frames, by timestamped text, or by both.")] = "both",
) -> list[MomentRecord]:
    """The moments of all indexed videos that best match a text, as of `framesift corpus search`, best first."""
    videos = services.catalog.indexed(services.files.list_videos())
    if not videos or not text.strip():
        return []
    settings = services.config.pipeline.index
    with _one_at_a_time:
        hits = search(
            text,
            limit=limit,
            by=by,
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
