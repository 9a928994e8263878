"""The pages and their assets: a fixed list of files inside the package."""

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response

from framesift.rendering.report.page import roles_style
from framesift.server.routes import NO_SUCH_VIDEO, ServicesDep

SERVER_FOLDER = "server/static"
REPORT_FOLDER = "rendering/report/assets"
SERVER_ASSETS = (
    "answer.js",
    "cards.js",
    "common.js",
    "docs.js",
    "export.js",
    "history.js",
    "jobs.js",
    "keys.js",
    "library.js",
    "methods.js",
    "player.js",
    "readers.js",
    "result.js",
    "search.js",
    "settings.js",
    "shared.js",
    "state.js",
    "stream.js",
    "subtitles.js",
    "transcript.js",
    "video.js",
    "page.css",
)
# Shared with the report.
REPORT_ASSETS = ("timeline.js", "zoom.js", "tip.js", "rows.js", "scale.js", "markdown.js", "timeline.css", "style.css")
MEDIA_TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}

router = APIRouter(include_in_schema=False)


@router.get("/")
def library_page() -> HTMLResponse:
    return HTMLResponse(_read(SERVER_FOLDER, "library.html"))


@router.get("/video/{video}")
def video_page(services: ServicesDep, video: str) -> HTMLResponse:
    if services.files.get(video) is None:
        raise HTTPException(404, NO_SUCH_VIDEO)
    return HTMLResponse(_read(SERVER_FOLDER, "video.html"))


@router.get("/api")
@router.get("/api/docs")
def docs_page() -> HTMLResponse:
    return HTMLResponse(_read(SERVER_FOLDER, "docs.html"))


@router.get("/assets/{name}")
def asset(name: str) -> Response:
    if name == "roles.css":
        return Response(roles_style(), media_type=MEDIA_TYPES["css"])
    folder = SERVER_FOLDER if name in SERVER_ASSETS else REPORT_FOLDER if name in REPORT_ASSETS else None
    if folder is None:
        raise HTTPException(404, "There is no such file")
    return Response(_read(folder, name), media_type=MEDIA_TYPES[name.rsplit(".", 1)[-1]])


@router.get("/favicon.ico")
def icon() -> Response:
    return Response(status_code=204)


@cache
def _read(folder: str, name: str) -> str:
    return files("framesift").joinpath(folder, name).read_text(encoding="utf-8")
