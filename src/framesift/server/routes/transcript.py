"""A video's timestamped text: as JSON, and as a subtitle file."""

from dataclasses import asdict
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse, Response

from framesift.server.answering import export_name
from framesift.server.models import EventRecord, error_responses
from framesift.server.routes import ServicesDep, VideoDep
from framesift.text.subtitles.writing import to_srt, to_vtt

EVENTS: dict[int | str, dict[str, object]] = {
    200: {"content": {"application/x-subrip": {}, "text/vtt": {}}, "description": "The events, by time"}
}

router = APIRouter(tags=["library"])


@router.get("/videos/{video}/events", responses=error_responses(404, 409) | EVENTS, response_model=list[EventRecord])
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
