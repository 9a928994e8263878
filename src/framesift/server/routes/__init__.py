"""Routes of the API, one module per group, and the dependencies they share."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict
from typing import Annotated, TypeVar

from fastapi import Depends, HTTPException, Path, Request

from framesift.library.files import LibraryVideo
from framesift.library.jobs import Job
from framesift.readers.stopping import StopEvent
from framesift.server.frame_images import ServerBusy
from framesift.server.models import JobRecord
from framesift.server.services import Services

ThreadResult = TypeVar("ThreadResult")
BINARY_CONTENT = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
BINARY_BODY = {"requestBody": {"required": True, "content": BINARY_CONTENT}}


async def wait_for(future: "Future[ThreadResult]") -> ThreadResult:
    """Await a thread's future; other requests may wait for the same one. A shutdown meanwhile is a 503."""
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except asyncio.CancelledError:
        raise ServerBusy("the server is shutting down; try again when it is running") from None


async def run_in_thread(request: Request, work: Callable[[StopEvent], ThreadResult]) -> ThreadResult:
    """Run slow work in its own daemon thread: it neither uses up the thread pool nor delays the shutdown.

    work gets an event that is set when the client closes the connection.
    """
    future: Future[ThreadResult] = Future()
    abandoned = StopEvent()

    def run() -> None:
        try:
            future.set_result(work(abandoned))
        except BaseException as error:  # a thread's error belongs to its request, whatever it is
            future.set_exception(error)

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":  # its body has been read
            pass
        abandoned.set()

    threading.Thread(target=run, name="framesift-question", daemon=True).start()
    watching = asyncio.create_task(watch())
    try:
        return await wait_for(future)
    finally:
        watching.cancel()


async def _get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


# Neither a proxy nor the compression collects what a stream sends.
STREAM_HEADERS = {"x-accel-buffering": "no", "content-encoding": "identity"}
NO_SUCH_VIDEO = "There is no such video in the library"
ServicesDep = Annotated[Services, Depends(_get_services)]
VideoId = Annotated[
    str, Path(alias="video", pattern=r"^[0-9a-f]{16}$", description="The id of a video in the library.")
]


def find_video(video_id: VideoId, services: ServicesDep) -> LibraryVideo:
    """The video of this id; 404 if there is none."""
    video = services.files.get(video_id)
    if video is None:
        raise HTTPException(404, NO_SUCH_VIDEO)
    return video


VideoDep = Annotated[LibraryVideo, Depends(find_video)]


def describe_job(services: Services, job: Job) -> JobRecord:
    video = services.files.get(job.video) if job.is_open else None
    return JobRecord(**asdict(job), candidates=0 if video is None else services.catalog.unfinished.count(video))
