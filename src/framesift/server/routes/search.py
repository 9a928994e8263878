"""Search in all indexed videos of the library."""

import threading
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from framesift.batch.workers import EVENTS, store_subtitles
from framesift.encoders.registry import get_encoder
from framesift.errors import FramesiftError
from framesift.search.search import Hit, SearchBy, search
from framesift.server.files import LibraryVideo
from framesift.server.models import BoundedText, EventRecord, MomentRecord, error_responses
from framesift.server.routes import ServicesDep

MAX_MOMENTS = 100

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
    videos = _indexed_videos(services)
    if not videos or not text.strip():
        return []
    settings = services.config.pipeline
    with _one_at_a_time:
        hits = search(
            text,
            limit=limit,
            by=by,
            encoder=get_encoder(settings.encoder, device=settings.device)
            if isinstance(settings.encoder, str)
            else settings.encoder,
            store=settings.store,
            videos=videos,
        )
    return [_moment(hit, videos[hit.fingerprint]) for hit in hits]


def _indexed_videos(services: ServicesDep) -> dict[str, LibraryVideo]:
    """The indexed videos of the library, by fingerprint; of equal files the first."""
    videos: dict[str, LibraryVideo] = {}
    for video in services.files.list_videos():
        facts = services.catalog.facts(video)
        if facts is not None and not facts.problem and services.catalog.index_warnings(video) is not None:
            videos.setdefault(facts.fingerprint, video)
            _store_text(services, video, facts.fingerprint)
    return videos


def _store_text(services: ServicesDep, video: LibraryVideo, fingerprint: str) -> None:
    """Store the text of a video that was indexed before its text was stored for searching."""
    summary, store = services.catalog.summary(video), services.catalog.store
    if summary is not None and summary.events and not (store.root / fingerprint / f"events-{EVENTS}").exists():
        with suppress(FramesiftError, OSError):  # it is found by its frames
            store_subtitles(store, fingerprint, services.catalog.pipeline.find_events(video.path), str(video.path))


def _moment(hit: Hit, video: LibraryVideo) -> MomentRecord:
    kind = "near" if hit.relevance is None else "frames"  # the time of a text is not that of a frame
    return MomentRecord(
        video=video.id,
        name=video.name,
        time_s=hit.time_s,
        picture=f"/api/videos/{video.id}/{kind}/{hit.time_s:.6f}.jpg?v={hit.fingerprint[:16]}",
        relevance=hit.relevance,
        event_relevance=hit.event_relevance,
        event=None if hit.event is None else EventRecord.model_validate(asdict(hit.event)),
        stands_out=hit.stands_out,
    )
