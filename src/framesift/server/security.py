"""Security middleware: checks every request before any other code and adds security headers to every response.

Refused are requests with an unknown Host header (DNS rebinding), from another site, without the token, or with a body
that is too large.
"""

import asyncio
import hmac
import ipaddress
import json
import logging
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from framesift.rendering.templates import csp_hash, read_asset, render_template
from framesift.server.config import MAX_BODY_BYTES, ServerConfig
from framesift.text.subtitles.reading import MAX_BYTES

log = logging.getLogger(__name__)

STALLED_S = 20  # for the next part of a request's body
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
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        sender = _HeaderSender(send, private=scope["path"].startswith("/api"))
        try:
            check_host(headers.get("host", ""), self.config)
            check_origin(scope["method"], scope["path"], headers)
            if self.config.token and not self._has_token(headers):
                if await self._sign_in(scope, sender):
                    return
                raise RequestRefused(
                    401,
                    "This page needs a token: enter it, or open the address that framesift printed when it started."
                    if expects_html(scope["path"], headers.get("accept", ""))
                    else "The header Authorization is missing or wrong; expected Authorization: Bearer TOKEN",
                )
            limited = _limit_body(
                receive, headers.get("content-length", ""), max_body_bytes(scope["path"], self.config)
            )
        except RequestRefused as refusal:
            await _refuse(scope, headers, refusal, sender)
            return
        try:
            await self.app(scope, limited, sender)
        except RequestRefused as refusal:
            if not sender.started:
                await _refuse(scope, headers, refusal, sender)
        except Exception:
            log.exception("a request failed")
            if sender.started:
                raise
            failure = RequestRefused(500, "The server failed unexpectedly; see its log")
            await _refuse(scope, headers, failure, sender)

    def _has_token(self, headers: dict[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _equal(given.strip(), self.config.token):
            return True
        # Not http.cookies: servers on other ports share the header, and one malformed cookie would hide ours.
        for pair in headers.get("cookie", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == cookie_name(self.config) and _equal(value, cookie_value(self.config)):
                return True
        return False

    async def _sign_in(self, scope: Scope, send: Send) -> bool:
        """Exchange `?token=` for a cookie that scripts can't read, and redirect to the address without it."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in pairs if name == "token"), None)
        if scope["method"] != "GET" or given is None or not _equal(given, self.config.token):
            return False
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        # One slash: a path that starts with two would redirect to another site.
        target = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
        cookie = f"{cookie_name(self.config)}={cookie_value(self.config)}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", target.encode("ascii", "replace")), (b"set-cookie", cookie.encode("latin-1"))]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
        return True


class _HeaderSender:
    """Adds the security headers to a response, and records whether it has started."""

    def __init__(self, send: Send, *, private: bool) -> None:
        self.send, self.private, self.started = send, private, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            present = {name for name, _ in message.get("headers", ())}
            extra = HEADERS | ({"cache-control": "no-store"} if self.private else {"cache-control": "no-cache"})
            added = [(k.encode(), v.encode()) for k, v in extra.items() if k.encode() not in present]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await self.send(message)


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


def check_origin(method: str, path: str, headers: dict[str, str]) -> None:
    """Let other sites link to a page, nothing else. Clients other than browsers send neither header."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
        raise RequestRefused(403, "Requests from other sites are refused")
    site = headers.get("sec-fetch-site", "none")
    if site in ("same-origin", "none"):
        return
    is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api")
    if not is_link or headers.get("sec-fetch-dest") != "document":
        raise RequestRefused(403, "Requests from other sites are refused")


def max_body_bytes(path: str, config: ServerConfig) -> int:
    """The limit of a request's body: large for videos, small for questions."""
    if path == "/api/uploads":
        return config.upload_bytes
    return MAX_BYTES if path.startswith("/api/videos/") and path.endswith("/subtitles") else MAX_BODY_BYTES


def _limit_body(receive: Receive, length: str, limit: int) -> Receive:
    if length.isdigit() and int(length) > limit:
        raise RequestRefused(413, _too_large(limit))
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
            raise RequestRefused(413, _too_large(limit))
        return message

    return counted


def _too_large(limit: int) -> str:
    size = f"{limit / 1e9:.3g} GB" if limit >= 1e9 else f"{limit / 1e6:.3g} MB"
    return f"The request is larger than {size}, this server's limit; --max-upload raises the limit for videos"


def expects_html(path: str, accept: str) -> bool:
    """Whether the client is a browser showing a page; others get errors as JSON."""
    return "text/html" in accept and not path.startswith("/api/")


def render_error_page(status: int, sentence: str) -> str:
    """The self-contained page shown in a browser for a refused request or an unknown address."""
    return render_template(
        "server/templates/error.html",
        style=ERROR_STYLE,
        status=status,
        title=ERROR_TITLES.get(status, "The request failed"),
        sentence=f"{sentence}. Check the address, or start from the library." if status == 404 else sentence,
    )


async def _refuse(scope: Scope, headers: dict[str, str], refusal: RequestRefused, send: Send) -> None:
    if expects_html(scope["path"], headers.get("accept", "")):
        body = render_error_page(refusal.status_code, refusal.detail)
        policy = ERROR_POLICY.encode()
        fields = [(b"content-type", b"text/html; charset=utf-8"), (b"content-security-policy", policy)]
    else:
        body = json.dumps({"detail": refusal.detail}, ensure_ascii=False)
        fields = [(b"content-type", b"application/json")]
    if refusal.status_code == 401:
        fields.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status_code, "headers": fields})
    await send({"type": "http.response.body", "body": body.encode()})


def _equal(given: str, expected: str) -> bool:
    """Compare in constant time, so that a token can't be guessed character by character."""
    return hmac.compare_digest(given.encode(), expected.encode())
