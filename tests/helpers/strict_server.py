"""An HTTP server that validates requests strictly and returns the errors that a test has queued.

With a `version` it is a vLLM that takes videos of JPEG frames.
"""

import base64
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

from helpers.vllm_contract import ContractError, decode_video

BODY_KEYS = {"model", "messages", "max_tokens", "temperature"}
STREAM_KEYS = {"stream", "stream_options"}
# The openai package waits as long as the server says before a retry.
RETRY_AT_ONCE = {"retry-after-ms": "10"}
UNAUTHORISED = (401, {"error": {"message": "Unauthorized", "type": "Unauthorized", "code": 401}})


class StrictServer(ThreadingHTTPServer):
    """`replies`: the next responses (status, body, headers); then always `words`. `requests`: bodies received."""

    daemon_threads = True

    def __init__(self, models=("reader-7b",), owner="vllm", words="B"):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.models, self.owner, self.words = models, owner, words
        self.key: str | None = None
        self.body_keys = BODY_KEYS
        self.version: str | None = None  # of vLLM, at /version
        self.paths: list[str] = []  # of every GET request
        self.redirect = ""  # where the list of models is
        self.takes_streams = True
        self.lose_stream = False  # close the connection before a streamed reply is complete
        self.replies: list[tuple[int, Any, dict[str, str]]] = []
        self.requests: list[dict[str, Any]] = []
        self.at_once, self.most_at_once = 0, 0
        self.credentials: list[tuple[str | None, str]] = []  # (Authorization header, query) of every request
        self.echo = 0  # status of replies that repeat the credentials of their request; 0: none do
        self.hold: threading.Barrier | threading.Event | None = None  # a barrier or event that requests wait for
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, *_):
        """Clients that disconnect are part of the tests."""

    def refuse(self, status, message, *, times=1, **more):
        error = {"message": message, "type": "BadRequestError", "param": None, "code": status} | more
        self.replies += [(status, {"error": error}, RETRY_AT_ONCE)] * times

    def reply(self, words, finish="stop"):
        self.replies.append((200, completion(words, finish), {}))

    def pictures(self, request=-1):
        return [decode(part["image_url"]["url"]) for part in self.parts(request) if part["type"] == "image_url"]

    def video(self, request=-1):
        """The frames and times of the video of a request."""
        (url,) = [part["video_url"]["url"] for part in self.parts(request) if part["type"] == "video_url"]
        return decode_video(url, self.requests[request]["media_io_kwargs"]["video"])

    def texts(self, request=-1):
        return [part["text"] for part in self.parts(request) if part["type"] == "text"]

    def parts(self, request=-1):
        return self.requests[request]["messages"][0]["content"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits for the acknowledgement of the headers
    server: StrictServer

    def log_message(self, *_):
        pass

    def parse_request(self):
        parsed = super().parse_request()
        if parsed:
            self.path, _, query = self.path.partition("?")
            self.server.credentials.append((self.headers.get("Authorization"), query))
        return parsed

    def do_GET(self):
        self.server.paths.append(self.path)
        if self.path == "/version" and self.server.version is not None:
            return self._send(200, {"version": self.server.version})
        if self.path != "/v1/models":
            return self._send(404, {"detail": "Not Found"})
        if self.server.models is None:
            return self._send(404, {"detail": "Not Found"})
        if self.server.redirect:
            return self._send(307, {}, {"Location": self.server.redirect})
        if not self._is_authorised():
            return self._send(*UNAUTHORISED)
        cards = [
            {"id": name, "object": "model", "created": 0, "owned_by": self.server.owner} for name in self.server.models
        ]
        return self._send(200, {"object": "list", "data": cards})

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        problem = self._problem(body)
        if problem:
            return self._send(*problem)
        server = self.server
        if server.echo:
            words = f"B, because {self.headers.get('Authorization')} and {server.credentials[-1][1]}"
            error = {"error": {"message": words, "type": "BadRequestError"}}
            return self._send(server.echo, completion(words) if server.echo == 200 else error, RETRY_AT_ONCE)
        with server.lock:
            server.requests.append(json.loads(body))
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
            status, reply, headers = server.replies.pop(0) if server.replies else (200, completion(server.words), {})
        if server.hold:
            server.hold.wait(timeout=120)
        with server.lock:
            server.at_once -= 1
        if server.requests[-1].get("stream") and status == 200 and server.takes_streams:
            return self._send_stream(reply)
        return self._send(status, reply, headers)

    def _send_stream(self, reply):
        """Send a completion in pieces of four characters; one that is bytes is sent as it is."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent = [reply] if isinstance(reply, bytes) else list(events(reply))
        for event in sent[:-3] if self.server.lose_stream else sent:
            self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        if self.server.lose_stream:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _is_authorised(self):
        return self.server.key is None or self.headers.get("Authorization") == f"Bearer {self.server.key}"

    def _problem(self, body):
        """Why a strict server would refuse this request, as (status, body), or None."""
        server = self.server
        if self.path != "/v1/chat/completions":
            return 404, {"detail": "Not Found"}
        if not self._is_authorised():
            return UNAUTHORISED
        if self.headers["Content-Type"] != "application/json":
            return bad("content type")
        data = json.loads(body)
        optional = (STREAM_KEYS if data.get("stream") else set()) | ({"media_io_kwargs"} if server.version else set())
        if set(data) - optional != server.body_keys:
            return bad(f"keys {sorted(data)}")
        if server.models and data["model"] not in server.models:
            return 404, {"error": {"message": f"The model `{data['model']}` does not exist.", "type": "NotFoundError"}}
        messages = data["messages"]
        if len(messages) != 1 or set(messages[0]) != {"role", "content"} or messages[0]["role"] != "user":
            return bad("messages")
        for part in messages[0]["content"]:
            is_video = part["type"] == "video_url" and server.version is not None
            problem = video_problem(part, data) if is_video else part_problem(part)
            if problem:
                return bad(problem)
        return None

    def _send(self, status, body, headers=()):
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)


def video_problem(part, data):
    if set(part) != {"type", "video_url"} or set(part["video_url"]) != {"url"}:
        return "video part"
    try:
        decode_video(part["video_url"]["url"], data["media_io_kwargs"]["video"])
    except (ContractError, KeyError) as error:
        return f"video: {error}"
    return None


def part_problem(part):
    if part["type"] == "text":
        return None if set(part) == {"type", "text"} and part["text"].strip() else "text part"
    if part["type"] != "image_url":
        return f"part type {part['type']}"
    if set(part) != {"type", "image_url"} or set(part["image_url"]) != {"url"}:
        return "image part"
    try:
        picture = decode(part["image_url"]["url"])
    except ValueError as error:
        return str(error)
    return None if (picture.format, picture.mode) == ("JPEG", "RGB") else "picture format"


def decode(url):
    head, _, data = url.partition(",")
    if head != "data:image/jpeg;base64":
        raise ValueError(f"data URL {head[:40]}")
    picture = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
    picture.load()
    return picture


def events(reply):
    """A completion as the events of a stream: a piece per four characters, the finish reason, the usage."""
    (choice,) = reply["choices"]
    words = choice["message"]["content"]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "reader-7b"}
    deltas = [({"content": words[k : k + 4]}, None) for k in range(0, len(words), 4)] + [({}, choice["finish_reason"])]
    chunks = [{"choices": [{"index": 0, "delta": d, "finish_reason": f}], "usage": None} for d, f in deltas]
    for chunk in [*chunks, {"choices": [], "usage": reply["usage"]}]:
        yield f"data: {json.dumps(head | chunk)}\n\n".encode()
    yield b"data: [DONE]\n\n"


def bad(what):
    return 400, {"error": {"message": f"strict server: {what}", "type": "BadRequestError", "code": 400}}


def completion(words, finish="stop"):
    message = {"role": "assistant", "content": words}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "reader-7b",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 1, "total_tokens": 901},
    }  # fmt: skip
