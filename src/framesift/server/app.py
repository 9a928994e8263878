"""The server put together: the door, the API under /api, the pages, and the threads behind them."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from framesift._utils.version import __version__
from framesift.errors import FramesiftError, MissingExtra, ReaderError
from framesift.selection.registry import selectors
from framesift.server import error_pages
from framesift.server.answering import Desk
from framesift.server.catalog import Catalog, NotReady
from framesift.server.config import Settings
from framesift.server.files import Shelf
from framesift.server.frame_images import Busy, Pictures
from framesift.server.jobs import Full, Queue
from framesift.server.models import Problem
from framesift.server.security import Door, wants_page

DESCRIPTION = (
    "Everything the page does, for programs. Records are those of the Python API: a selection is "
    'Selection.to_dict(), an answer Answer.to_dict(). Every error is JSON with one sentence under "detail".'
)
# What the framework says by itself, as sentences.
FRAMEWORK = {
    "Not Found": "There is nothing at this address",
    "Method Not Allowed": "This address takes no request of this kind",
}
STATUS: dict[type[FramesiftError], int] = {NotReady: 409, Full: 503, Busy: 503, ReaderError: 502, MissingExtra: 501}


class Changes:
    """A number that grows when anything the page shows has changed; streams compare it with what they last told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.number = 0

    def __call__(self) -> None:
        with self._lock:
            self.number += 1


@dataclass
class House:
    """What the routes work with; one for each server."""

    settings: Settings
    shelf: Shelf
    catalog: Catalog
    pictures: Pictures
    queue: Queue
    desk: Desk
    changes: Changes
    streams: int = 0
    said: tuple[int, str] = (-1, "")  # the jobs as text, and the number of changes it was made at
    uploading: int = 0
    closing: bool = False

    @classmethod
    def of(cls, settings: Settings) -> "House":
        changes = Changes()
        shelf = Shelf(settings)
        catalog = Catalog(settings, shelf, changes)
        pictures = Pictures(settings.state / "pictures")
        queue = Queue(settings.state / "jobs.json", catalog.work, changes, shelf.mark)
        return cls(settings, shelf, catalog, pictures, queue, Desk(catalog, pictures, settings.readers), changes)

    def start(self) -> None:
        self.catalog.start()
        self.pictures.start()
        self.queue.start()

    def stop(self) -> None:
        self.closing = True
        self.catalog.stop()
        self.pictures.stop()
        self.queue.stop()


def create_app(settings: Settings) -> FastAPI:
    """The whole server as an ASGI application; its threads run while its lifespan does."""
    from framesift.server.routes import asking, jobs, library, pages

    house = House.of(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        house.start()
        try:
            yield
        finally:
            house.stop()

    app = FastAPI(
        title="framesift",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # the framework's own page loads its script from another site
        redoc_url=None,
        responses={400: {"model": Problem}, 401: {"model": Problem}, 403: {"model": Problem}, 422: {"model": Problem}},
    )
    app.state.house = house
    for routes in (library, jobs, asking):
        app.include_router(routes.router, prefix="/api")
    app.include_router(pages.router)
    app.add_exception_handler(FramesiftError, _own_error)
    app.add_exception_handler(RequestValidationError, _wrong_request)
    app.add_exception_handler(HTTPException, _told)
    app.add_middleware(Door, settings=settings)
    return app


async def _own_error(_: Request, error: Exception) -> Response:
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
    return JSONResponse({"detail": _sentence(str(error))}, status)


async def _wrong_request(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 (it is registered for no other)
    parts = []
    for row in error.errors()[:3]:
        place = ".".join(str(part) for part in row["loc"] if part not in ("body", "query", "path", "header"))
        if row["type"] == "json_invalid":
            parts.append("the body can't be read as JSON")
        elif place.startswith("settings."):  # one row for every kind that it is not
            parts = [f"{'.'.join(place.split('.')[:3])} can't be read; expected a number, a text, true or false"]
        elif row["type"] == "string_pattern_mismatch":
            parts.append(f"{place} holds characters that it may not hold")
        else:
            parts.append(f"{place}: {row['msg']}" if place else str(row["msg"]))
    sentence = "; ".join(parts).encode("utf-8", "replace").decode()
    return JSONResponse({"detail": _sentence(sentence)}, 422)


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (it is registered for no other)
    said = FRAMEWORK.get(error.detail, error.detail)
    if error.status_code == 404 and wants_page(request.url.path, request.headers.get("accept", "")):
        return HTMLResponse(
            error_pages.render_error_page(404, said), 404, headers={"content-security-policy": error_pages.POLICY}
        )
    return JSONResponse({"detail": said}, error.status_code, headers=dict(error.headers or {}))


def _sentence(text: str) -> str:
    """With a capital, unless it starts with an address or a name."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first not in selectors() else text


Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """These statuses as they stand in the API's description."""
    return {status: {"model": Problem} for status in statuses}
