"""Security middleware: checks every request before any other code and adds security headers to every response.

Refused are requests with an unknown Host header (DNS rebinding), from another site, without the token, or with a body
that is too large.
"""

import asyncio
import hmac
import ipaddress
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from framesift._utils.templates import csp_hash, read_asset, render_template
from framesift.search.images import MAX_IMAGE_BYTES
from framesift.server.config import MAX_BODY_BYTES, MAX_CHAT_BYTES, ServerConfig
from framesift.text.subtitles.reading import MAX_BYTES

log = logging.getLogger(__name__)

API = "/v1/"  # of an OpenAI-type server
TOKEN_HEADER = "x-framesift-token"  # noqa: S105 (a name) for clients whose key is the upstream's
STALLED_S = 60  # for the next part of a request's body
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
# Replies under it come from another server, and are never a page of this one.
API_HEADERS = {"content-security-policy": "default-src 'none'; sandbox", "x-content-type-options": "nosniff"}

ERROR_TITLES = {401: "Token required", 403: "Access denied", 404: "Page not found"}
ERROR_STYLE = read_asset("server/templates/error.css")
# The style is inline and allowed by its hash, because the server's own files are not served without the token.
ERROR_POLICY = (
    f"default-src 'none'; style-src {csp_hash(ERROR_STYLE)}; img-src data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


class RequestRefused(HTTPException):
    """A refused request: the status and the message of its response.

    An HTTPException, because FastAPI passes those on unchanged when they are raised while it reads a body.
    """


class SecurityMiddleware:
    """ASGI middleware without state: every request is checked by itself."""

    def __init__(self, app: ASGIApp, *, config: ServerConfig) -> None:
        self.app, self.config = app, config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the lifespan; there are no websockets
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        request, started = Request(scope), False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.setdefault("cache-control", "no-store" if scope["path"].startswith("/api") else "no-cache")
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith(API):
                    headers.update(API_HEADERS)
            await send(message)

        try:
            check_host(request.headers.get("host", ""), self.config)
            check_origin(request)
            if self.config.token and not self._has_token(request.headers):
                await self._sign_in(request)(scope, receive, send_with_headers)
                return
            await self.app(scope, _limit_body(request, receive, self.config), send_with_headers)
        except RequestRefused as refusal:
            if not started:
                response = error_response(request, refusal.status_code, refusal.detail)
                await response(scope, receive, send_with_headers)
        except Exception:
            log.exception("a request failed")
            if started:
                raise
            response = error_response(request, 500, "The server failed unexpectedly; see its log")
            await response(scope, receive, send_with_headers)

    def _has_token(self, headers: Headers) -> bool:
        if any(is_token(given, self.config.token) for given in (bearer_token(headers), headers.get(TOKEN_HEADER, ""))):
            return True
        # Not http.cookies: servers on other ports share the header, and one malformed cookie would hide ours.
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        return any(n == cookie_name(self.config) and _equal(v, cookie_value(self.config)) for n, _, v in pairs)

    def _sign_in(self, request: Request) -> Response:
        """Exchange `?token=` for a cookie that scripts can't read, and redirect to the address without it."""
        if request.method != "GET" or not _equal(request.query_params.get("token", ""), self.config.token):
            raise RequestRefused(
                401,
                "This page needs a token: enter it, or open the address that framesift printed when it started."
                if _expects_html(request)
                else "The header Authorization is missing or wrong; expected Authorization: Bearer TOKEN",
            )
        rest = urlencode([pair for pair in request.query_params.multi_items() if pair[0] != "token"])
        # One slash: a path that starts with two would redirect to another site.
        response = RedirectResponse("/" + request.scope["path"].lstrip("/") + (f"?{rest}" if rest else ""), 303)
        response.set_cookie(cookie_name(self.config), cookie_value(self.config), httponly=True, samesite="strict")
        return response


def cookie_name(config: ServerConfig) -> str:
    """Cookies are shared between ports, so each server on a machine needs a name of its own."""
    return f"framesift_{config.port}"


def cookie_value(config: ServerConfig) -> str:
    """Derived from the token, which may contain any character and should not be stored by the browser."""
    return hmac.new(config.token.encode(), b"framesift page", "sha256").hexdigest()


def check_host(host: str, config: ServerConfig) -> None:
    """Refuse a Host header with an unknown name: another site's domain may resolve to this machine."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        name = ""
    if name in config.host_names or name == config.host.lower():
        return
    try:
        ipaddress.ip_address(name)
    except ValueError:
        raise RequestRefused(
            403, f"The host name {name[:80]!r} is not allowed; to allow it, start the server with --allow-host"
        ) from None


def check_origin(request: Request) -> None:
    """Let other sites link to a page, nothing else. Clients other than browsers send neither header."""
    headers = request.headers
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
        raise RequestRefused(403, "Requests from other sites are refused")
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return
    is_link = request.method == "GET" and headers.get("sec-fetch-mode") == "navigate"
    if not is_link or request.scope["path"].startswith("/api") or headers.get("sec-fetch-dest") != "document":
        raise RequestRefused(403, "Requests from other sites are refused")


def _limit_body(request: Request, receive: Receive, config: ServerConfig) -> Receive:
    path = request.scope["path"]
    upload = config.upload_bytes
    limits = {"/api/uploads": upload, f"{API}files": upload, "/api/search": MAX_IMAGE_BYTES}
    is_subtitles = path.startswith("/api/videos/") and path.endswith("/subtitles")
    others = MAX_BYTES if is_subtitles else MAX_CHAT_BYTES if path.startswith(API) else MAX_BODY_BYTES
    limit = limits.get(path, others)
    size = f"{limit / 1e9:.3g} GB" if limit >= 1e9 else f"{limit / 1e6:.3g} MB"
    remedy = "--max-upload raises the limit for videos"
    if limit == MAX_CHAT_BYTES:
        remedy = f"send a large video as a file to {API}files, or send its URL"
    too_large = RequestRefused(413, f"The request is larger than {size}, this server's limit; {remedy}")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise too_large
    received, is_complete = 0, False

    async def counted() -> Message:
        nonlocal received, is_complete
        if is_complete:  # what comes next is the end of the connection, which may take any time
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), STALLED_S)
        except TimeoutError:
            raise RequestRefused(408, f"No data arrived for {STALLED_S} seconds; send the request again") from None
        is_complete = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > limit:
            raise too_large
        return message

    return counted


def error_response(request: Request, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as a self-contained page for a browser that shows one; for others as JSON."""
    fields = {**(headers or {}), **({"www-authenticate": "Bearer"} if status == 401 else {})}
    if not _expects_html(request):
        is_openai = request.scope["path"].startswith(API)
        return JSONResponse(openai_error(status, sentence) if is_openai else {"detail": sentence}, status, fields)
    page = render_template(
        "server/templates/error.html",
        style=ERROR_STYLE,
        status=status,
        title=ERROR_TITLES.get(status, "The request failed"),
        sentence=f"{sentence}. Check the address, or start from the library." if status == 404 else sentence,
    )
    return HTMLResponse(page, status, {**fields, "content-security-policy": ERROR_POLICY})


def openai_error(status: int, sentence: str) -> dict[str, Any]:
    """An error as OpenAI's API describes it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": sentence, "type": kind, "param": None, "code": None}}


def bearer_token(headers: Headers) -> str:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def _expects_html(request: Request) -> bool:
    """Whether the client is a browser showing a page; others get errors as JSON."""
    is_page = not request.scope["path"].startswith(("/api/", API))
    return is_page and "text/html" in request.headers.get("accept", "")


def is_token(given: str, token: str) -> bool:
    """Compare a header's value, decoded as Latin-1. Clients send letters outside ASCII as UTF-8 or percent-encoded."""
    forms = (given.encode("latin-1"), unquote_to_bytes(given))
    return any(hmac.compare_digest(form, token.encode()) for form in forms)


def _equal(given: str, expected: str) -> bool:
    """Compare in constant time, so that a token can't be guessed character by character."""
    return hmac.compare_digest(given.encode(), expected.encode())
