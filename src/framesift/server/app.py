"""The FastAPI application: API under /api, pages and their assets, error responses, and the process that serves it."""

import socket
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from framesift._utils.locks import file_lock
from framesift._utils.templates import read_asset
from framesift._utils.version import __version__
from framesift.errors import FramesiftError, MissingExtra, NotStored, OptionError, ReaderError
from framesift.library.files import public_message
from framesift.library.jobs import QueueFull
from framesift.rendering.report.page import roles_style
from framesift.selection.registry import selectors
from framesift.server.config import ServerConfig, uvicorn_config
from framesift.server.frame_images import ServerBusy
from framesift.server.history import NothingKept
from framesift.server.models import error_responses
from framesift.server.routes import NO_SUCH_VIDEO, ServicesDep, history, jobs, library, questions, search
from framesift.server.security import SecurityMiddleware, error_response
from framesift.server.services import Services

DESCRIPTION = (
    "Everything the web page does, for programs. Records are those of the Python API: a selection is "
    'Selection.to_dict(), an answer Answer.to_dict(). Every error is JSON with a message under "detail".'
)
# Starlette's default messages, as sentences.
DEFAULT_MESSAGES = {
    "Not Found": "There is nothing at this address",
    "Method Not Allowed": "This address does not support this HTTP method",
}
STATUS_CODES: dict[type[FramesiftError], int] = {
    NotStored: 409,
    NothingKept: 404,
    QueueFull: 503,
    ServerBusy: 503,
    ReaderError: 502,
    MissingExtra: 501,
}


class Assets(StaticFiles):
    """Small files, read at once: a response in pieces takes half a millisecond longer for each of a page's 25."""

    def file_response(self, full_path: str | PathLike[str], *args: Any, **more: Any) -> Response:
        response = super().file_response(full_path, *args, **more)
        if not isinstance(response, FileResponse):  # not modified
            return response
        return Response(Path(full_path).read_bytes(), headers=dict(response.headers))


# The report's scripts and styles are shared with the page.
ASSETS = Assets(packages=[("framesift", "server/static"), ("framesift", "rendering/report/assets")])

pages = APIRouter(include_in_schema=False)


def create_app(config: ServerConfig) -> FastAPI:
    """Create the ASGI application; its threads run during its lifespan."""
    services = Services.create(config)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        services.start()
        try:
            yield
        finally:
            services.stop()

    app = FastAPI(
        title="framesift",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's own page loads its script from another site
        redoc_url=None,
        responses=error_responses(400, 401, 403, 422),
        dependencies=[Security(HTTPBearer(scheme_name="token", auto_error=False))] if config.token else None,
    )
    app.state.services = services
    for module in (library, jobs, questions, history, search):
        app.include_router(module.router, prefix="/api")
    app.include_router(pages)
    app.mount("/assets", ASSETS)
    app.add_exception_handler(FramesiftError, _handle_framesift_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    app.add_middleware(SecurityMiddleware, config=config)
    return app


@pages.get("/")
def library_page() -> HTMLResponse:
    return _page("library.html")


@pages.get("/video/{video}")
def video_page(services: ServicesDep, video: str) -> HTMLResponse:
    if services.files.get(video) is None:
        raise HTTPException(404, NO_SUCH_VIDEO)
    return _page("video.html")


@pages.get("/api")
@pages.get("/api/docs")
def docs_page() -> HTMLResponse:
    return _page("docs.html")


@pages.get("/assets/roles.css")
def role_colours() -> Response:
    return Response(roles_style(), media_type="text/css")


@pages.get("/favicon.ico")
def icon() -> Response:
    return Response(status_code=204)


def _page(name: str) -> HTMLResponse:
    return HTMLResponse(read_asset(f"server/static/{name}"))


async def _handle_framesift_error(request: Request, error: Exception) -> Response:
    services: Services = request.app.state.services
    named = request.path_params.get("video")
    video = None if named is None else services.files.get(named)
    if named is not None and video is None:  # deleted during the request
        return error_response(request, 404, NO_SUCH_VIDEO)
    status = next((code for kind, code in STATUS_CODES.items() if isinstance(error, kind)), 400)
    message = str(error) if video is None else public_message(error, video)
    return JSONResponse({"detail": _capitalised(message)}, status)


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 (registered for no other)
    kind = request.headers.get("content-type", "")
    if (
        request.method in ("POST", "PATCH")
        and "json" not in kind
        and any(row["loc"][0] == "body" for row in error.errors())
    ):
        got = f"is {kind[:80]!r}" if kind else "is missing"
        return JSONResponse({"detail": f"The header content-type {got}; expected application/json"}, 422)
    parts = []
    for row in error.errors()[:3]:
        field = ".".join(str(part) for part in row["loc"] if part not in ("body", "query", "path", "header"))
        if row["type"] == "json_invalid":
            parts.append(f"{'settings' if field == 'settings' else 'the body'} can't be read as JSON")
        elif row["type"] == "string_pattern_mismatch":
            parts.append(f"{field} contains characters that are not allowed")
        else:
            parts.append(f"{field}: {row['msg']}" if field else str(row["msg"]))
    message = "; ".join(parts).encode("utf-8", "replace").decode()
    return JSONResponse({"detail": _capitalised(message)}, 422)


async def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (registered for no other)
    message = DEFAULT_MESSAGES.get(error.detail, error.detail)
    return error_response(request, error.status_code, message, error.headers)


def _capitalised(text: str) -> str:
    """Start with a capital, unless the first word is an address or a selector's name."""
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.isalpha() and first not in selectors() else text


def lock_state(state: Path) -> AbstractContextManager[None]:
    """Lock the server's state while it runs: a second server would overwrite the queue and the uploads."""

    def refuse() -> None:
        raise OptionError(
            f"another framesift serve uses the store {state.parent}; stop it, or set another directory with --store DIR"
        )

    return file_lock(state / ".framesift-lock", refuse)


class Server(uvicorn.Server):
    """Closes the event streams before it waits for connections: they would never close by themselves."""

    def __init__(self, config: ServerConfig) -> None:
        self.app = app = create_app(config)
        self.services: Services = app.state.services
        super().__init__(uvicorn_config(app))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.services.closing = True
        await super().shutdown(sockets)
