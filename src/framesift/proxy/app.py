"""The HTTP side: /v1 of an OpenAI-type server, whose requests go on to the upstream with frames in place of videos."""

import asyncio
import json
import logging
import os
import tempfile
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Set
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import IO, Any, TypeVar
from urllib.parse import unquote, urlencode

import anyio
import anyio.to_thread
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from framesift._utils.addresses import http_library
from framesift._utils.credentials import KEY_VARIABLE, parse_address
from framesift.errors import FramesiftError, InputError
from framesift.library.catalog import Catalog
from framesift.library.files import LibraryVideo
from framesift.library.jobs import QueueFull
from framesift.library.session import Call
from framesift.proxy.conversation import FIELD, HEADER, SENT, ChatRequest
from framesift.proxy.replies import Addition, event
from framesift.proxy.videos import ChatVideos, ProxyConfig, UnknownFile, WatchedVideo
from framesift.readers import failures
from framesift.server.config import ServerConfig, uvicorn_config
from framesift.server.security import API, SecurityMiddleware, bearer_token, is_token, openai_error
from framesift.video.files import VIDEO_SUFFIXES

MAX_WATCHING = 64  # requests with videos at a time; most of them wait for an index
CONNECT_TIMEOUT_S = 10.0
PROGRESS_S = 0.5  # between two comments of a stream
SPOOL_BYTES = 2**20  # of a request's body that are kept in memory
CHUNK_BYTES = 2**16
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
# Of one connection only, or of one server: not passed on in either direction.
OWN_HEADERS = {
    *("host", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "upgrade"),
    *("transfer-encoding", "accept-encoding", "cookie", "set-cookie", "expect", "date"),
}
OF_CONTENT = {"content-length", "content-encoding"}
# Neither a proxy nor the compression collects what a stream sends.
STREAM_HEADERS = {"content-type": "text/event-stream", "x-accel-buffering": "no", "content-encoding": "identity"}
Returned = TypeVar("Returned")
log = logging.getLogger(__name__)


class UpstreamError(FramesiftError):
    """The upstream can't be reached, or its reply was lost."""


STATUS_CODES: dict[type[FramesiftError], int] = {UnknownFile: 404, QueueFull: 503, UpstreamError: 502}


@dataclass
class Exchange:
    """One request, its body on disk, and what is closed after the response, or once the client has gone."""

    request: Request
    body: IO[bytes]
    stack: AsyncExitStack


Handler = Callable[[Exchange], Awaitable[Response]]


