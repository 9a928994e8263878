"""Requests to a model's server that another thread can end, also while they wait for the first byte of the reply."""

import socket
import threading
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from framesift.progress import Stopped


class StopEvent(threading.Event):
    """An event that, once set, ends the requests that were made under it (`stop_requests_with`)."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []

    def set(self) -> None:
        super().set()
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            with suppress(OSError):  # closed already
                # Unlike close(), this wakes a thread that reads, and the server sees the end at once.
                connection.shutdown(socket.SHUT_RDWR)

    def add(self, connection: socket.socket) -> None:
        """Shut a connection down when the event is set; now if it is."""
        with self._lock:
            self._connections.append(connection)
        if self.is_set():
            self.set()


_event: ContextVar[StopEvent | None] = ContextVar("stop_event", default=None)


def stop_requests_with(event: StopEvent) -> None:
    """Let an event end the requests that this thread makes from now on."""
    _event.set(event)


def is_stoppable() -> bool:
    """Whether an event may end the requests of this thread."""
    return _event.get() is not None


def watch_request(request: Any) -> None:
    """Hook of an HTTP client: add a request's connection, which is its own, to the thread's event."""
    event = _event.get()
    if event is None:
        return
    if event.is_set():
        raise Stopped

    def trace(_name: str, info: dict[str, Any]) -> None:
        opened: Any = info.get("return_value")
        if hasattr(opened, "get_extra_info"):  # a connection, or the same one encrypted
            event.add(opened.get_extra_info("socket"))

    request.headers["connection"] = "close"
    request.extensions = {**request.extensions, "trace": trace}
