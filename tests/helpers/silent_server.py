"""An OpenAI-type server that keeps its clients waiting."""

import json
import socket
import threading
from contextlib import suppress

MODELS = json.dumps({"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "me"}]})
HEADERS = "HTTP/1.1 200 OK\r\ncontent-type: {}\r\n"
CHUNK = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
CHUNK |= {"choices": [{"index": 0, "delta": {"content": "The"}, "finish_reason": None}]}
FIRST_PIECE = f"data: {json.dumps(CHUNK)}\n\n"


class SilentServer:
    """Lists a model, then answers nothing, or only `first`, and records when the client ends the connection."""

    def __init__(self, first: str = "") -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        self.first, self.requests = first, 0
        self.asked, self.ended = threading.Event(), threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            data = connection.recv(65536)
            if b"/chat/completions" not in data:
                head = HEADERS.format("application/json")
                connection.sendall(f"{head}content-length: {len(MODELS)}\r\n\r\n{MODELS}".encode())
                return
            self.requests += 1
            if self.first:
                connection.sendall(f"{HEADERS.format('text/event-stream')}\r\n{self.first}".encode())
            self.asked.set()
            with suppress(ConnectionResetError):  # a client that has not read all of `first` resets the connection
                while connection.recv(65536):
                    pass
            self.ended.set()
