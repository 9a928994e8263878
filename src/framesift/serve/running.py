"""The server as a process: it ends at once, also while pages are watching."""

import socket

import uvicorn

from framesift.serve.app import House, create_app
from framesift.serve.config import Settings

MOST_CONNECTIONS = 256
GRACE_S = 2  # for answers that are on their way


class Server(uvicorn.Server):
    """Tells the streams to end before it waits for connections to close; they would never close by themselves."""

    def __init__(self, settings: Settings) -> None:
        app = create_app(settings)
        self.house: House = app.state.house
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_graceful_shutdown=GRACE_S,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.house.closing = True
        await super().shutdown(sockets)
