"""What a server is told when it starts."""

import ipaddress
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from framesift.errors import OptionError
from framesift.store.store import Store

THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
LOCK = ".framesift-lock"  # in the folders that a server has for itself
UPLOAD_BYTES = 8 * 2**30
# Questions and settings are small; only uploads are not.
BODY_BYTES = 256 * 2**10


@dataclass(frozen=True)
class Settings:
    """Where the videos and the library are, who may come in, and how videos are indexed.

    The options of indexing and of events are those of `framesift select`, so that a question asked here finds what the
    command line finds. state: the queue, small pictures and, unless another folder is named, uploads.
    """

    folder: Path | None = None
    store: Path | None = None
    uploads: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    names: tuple[str, ...] = ()  # host names, besides this machine's own, that the page may be opened under
    readers: tuple[str, ...] = ()
    upload_bytes: int = UPLOAD_BYTES
    encoder: str = "auto"
    fps: float | Literal["auto"] = "auto"
    mode: Literal["exact", "fast", "keyframes"] = "exact"
    device: str = "auto"
    language: str | None = None
    speech: str | bool = True
    screen_text: bool = False
    event_encoder: str | None = None
    state: Path = field(init=False)

    def __post_init__(self) -> None:
        if self.folder is not None and not self.folder.is_dir():
            raise OptionError(f"{self.folder} is no folder; expected a folder of videos")
        if not is_this_machine(self.host) and not self.token:
            raise OptionError(
                f"--host {self.host} lets other machines in; give a secret with --token TEXT, or --token auto to have "
                "one made"
            )
        object.__setattr__(self, "folder", None if self.folder is None else self.folder.resolve())
        object.__setattr__(self, "state", Store(self.store).root.absolute() / ".serve")
        if self.folder is not None and is_among(self.uploads_folder.resolve(), self.folder):
            raise OptionError(f"uploads can't lie in {self.folder} among the videos there; name a folder elsewhere")

    @property
    def uploads_folder(self) -> Path:
        return (self.uploads or self.state / "uploads").absolute()

    @property
    def known_hosts(self) -> frozenset[str]:
        """The names a browser may ask for. Addresses in digits need no name: nobody can point a name of theirs here."""
        own = socket.gethostname().lower()
        return frozenset({"localhost", own, f"{own}.local", *(name.lower() for name in self.names)})


def is_among(place: Path, folder: Path) -> bool:
    """Whether what lies in `place` would be taken for videos of `folder`; hidden folders are passed by."""
    return place.is_relative_to(folder) and not any(p.startswith(".") for p in place.relative_to(folder).parts)


def is_this_machine(host: str) -> bool:
    if host.lower() in THIS_MACHINE:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
