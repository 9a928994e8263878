"""The pages themselves and what they are made of: a fixed list of files inside the package, nothing from elsewhere."""

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response

from framesift.rendering.report.page import roles_style

# Where each file of the page comes from; the timeline and the looks are the report's own.
OWN = (
    *(
        "common.js",
        "docs.js",
        "library.js",
        "video.js",
        "player.js",
        "words.js",
        "settings.js",
        "cards.js",
        "answer.js",
        "shared.js",
    ),
    *("export.js", "page.css"),
)
SHARED = ("timeline.js", "rows.js", "scale.js", "timeline.css", "style.css")
FOLDERS = {"serve": "server/static", "exhibit": "rendering/report/assets"}
KINDS = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}

router = APIRouter(include_in_schema=False)


@router.get("/")
def library_page() -> HTMLResponse:
    return HTMLResponse(_text("serve", "library.html"))


@router.get("/video/{video}")
def video_page(video: str) -> HTMLResponse:  # noqa: ARG001 (the page reads it from its own address)
    return HTMLResponse(_text("serve", "video.html"))


@router.get("/api")
@router.get("/api/docs")
def docs_page() -> HTMLResponse:
    return HTMLResponse(_text("serve", "docs.html"))


@router.get("/assets/{name}")
def asset(name: str) -> Response:
    if name == "roles.css":
        return Response(roles_style(), media_type=KINDS["css"])
    room = "serve" if name in OWN else "exhibit" if name in SHARED else None
    if room is None:
        raise HTTPException(404, "There is no such file")
    return Response(_text(room, name), media_type=KINDS[name.rsplit(".", 1)[-1]])


@router.get("/favicon.ico")
def icon() -> Response:
    return Response(status_code=204)


@cache
def _text(room: str, name: str) -> str:
    return files("framesift").joinpath(FOLDERS[room], name).read_text(encoding="utf-8")
