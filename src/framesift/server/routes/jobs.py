"""The queue over HTTP: put a video in, take it out, and watch it move."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from fastapi.responses import StreamingResponse

from framesift.errors import InputError
from framesift.server.app import House, problems
from framesift.server.frame_images import Busy
from framesift.server.models import JobRecord
from framesift.server.routes import InHouse, OnShelf
from framesift.store.sample_video import VERSION

MOST_STREAMS = 32
LOOKED_EVERY_S = 0.2
ALIVE_EVERY_S = 15.0
STREAM: dict[int | str, dict[str, object]] = {
    200: {
        "content": {"text/event-stream": {}},
        "description": "A `jobs` event for every change, the whole list in it",
    }
}

router = APIRouter(tags=["jobs"])


@router.get("/jobs")
def list_jobs(house: InHouse) -> list[JobRecord]:
    """What is running, waiting, and done with."""
    return [JobRecord.model_validate(asdict(job)) for job in house.queue.jobs()]


@router.post("/videos/{video}/index", responses=problems(404, 503), status_code=202)
def index_video(house: InHouse, film: OnShelf) -> JobRecord:
    """Queue a video to be indexed and its words looked for; the work goes on after this answer."""
    facts = house.catalog.facts(film, wait=True)
    if facts is not None and facts.problem:
        raise InputError(facts.problem)
    return JobRecord.model_validate(asdict(house.queue.add(film.id, film.name, uploaded=film.uploaded)))


@router.post("/sample", responses=problems(503), status_code=202)
def make_sample(house: InHouse) -> JobRecord:
    """Queue the making of the ten-minute sample video, which then stands among the uploads."""
    name = f"sample-{VERSION}.mp4"
    return JobRecord.model_validate(asdict(house.queue.add(house.shelf.upload_id(name), name, "sample")))


@router.delete("/jobs/{job}", responses=problems(404))
def cancel_job(house: InHouse, job: Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]) -> JobRecord:
    """Cancel a job; what is indexed so far is kept, and queueing the video again goes on from there."""
    found = house.queue.cancel(job)
    if found is None:
        raise HTTPException(404, "There is no such job")
    return JobRecord.model_validate(asdict(found))


@router.get("/stream", responses=problems(503) | STREAM, response_class=StreamingResponse)
async def watch_jobs(house: InHouse) -> StreamingResponse:
    """The queue as server-sent events, the state first and then every change."""
    if house.streams >= MOST_STREAMS:
        raise Busy(f"{MOST_STREAMS} pages are watching already; close one")
    return StreamingResponse(_changes(house), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


async def _changes(house: House) -> AsyncIterator[str]:
    house.streams += 1
    seen, quiet_s = -1, 0.0
    try:
        while not house.closing:
            if house.changes.number != seen:
                seen, quiet_s = house.changes.number, 0.0
                if house.said[0] != seen:  # made once for all who watch
                    house.said = seen, json.dumps([job.model_dump() for job in list_jobs(house)])
                yield f"event: jobs\ndata: {house.said[1]}\n\n"
            elif quiet_s >= ALIVE_EVERY_S:
                quiet_s = 0.0
                yield ": still here\n\n"  # so that a connection that is gone is noticed
            await asyncio.sleep(LOOKED_EVERY_S)
            quiet_s += LOOKED_EVERY_S
    finally:
        house.streams -= 1
