"""Servers for agents in processes of their own, clients of the official SDK, and an encoder that loads no model."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from helpers.plugin_packages import write_package

TOKEN = "a-token-of-some-length"  # noqa: S105 (of the tests only)
# Mean colours of the frames; a text's vector is the colour it names. While the file HOLD names exists, it
# waits, and makes another that ends in -ing.
ENCODER = """
import os, time
import numpy as np

class Colours:
    name, dim, fingerprint, batch_size = "colours", 3, "0123456789abcdef", 8
    def __init__(self, device="auto"):
        pass
    def encode_images(self, images):
        while os.path.exists(hold := os.environ.get("HOLD", "")):
            open(hold + "ing", "w").close()
            time.sleep(0.01)
        rows = np.stack([np.asarray(image, dtype=np.float32).mean(axis=(0, 1)) + 1 for image in images])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    def encode_texts(self, texts):
        names = ("red", "green", "blue")
        rows = np.array([[1.0 + 9 * (name in text.lower()) for name in names] for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
"""


def install_encoder(site: Path) -> None:
    """Install a package with the encoder `colours` into a folder for PYTHONPATH."""
    entry_point = "[framesift.encoders]\ncolours = colours_encoder:Colours\n"
    write_package(site, "colours", entry_point, colours_encoder=ENCODER)


def server_command(*arguments: object) -> list[str]:
    shared = ["--encoder", "colours", "--set", "speech=none"]
    return [sys.executable, "-m", "framesift", "mcp", *map(str, arguments), *shared]


def server_environment(site: Path, store: Path) -> dict[str, str]:
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    added = {"PYTHONPATH": os.pathsep.join(paths), "FRAMESIFT_STORE": str(store), "HOLD": str(site / "hold")}
    return {**os.environ, **added, "FRAMESIFT_MCP_TOKEN": TOKEN}


class ConnectedClient:
    """A client of the SDK whose requests are plain calls."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal, self.client = portal, client
        self.progress: list[tuple[float, str | None]] = []

    def start(self, tool: str, **arguments: Any) -> "Future[Any]":
        async def note(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append((progress, message))

        request: Any = partial(self.client.call_tool, tool, arguments, progress_callback=note)
        return self.portal.start_task_soon(request)

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.start(tool, **arguments).result()

    def text(self, tool: str, **arguments: Any) -> str:
        return text_of(self.call(tool, **arguments))

    def request(self, method: str, *arguments: Any) -> Any:
        return self.portal.call(partial(getattr(self.client, method), *arguments))


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


@contextmanager
def connect(transport: Any, *, mode: str = "auto") -> Iterator[ConnectedClient]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(transport, mode=mode)) as client:
        yield ConnectedClient(portal, client)


def connect_stdio(environment: dict[str, str], *arguments: object) -> AbstractContextManager[ConnectedClient]:
    command, *rest = server_command(*arguments)
    return connect(StdioServerParameters(command=command, args=rest, env=environment))


def http_transport(url: str, token: str = TOKEN) -> Any:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return streamable_http_client(url, http_client=create_mcp_http_client(headers=headers))


@contextmanager
def serve_http(environment: dict[str, str], *arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port, and its address."""
    command = server_command(*arguments, "--http", "--port", 0, "--json")
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines: list[str] = []
            while not lines or lines[-1].rstrip() != "}":
                lines.append(process.stdout.readline())
                assert lines[-1], "the server ended"
            yield process, json.loads("".join(lines))["url"]
        finally:
            process.kill()
