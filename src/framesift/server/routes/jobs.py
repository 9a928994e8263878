"""The job queue over HTTP: add, cancel, list and stream its jobs."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from framesift.demo.video import SHOWN_NAME
from framesift.library.jobs import Job
from framesift.server.models import JobRecord, error_responses
from framesift.server.routes import STREAM_HEADERS, ServicesDep, VideoDep, describe_job
from framesift.server.services import Services

POLL_S = 0.2
KEEPALIVE_S = 15.0
STREAM: dict[int | str, dict[str, object]] = {
    200: {
        "content": {"text/event-stream": {}},
        "description": "A `jobs` event with the whole list for every change, and a `history` event with a version by "
        "video whenever somebody asks, names or deletes a question, or an answer begins or ends",
    }
}

JobId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="The id of a job.")]

router = APIRouter(tags=["jobs"])


@router.get("/jobs")
def list_jobs(services: ServicesDep) -> list[JobRecord]:
    """The running, waiting and finished jobs."""
    return [describe_job(services, job) for job in services.queue.jobs()]


@router.get("/jobs/{job}", responses=error_responses(404))
def get_job(services: ServicesDep, job: JobId) -> JobRecord:
    """One job."""
    return _describe_or_404(services, services.queue.get(job))


@router.post("/jobs/{job}/first", responses=error_responses(404))
def move_job_first(services: ServicesDep, job: JobId) -> JobRecord:
    """Move a waiting job to the front of the queue; the running one is finished first."""
    return _describe_or_404(services, services.queue.move_first(job))


@router.post("/videos/{video}/index", responses=error_responses(404, 503), status_code=202)
def index_video(services: ServicesDep, video: VideoDep) -> JobRecord:
    """Queue a video for indexing; the job runs after this response."""
    return describe_job(services, services.enqueue(video))


@router.post("/sample", responses=error_responses(503), status_code=202)
def make_sample(services: ServicesDep) -> JobRecord:
    """Queue the generation of the ten-minute sample video, which is then listed among the uploads."""
    return describe_job(services, services.queue.add(services.files.upload_id(SHOWN_NAME), SHOWN_NAME, "sample"))


@router.delete("/jobs/{job}", responses=error_responses(404))
def cancel_job(services: ServicesDep, job: JobId) -> JobRecord:
    """Cancel a job; what is indexed so far is kept, and queueing the video again resumes from there."""
    return _describe_or_404(services, services.queue.cancel(job))


def _describe_or_404(services: Services, job: Job | None) -> JobRecord:
    if job is None:
        raise HTTPException(404, "There is no such job")
    return describe_job(services, job)


@router.get("/stream", responses=STREAM, response_class=StreamingResponse)
async def watch_jobs(services: ServicesDep) -> StreamingResponse:
    """The jobs as server-sent events: the current list first, then every change."""
    return StreamingResponse(_job_events(services), media_type="text/event-stream", headers=STREAM_HEADERS)


async def _job_events(services: Services) -> AsyncIterator[str]:
    sent, idle_s, history = -1, 0.0, ""
    services.open_streams += 1
    try:
        while not services.closing:
            if services.changes.value != sent:
                sent, idle_s = services.changes.value, 0.0
                jobs = await run_in_threadpool(list_jobs, services)
                yield f"event: jobs\ndata: {json.dumps([asdict(job) for job in jobs])}\n\n"
                versions = json.dumps(dict(services.history.versions))  # which other threads change
                if versions != history:
                    history = versions
                    yield f"event: history\ndata: {versions}\n\n"
            elif idle_s >= KEEPALIVE_S:
                idle_s = 0.0
                yield ": keep-alive\n\n"  # so that a closed connection is noticed
            await asyncio.sleep(POLL_S)
            idle_s += POLL_S
    finally:
        services.open_streams -= 1
