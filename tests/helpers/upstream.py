"""A model's server that records every request as it came and replies as a test says."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from helpers.strict_server import completion, decode, events


@dataclass
class Received:
    """A request, byte for byte."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    def parts(self, message: int = -1) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = self.body["messages"][message]["content"]
        return content

    def pictures(self, message: int = -1) -> list[Any]:
        return [decode(part["image_url"]["url"]) for part in self.parts(message) if part["type"] == "image_url"]


@dataclass
class Sent:
    """A reply. hold: it waits for this event before its last piece; then `cut` closes the connection instead.

    Without pieces nothing is sent at all.
    """

    pieces: list[bytes]
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    hold: threading.Event | None = None
    cut: bool = False


class Upstream(ThreadingHTTPServer):
    """`replies`: the next ones to chat requests, after which each is a completion with `words`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, words: str = "It is red.", owner: str = "llamacpp") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.words, self.owner, self.version = words, owner, ""
        self.replies: list[Sent] = []
        self.requests: list[Received] = []
        self.closed = threading.Event()  # a client has gone while its reply was sent

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def chats(self) -> list[Received]:
        return [request for request in self.requests if request.path.startswith("/v1/chat")]

    def __enter__(self) -> "Upstream":
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """Clients that disconnect are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Upstream

    def log_message(self, *_: object) -> None:
        pass

    def _respond(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): text for name, text in self.headers.items()}
        request = Received(self.command, self.path, headers, content)
        self.server.requests.append(request)
        try:
            self._send(self._reply(request))
        except ConnectionError:  # the client went before the reply began
            self.server.closed.set()
            self.close_connection = True

    do_GET = do_POST = do_DELETE = _respond  # noqa: N815 (the base class's names)

    def _reply(self, request: Received) -> Sent:
        server = self.server
        if request.path.startswith("/v1/models"):
            cards = {"object": "list", "data": [{"id": "reader-7b", "object": "model", "owned_by": server.owner}]}
            return Sent([json.dumps(cards).encode()])
        if request.path == "/version" and server.version:
            return Sent([json.dumps({"version": server.version}).encode()])
        if not request.path.startswith("/v1/chat"):
            return Sent([json.dumps({"error": {"message": "nothing here"}}).encode()], 404)
        if server.replies:
            return server.replies.pop(0)
        reply = completion(server.words)
        if request.body.get("stream"):
            return Sent(list(events(reply)), kind="text/event-stream")
        return Sent([json.dumps(reply).encode()])

    def _has_gone(self, hold: threading.Event) -> bool:
        """Whether the client ends the connection before the event is set."""
        self.connection.settimeout(0.01)
        while not hold.is_set():
            try:
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                continue
            except ConnectionResetError:  # by a client that has not read all
                break
        else:
            self.connection.settimeout(None)
            return False
        self.server.closed.set()
        self.close_connection = True
        return True

    def _send(self, reply: Sent) -> None:
        if reply.hold is not None and not reply.pieces and self._has_gone(reply.hold):
            return
        self.send_response(reply.status)
        for name, text in {"Content-Type": reply.kind, "Transfer-Encoding": "chunked", **reply.headers}.items():
            self.send_header(name, text)
        self.end_headers()
        *first, last = [f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in reply.pieces]
        self.wfile.write(b"".join(first))
        if reply.hold is not None and self._has_gone(reply.hold):
            return
        if reply.cut:
            self.close_connection = True
        else:
            self.wfile.write(last + b"0\r\n\r\n")
