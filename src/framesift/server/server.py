"""The server as a process: one for each library, and it ends at once, also while pages are watching."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import uvicorn

from framesift.errors import OptionError
from framesift.server.app import House, create_app
from framesift.server.config import LOCK, Settings

MOST_CONNECTIONS = 256
GRACE_S = 2  # for answers that are on their way


@contextmanager
def claim(settings: Settings) -> Iterator[None]:
    """Hold a server's folders for as long as it runs: a second server would overwrite its queue and its uploads."""
    with ExitStack() as held:
        held.enter_context(_held(settings.state, f"the library {settings.state.parent}", "--store"))
        if settings.uploads is not None:
            held.enter_context(_held(settings.uploads_folder, f"{settings.uploads} for its uploads", "--uploads"))
        yield


@contextmanager
def _held(folder: Path, what: str, option: str) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise OptionError(f"{folder} can't be written ({error.strerror}); name another folder with {option}") from None
    try:
        try:
            _lock(file)
        except OSError:
            raise OptionError(
                f"another framesift serve uses {what}; stop it, or give this one a folder of its own with {option} DIR"
            ) from None
        yield
    finally:
        os.close(file)  # lets go of the lock, as the end of the process does however it comes


def _lock(file: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


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
