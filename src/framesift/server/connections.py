"""Connections: those that send no complete request are closed after seconds, so that they shut nobody out."""

import asyncio
import socket
from collections import OrderedDict
from typing import Any, ClassVar, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

REQUEST_S = 5.0  # for a request's headers, counted from the connection or from the response before
MAX_WAITING = 64  # connections without a request in progress; the oldest is closed for a new one
DEAD_AFTER_S = (15, 5, 3)  # idle seconds before the peer is probed, seconds between probes, number of probes


class GuardedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # h11 or httptools, whichever is installed
    """uvicorn's protocol with a limit on connections that wait for a request and on how long they do."""

    waiting: ClassVar[OrderedDict["GuardedProtocol", asyncio.TimerHandle]]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        _probe_dead_peers(transport.get_extra_info("socket"))
        self._start_waiting()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._start_waiting()
        super().on_response_complete()
        if self.cycle is not None and not self.cycle.response_complete:  # a pipelined request
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _start_waiting(self) -> None:
        self._stop_waiting()
        if self.transport.is_closing():
            return
        self.waiting[self] = asyncio.get_running_loop().call_later(REQUEST_S, self.transport.close)
        while len(self.waiting) > MAX_WAITING:
            oldest, timer = self.waiting.popitem(last=False)
            timer.cancel()
            oldest.transport.abort()

    def _stop_waiting(self) -> None:
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()


def guarded_protocol() -> type[asyncio.Protocol]:
    """The protocol class of one server."""
    return cast(type[asyncio.Protocol], type("Protocol", (GuardedProtocol,), {"waiting": OrderedDict()}))


def _probe_dead_peers(connection: Any) -> None:
    """Let the system notice peers that vanished without closing, of which an event stream would never hear."""
    if connection is None:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in zip(("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"), DEAD_AFTER_S, strict=True):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