class Endpoint:
    """An ASGI application for one handler, which is cancelled when the client closes the connection."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with AsyncExitStack() as stack:
            body = stack.enter_context(tempfile.SpooledTemporaryFile(SPOOL_BYTES))  # noqa: SIM115
            try:
                async for chunk in request.stream():
                    body.write(chunk)
            except ClientDisconnect:
                return
            body.seek(0)
            async with anyio.create_task_group() as group:

                async def cancel_on_disconnect() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(cancel_on_disconnect)
                try:
                    response = await self.handler(Exchange(request, body, stack))
                except FramesiftError as error:
                    response = _refusal(error)
                try:
                    await response(scope, receive, send)
                except UpstreamError as error:  # the client sees that the reply ends early, as without a proxy
                    log.warning("%s", error)
                group.cancel_scope.cancel()


class Proxy:
    """The handlers. Work on videos runs in threads."""

    def __init__(self, config: ProxyConfig, access: ServerConfig, catalog: Catalog | None = None) -> None:
        self.videos, self._address, self._token = ChatVideos(config, catalog), config.address, access.token
        library = http_library()
        limits = library.Limits(max_connections=None, max_keepalive_connections=20)
        timeout = library.Timeout(None, connect=CONNECT_TIMEOUT_S)  # a model may work for minutes
        self._client, self._errors = library.AsyncClient(limits=limits, timeout=timeout), library.HTTPError
        self._owners: dict[str, str] = {}
        self._watching = anyio.CapacityLimiter(MAX_WATCHING)

    def routes(self) -> list[Route]:
        handlers: list[tuple[str, Handler, list[str]]] = [
            ("chat/completions", self.chat, ["POST"]),
            ("files", self.upload, ["POST"]),
            ("files", self.list_files, ["GET"]),
            (f"files/{SENT}{{id}}", self.file, ["GET", "DELETE"]),
            (f"files/{SENT}{{id}}/content", self.file_content, ["GET"]),
            (f"{FIELD}/{{video}}/{{time_s:float}}.jpg", self.frame, ["GET"]),
            ("{path:path}", self.forward, METHODS),
        ]
        return [Route(API + path, Endpoint(handler), methods=methods) for path, handler, methods in handlers]

    async def chat(self, exchange: Exchange) -> Response:
        """A chat request: frames are selected from its videos first; one without videos is passed on as it is."""
        chat = await run_in_threadpool(self.videos.read, exchange.body, exchange.request.headers)
        if chat is None:
            return await self.forward(exchange)
        latest: deque[bytes] = deque(maxlen=1)
        cancelled = threading.Event()

        def report(stage: str, done: float, total: float, /) -> None:
            share = f" {min(done / total, 1.0):.0%}" if total else ""
            latest.append(f": framesift: {stage}{share}\n\n".encode())

        watching = asyncio.create_task(self._in_thread(self.videos.watch, chat, Call(report, cancelled)))
        exchange.stack.callback(watching.cancel)
        exchange.stack.callback(cancelled.set)

        async def comments_then_reply() -> AsyncIterator[bytes]:
            while not watching.done():
                yield latest[0]
                await asyncio.wait({watching}, timeout=PROGRESS_S)
            try:
                reply = await self._reply(exchange, chat, await watching)
            except FramesiftError as error:
                reply = _refusal(error)
            async for piece in _as_events(reply):
                yield piece

        while chat.body.get("stream") is True and not watching.done():
            if latest:  # its videos are not ready
                return StreamingResponse(comments_then_reply(), headers=STREAM_HEADERS)
            await asyncio.wait({watching}, timeout=PROGRESS_S)
        return await self._reply(exchange, chat, await watching)

    async def _reply(self, exchange: Exchange, chat: ChatRequest, watched: Mapping[str, WatchedVideo]) -> Response:
        """The upstream's reply to a request with frames, with the addition."""
        owners, as_video = await self._list_owners(exchange, chat.model), True
        while True:
            content, as_video = await self._in_thread(self.videos.content, chat, watched, owners, as_video)
            upstream = await self._send(exchange, content, len(content))
            headers = _passed_on(upstream.headers, OF_CONTENT)
            if upstream.status_code < 400:
                break
            body = await self._read(upstream)
            message = failures.remove_images(body.decode("utf-8", "replace"))
            if not as_video or not self.videos.reader(chat.model).refuses_video(upstream.status_code, message):
                return Response(body, upstream.status_code, headers)
            as_video = False
        base = f"{exchange.request.base_url}{API[1:]}"
        record = {"question": chat.question, "videos": [one.record(base) for one in watched.values()]}
        addition = Addition(record, chat.options.links and bool(watched))
        if headers.get("content-type", "").startswith("text/event-stream"):
            pieces = addition.to_stream(self._pieces(upstream.aiter_bytes()))
            return StreamingResponse(pieces, upstream.status_code, headers | STREAM_HEADERS)
        return Response(addition.to_json(await self._read(upstream)), upstream.status_code, headers)

    async def forward(self, exchange: Exchange) -> Response:
        """Pass a request on unchanged, and its reply back, byte for byte."""
        size = exchange.body.seek(0, os.SEEK_END)
        exchange.body.seek(0)
        upstream = await self._send(exchange, _chunks(exchange.body) if size else None, size)
        return StreamingResponse(self._pieces(upstream.aiter_raw()), upstream.status_code, _passed_on(upstream.headers))

    async def upload(self, exchange: Exchange) -> Response:
        """Keep a video as OpenAI's API keeps files; any other file goes to the upstream."""
        if exchange.request.headers.get("content-type", "").startswith("multipart/form-data"):
            try:
                form = await MultiPartParser(exchange.request.headers, _chunks(exchange.body)).parse()
            except (MultiPartException, KeyError) as error:
                raise InputError(f"the form can't be read ({error}); expected one with the part `file`") from None
            exchange.stack.push_async_callback(form.close)
            file = form.get("file")
            if isinstance(file, UploadFile) and _is_video(file):
                video = await run_in_threadpool(self.videos.receive, file.file, file.filename or "")
                return JSONResponse(_file_record(video))
        return await self.forward(exchange)

    async def list_files(self, _: Exchange) -> Response:
        rows = [_file_record(video) for video in await run_in_threadpool(self.videos.list_sent)]
        return JSONResponse({"object": "list", "data": rows, "has_more": False})

    async def file(self, exchange: Exchange) -> Response:
        video = await self._sent(exchange)
        if exchange.request.method == "GET":
            return JSONResponse(_file_record(video))
        await run_in_threadpool(self.videos.downloads.remove, video.url)
        return JSONResponse({"id": video.url, "object": "file", "deleted": True})

    async def file_content(self, exchange: Exchange) -> Response:
        return FileResponse((await self._sent(exchange)).path, media_type="application/octet-stream")

    async def _sent(self, exchange: Exchange) -> LibraryVideo:
        return await run_in_threadpool(self.videos.sent, SENT + exchange.request.path_params["id"])

    async def frame(self, exchange: Exchange) -> Response:
        """A frame that a reply links to."""
        image = await run_in_threadpool(self.videos.frame, *exchange.request.path_params.values())
        return Response(image, media_type="image/jpeg")

    async def _list_owners(self, exchange: Exchange, model: str) -> dict[str, str]:
        """The owners of the upstream's models; where it has no list, nothing is known of them."""
        if model not in self._owners:
            with suppress(self._errors, ValueError, LookupError, TypeError, AttributeError):
                url = f"{self._address.url}/models"
                reply = await self._client.get(url, headers=self._headers(exchange.request), params=self._address.query)
                self._owners = {str(row["id"]): str(row.get("owned_by", "")) for row in reply.json()["data"]}
        return self._owners

    async def _send(self, exchange: Exchange, content: Any, size: int) -> Any:
        """Send a request to the upstream; its reply is closed with the exchange."""
        scope = exchange.request.scope
        path = scope["raw_path"].decode("ascii").partition("?")[0].removeprefix(API)
        if {".", ".."} & set(unquote(path).split("/")):
            raise UnknownFile("there is nothing at this address")
        query = "&".join(filter(None, [scope["query_string"].decode("ascii"), urlencode(self._address.query)]))
        url = f"{self._address.url}/{path}{'?' * bool(query)}{query}"
        headers = self._headers(exchange.request) | ({"content-length": str(size)} if size else {})
        request = self._client.build_request(scope["method"], url, headers=headers, content=content)
        try:
            upstream = await self._client.send(request, stream=True)
        except self._errors:
            raise UpstreamError(failures.unreachable(self._address.server)) from None
        exchange.stack.push_async_callback(upstream.aclose)
        return upstream

    def _headers(self, request: Request) -> dict[str, str]:
        """The client's headers for the upstream. This server's token is not for it: then the key of this process is."""
        given = _passed_on(request.headers, OF_CONTENT)
        headers = {name: text for name, text in given.items() if not name.startswith(HEADER)}
        if self._token and is_token(bearer_token(request.headers), self._token):
            del headers["authorization"]
            headers |= {"authorization": f"Bearer {key}"} if (key := os.environ.get(KEY_VARIABLE)) else {}
        return headers | {"accept-encoding": "identity"}

    async def _pieces(self, received: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        try:
            async for piece in received:
                yield piece
        except self._errors:
            raise UpstreamError(failures.lost_connection(self._address.server)) from None

    async def _read(self, upstream: Any) -> bytes:
        return b"".join([piece async for piece in self._pieces(upstream.aiter_bytes())])

    async def _in_thread(self, work: Callable[..., Returned], *arguments: Any) -> Returned:
        """Run work on videos, which other requests do not wait for, nor one whose client has gone."""
        return await anyio.to_thread.run_sync(partial(work, *arguments), abandon_on_cancel=True, limiter=self._watching)


def add_to_page(app: FastAPI, access: ServerConfig) -> None:
    """Serve /v1 beside the page, for the first of its readers that is a server."""
    upstream = next((reader for reader in access.readers if parse_address(reader)), None)
    if upstream is not None:
        folders, limit = () if access.folder is None else (access.folder,), access.upload_bytes
        config = ProxyConfig(folders, access.pipeline, download_bytes=limit, upstream=upstream.partition("#")[0])
        app.router.routes += Proxy(config, access, app.state.services.catalog).routes()


def create_server(config: ProxyConfig, access: ServerConfig) -> uvicorn.Server:
    app = Starlette(routes=Proxy(config, access).routes())
    return uvicorn.Server(uvicorn_config(SecurityMiddleware(app, config=access)))


async def _chunks(body: IO[bytes]) -> AsyncGenerator[bytes, None]:
    while chunk := body.read(CHUNK_BYTES):
        yield chunk


async def _as_events(reply: Response) -> AsyncIterator[bytes]:
    """A reply inside a stream that has begun: its own events, or an error as one."""
    if isinstance(reply, StreamingResponse):
        async for piece in reply.body_iterator:
            yield bytes(piece)  # type: ignore[arg-type]  # what this module writes
        return
    try:
        yield event(json.loads(bytes(reply.body)))
    except ValueError:
        yield event(openai_error(502, f"the upstream replied with status {reply.status_code} and no JSON"))
    yield event(None)


def _refusal(error: FramesiftError) -> Response:
    status = next((code for kind, code in STATUS_CODES.items() if isinstance(error, kind)), 400)
    return JSONResponse(openai_error(status, str(error)), status)


def _passed_on(headers: Mapping[str, str], but: Set[str] = frozenset()) -> dict[str, str]:
    return {name: text for name, text in headers.items() if name.lower() not in OWN_HEADERS | but}


def _is_video(file: UploadFile) -> bool:
    kind = file.content_type or ""
    return kind.startswith("video/") or PurePosixPath(file.filename or "").suffix.lower() in VIDEO_SUFFIXES


def _file_record(video: LibraryVideo) -> dict[str, Any]:
    status = video.path.stat()
    about = {"bytes": status.st_size, "created_at": int(status.st_mtime), "filename": video.name}
    return {"id": video.url, "object": "file", **about, "purpose": "user_data", "status": "processed"}
