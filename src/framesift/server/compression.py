"""Responses of text compressed with gzip, and ETags, so that an unchanged one is not sent again."""

import gzip
import hashlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIN_BYTES = 1000
LEVEL = 5
TEXT_TYPES = ("text/html", "text/css", "text/javascript", "application/json")


class CompressionMiddleware:
    """Compresses responses that come in one piece; files, images and streams pass unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        started: Message | None = None

        async def sender(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start" and _is_text(message):
                started = message
            elif message["type"] == "http.response.body" and started is not None:
                start, started = started, None
                if not message.get("more_body"):
                    start, message = _packed(start, message, headers, is_get=scope["method"] in ("GET", "HEAD"))
                await send(start)
                await send(message)
            else:
                await send(message)

        await self.app(scope, receive, sender)


def _is_text(message: Message) -> bool:
    fields = dict(message.get("headers", ()))
    kind = fields.get(b"content-type", b"").decode("latin-1").partition(";")[0]
    return kind in TEXT_TYPES and b"content-disposition" not in fields


def _packed(start: Message, message: Message, headers: dict[bytes, bytes], *, is_get: bool) -> tuple[Message, Message]:
    """The two messages of a response, with an ETag and compressed, or as 304 where the client has it already."""
    body: bytes = message.get("body", b"")
    fields = [row for row in start["headers"] if row[0] not in (b"content-length", b"vary")]
    fields.append((b"vary", b"accept-encoding"))
    if is_get and start["status"] == 200:
        tag = f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'.encode()
        fields.append((b"etag", tag))
        known = [one.strip() for one in headers.get(b"if-none-match", b"").split(b",")]
        if tag in known or tag.removeprefix(b"W/") in known:
            return {**start, "status": 304, "headers": fields}, {**message, "body": b""}
    if len(body) >= MIN_BYTES and b"gzip" in headers.get(b"accept-encoding", b""):
        body = gzip.compress(body, LEVEL, mtime=0)
        fields.append((b"content-encoding", b"gzip"))
    fields.append((b"content-length", str(len(body)).encode()))
    return {**start, "headers": fields}, {**message, "body": body}
