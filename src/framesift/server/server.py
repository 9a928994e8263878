"""The server process: exclusive use of its state, and a shutdown that does not wait for open event streams."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from framesift._utils.locks import lock_open_file
from framesift.errors import OptionError
from framesift.server.app import create_app
from framesift.server.config import ServerConfig
from framesift.server.services import Services

MAX_CONNECTIONS = 320  # with a request in progress or waiting for one
SHUTDOWN_GRACE_S = 2  # for responses in progress


@contextmanager
def lock_state(folder: Path) -> Iterator[None]:
    """Lock the server's state while it runs: a second server would overwrite the queue and the uploads."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / ".framesift-lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OptionError(f"{folder} can't be written ({error.strerror}); set another directory with --store") from None
    try:
        try:
            lock_open_file(file)
        except OSError:
            raise OptionError(
                f"another framesift serve uses the library {folder.parent}; stop it, or set another directory with "
                "--store DIR"
            ) from None
        yield
    finally:
        os.close(file)  # releases the lock, as the end of the process does


class Server(uvicorn.Server):
    """Closes the event streams before it waits for connections: they would never close by themselves."""

    def __init__(self, config: ServerConfig) -> None:
        app = create_app(config)
        self.services: Services = app.state.services
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.services.closing = True
        await super().shutdown(sockets)
