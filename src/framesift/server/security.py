"""The door: every request passes here first, whatever it asks for.

Who asks under a strange host name (DNS rebinding), from another site, without the token, or with too large a body is
turned away before any other code runs; every answer leaves with headers that keep the page to itself.
"""

import hmac
import ipaddress
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.exceptions import HTTPException

from framesift.server import error_pages
from framesift.server.config import BODY_BYTES, Settings
from framesift.text.subtitles.reading import MAX_BYTES

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

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


class Refused(HTTPException):
    """A request that is not let in: the status and the sentence it gets.

    The framework's own kind of error, so that it passes through unchanged when it strikes while a body is read.
    """

    @property
    def sentence(self) -> str:
        return str(self.detail)


class Door:
    """ASGI middleware. Nothing is remembered about anyone: each request proves itself."""

    def __init__(self, app: App, *, settings: Settings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the lifespan; no websocket is served
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        sender = _Sender(send, private=scope["path"].startswith("/api"))
        try:
            check_host(headers.get("host", ""), self.settings)
            check_origin(scope["method"], scope["path"], headers)
            if self.settings.token and not self._has_token(headers):
                if await self._sign_in(scope, sender):
                    return
                raise Refused(401, "This page needs its token: open the address that framesift printed when it started")
            limited = _limited(receive, headers.get("content-length", ""), most_bytes(scope["path"], self.settings))
        except Refused as refusal:
            await _refuse(scope, headers, refusal, sender)
            return
        try:
            await self.app(scope, limited, sender)
        except Refused as refusal:
            if not sender.started:
                await _refuse(scope, headers, refusal, sender)
        except Exception:
            log.exception("a request failed")
            if sender.started:
                raise
            wrong = Refused(500, "Something went wrong in the server; its log says what")
            await _refuse(scope, headers, wrong, sender)

    def _has_token(self, headers: dict[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and _same(given.strip(), self.settings.token):
            return True
        # By hand: other servers on this machine share the header, and one odd cookie of theirs must not hide ours.
        for pair in headers.get("cookie", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == cookie_name(self.settings) and _same(value, cookie_value(self.settings)):
                return True
        return False

    async def _sign_in(self, scope: Scope, send: Send) -> bool:
        """`?token=` opens the page once: it moves into a cookie that scripts can't read, and out of the address."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for name, value in pairs if name == "token"), None)
        if scope["method"] != "GET" or given is None or not _same(given, self.settings.token):
            return False
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        # One slash only: a path that starts with two would lead to another site.
        place = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
        cookie = f"{cookie_name(self.settings)}={cookie_value(self.settings)}; Path=/; HttpOnly; SameSite=Strict"
        fields = [(b"location", place.encode("ascii", "replace")), (b"set-cookie", cookie.encode("latin-1"))]
        await send({"type": "http.response.start", "status": 303, "headers": fields})
        await send({"type": "http.response.body", "body": b""})
        return True


class _Sender:
    """Passes an answer on with our headers on it, and knows whether it has begun."""

    def __init__(self, send: Send, *, private: bool) -> None:
        self.send, self.private, self.started = send, private, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            own = {name for name, _ in message.get("headers", ())}
            extra = HEADERS | ({"cache-control": "no-store"} if self.private else {"cache-control": "no-cache"})
            added = [(k.encode(), v.encode()) for k, v in extra.items() if k.encode() not in own]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await self.send(message)


def cookie_name(settings: Settings) -> str:
    """Cookies do not part by port, so two servers on one machine need two names."""
    return f"framesift_{settings.port}"


def cookie_value(settings: Settings) -> str:
    """Made from the token, so that the token itself, which may hold any letters, is not kept by the browser."""
    return hmac.new(settings.token.encode(), b"framesift page", "sha256").hexdigest()


def check_host(host: str, settings: Settings) -> None:
    """Only names that mean this machine: a stranger's domain that resolves to it is not one."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        name = ""
    if name in settings.known_hosts or name == settings.host.lower():
        return
    try:
        ipaddress.ip_address(name)
    except ValueError:
        raise Refused(
            403, f"This server does not go by the name {name[:80]!r}; if it should, start it with --allow-host"
        ) from None


def check_origin(method: str, path: str, headers: dict[str, str]) -> None:
    """Other sites may link to a page, and nothing else. Programs that are no browser send neither header."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
        raise Refused(403, "Requests from other sites are refused")
    site = headers.get("sec-fetch-site", "none")
    if site in ("same-origin", "none"):
        return
    is_link = method == "GET" and headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api")
    if not is_link or headers.get("sec-fetch-dest") != "document":
        raise Refused(403, "Requests from other sites are refused")


def most_bytes(path: str, settings: Settings) -> int:
    """How large a body may be: questions are small, videos are not."""
    if path == "/api/uploads":
        return settings.upload_bytes
    return MAX_BYTES if path.startswith("/api/videos/") and path.endswith("/subtitles") else BODY_BYTES


def _limited(receive: Receive, length: str, most: int) -> Receive:
    if length.isdigit() and int(length) > most:
        raise Refused(413, too_large(most))
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise Refused(413, too_large(most))
        return message

    return counted


def too_large(most: int) -> str:
    size = f"{most / 2**30:.3g} GiB" if most >= 2**30 else f"{most / 2**20:.3g} MiB"
    return f"This is larger than {size}, the most this server takes; --max-upload raises the limit for videos"


def wants_page(path: str, accept: str) -> bool:
    """Whether an error is shown to a person; programs get JSON."""
    return "text/html" in accept and not path.startswith("/api/")


async def _refuse(scope: Scope, headers: dict[str, str], refusal: Refused, send: Send) -> None:
    if wants_page(scope["path"], headers.get("accept", "")):
        body = error_pages.render_error_page(refusal.status_code, refusal.sentence)
        fields = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-security-policy", error_pages.POLICY.encode()),
        ]
    else:
        body = json.dumps({"detail": refusal.sentence}, ensure_ascii=False)
        fields = [(b"content-type", b"application/json")]
    if refusal.status_code == 401:
        fields.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refusal.status_code, "headers": fields})
    await send({"type": "http.response.body", "body": body.encode()})


def _same(given: str, expected: str) -> bool:
    """In the same time whatever the difference, so that a token can't be guessed letter by letter."""
    return hmac.compare_digest(given.encode(), expected.encode())
