"""Configuration of one server."""

import atexit
import ipaddress
import shutil
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from framesift.errors import OptionError
from framesift.pipeline.config import PipelineConfig
from framesift.store.store import Store, log_unwritable

MAX_CONNECTIONS = 320  # with a request in progress or waiting for one
SHUTDOWN_GRACE_S = 2  # for responses in progress
MAX_UPLOAD_BYTES = 8 * 10**9
MAX_BODY_BYTES = 256 * 2**10  # of every request but uploads: questions and settings are small
MAX_CHAT_BYTES = 128 * 2**20  # of a chat request, which may hold videos and is parsed in memory


@dataclass(frozen=True)
class ServerConfig:
    """Directories, network access, readers, and the pipeline's settings.

    pipeline: how videos are indexed and their text is found; method, budget, reader and so on come from each request.
    readers: the addresses a request may choose from. state: the job queue, cached images and uploads; of a store that
    can't be written, a temporary directory until the server stops.
    """

    folder: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    allowed_hosts: tuple[str, ...] = ()  # accepted in the Host header besides this machine's own names
    readers: tuple[str, ...] = ()
    upload_bytes: int = MAX_UPLOAD_BYTES
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)
    state: Path = field(init=False)

    def __post_init__(self) -> None:
        if self.folder is not None and not self.folder.is_dir():
            raise OptionError(f"{self.folder} is not a directory; expected a directory of videos")
        if not is_loopback(self.host) and not self.token:
            raise OptionError(
                f"--host {self.host} accepts connections from other machines and needs a token; "
                "set one with --token TEXT, or generate one with --token auto"
            )
        object.__setattr__(self, "folder", None if self.folder is None else self.folder.resolve())
        object.__setattr__(self, "state", _state_folder(Store(self.pipeline.index.store).root.absolute()))

    @property
    def is_shared(self) -> bool:
        """Whether others than this machine's user may open the page."""
        return not is_loopback(self.host) or bool(self.token or self.allowed_hosts)

    @property
    def host_names(self) -> frozenset[str]:
        """Names accepted in the Host header. IP addresses are always accepted: DNS rebinding needs a name."""
        own = socket.gethostname().lower()
        return frozenset({"localhost", own, f"{own}.local", *(name.lower() for name in self.allowed_hosts)})


def uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """How an application is served."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
    )


def _state_folder(root: Path) -> Path:
    state = root / ".serve"
    existing = next((folder for folder in (state, root) if folder.is_dir()), None)
    if existing is None:
        return state
    try:
        with tempfile.TemporaryFile(dir=existing):
            return state
    except OSError as error:
        log_unwritable(root, error)
    temporary = Path(tempfile.mkdtemp(prefix="framesift-serve-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return temporary


def is_loopback(host: str) -> bool:
    """Whether `host` can only be reached from this machine."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
