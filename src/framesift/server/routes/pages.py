"""The pages and their assets, files inside the package."""

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from framesift.rendering.report.page import roles_style
from framesift.rendering.templates import read_asset
from framesift.server.routes import NO_SUCH_VIDEO, ServicesDep

# The report's scripts and styles are shared with the page.
ASSETS = StaticFiles(packages=[("framesift", "server/static"), ("framesift", "rendering/report/assets")])

router = APIRouter(include_in_schema=False)


@router.get("/")
def library_page() -> HTMLResponse:
    return _page("library.html")


@router.get("/video/{video}")
def video_page(services: ServicesDep, video: str) -> HTMLResponse:
    if services.files.get(video) is None:
        raise HTTPException(404, NO_SUCH_VIDEO)
    return _page("video.html")


@router.get("/api")
@router.get("/api/docs")
def docs_page() -> HTMLResponse:
    return _page("docs.html")


@router.get("/assets/roles.css")
def role_colours() -> Response:
    return Response(roles_style(), media_type="text/css")


@router.get("/favicon.ico")
def icon() -> Response:
    return Response(status_code=204)


def _page(name: str) -> HTMLResponse:
    return HTMLResponse(read_asset(f"server/static/{name}"))
