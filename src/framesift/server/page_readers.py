"""The readers of a server: those of the command line, and those added on the page, whose keys stay on this machine."""

import os
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from framesift._utils.addresses import allowed_addresses, is_public, is_routable
from framesift._utils.credentials import SIMILARITY, check_reader_address, parse_address
from framesift._utils.json import dump_json
from framesift.errors import InputError, OptionError, UnknownName
from framesift.library.files import read_json
from framesift.readers.base import check_reader

MAX_ADDED = 20
REFUSAL = "an address inside the server's network; start the server with --reader and this address to use it"


@dataclass(frozen=True)
class AddedReader:
    """An OpenAI-type server by address, "http://host:8000/v1#model", and its key."""

    address: str
    key: str = ""


class PageReaders:
    """The readers a request may choose from, by their public names. An address from a question is never called.

    only_public: of the addresses added on the page, only those on the public internet are called, else all but
    link-local ones; a server of the command line in any case.
    """

    def __init__(self, path: Path, configured: Sequence[str], *, only_public: bool) -> None:
        self._path, self._is_allowed = path, is_public if only_public else is_routable
        self._configured = list(dict.fromkeys([*configured, SIMILARITY]))
        self._lock = threading.Lock()
        self._added = {reader.address: reader for reader in read_json(path, tuple[AddedReader, ...]) or ()}

    @property
    def names(self) -> list[str]:
        """All readers; similarity, the weakest, last."""
        own = [name for name in self._configured if name != SIMILARITY]
        return [*own, *(name for name in self._added if name not in own), SIMILARITY]

    @property
    def added(self) -> list[str]:
        return list(self._added)

    def resolve(self, reader: str) -> tuple[str, dict[str, Any]]:
        """The address of a reader of this server and the options to open it with."""
        if reader in self._configured:
            return reader, {}
        if reader in self._added:
            return reader, self._options(self._added[reader])
        check_reader_address(reader)
        raise UnknownName(f"no reader {reader!r} on this server; expected one of {', '.join(self.names)}")

    def add(self, reader: AddedReader) -> None:
        """Keep a reader, after its test."""
        self.test(reader)
        with self._lock:
            if len(self._added) >= MAX_ADDED and reader.address not in self._added:
                raise OptionError(f"{MAX_ADDED} readers were added already; remove one first")
            self._added[reader.address] = reader
            self._write()

    def remove(self, name: str) -> None:
        with self._lock:
            if name not in self._added:
                raise UnknownName(
                    f"{name!r} was not added on the page; expected one of {', '.join(self._added) or 'none'}"
                )
            del self._added[name]
            self._write()

    def test(self, reader: AddedReader) -> None:
        """Raise what an answer would meet for sure: a bad address, no server, a rejected key, no model."""
        address = parse_address(reader.address)
        if address is None:
            raise InputError(f"the reader is {reader.address!r}; expected an address like http://host:8000/v1")
        options = self._options(reader)
        if "is_allowed" in options:
            parts = urlsplit(address.url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            allowed_addresses(parts.hostname or "", port, self._is_allowed, REFUSAL)
        check_reader(reader.address, **options)

    def _write(self) -> None:
        temporary = self._path.with_suffix(".tmp")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(dump_json([asdict(reader) for reader in self._added.values()]))
        temporary.replace(self._path)

    def _options(self, reader: AddedReader) -> dict[str, Any]:
        """The options to open a reader with: which addresses it may call, and where it takes its key from."""
        servers = [address.server for own in self._configured if (address := parse_address(own))]
        address = parse_address(reader.address)
        is_configured = address is not None and address.server in servers
        options: dict[str, Any] = {} if is_configured else {"is_allowed": self._is_allowed}
        if reader.key or (options and self._is_allowed is is_public):  # the key of this process is not for them
            name = "FRAMESIFT_PAGE_KEY_" + reader.address.encode().hex().upper()[-40:]
            os.environ[name] = reader.key
            options["key_variable"] = name  # readers take keys from variables of this process
        return options
