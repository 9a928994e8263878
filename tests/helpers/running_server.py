"""A server on a free port in this process, and videos small enough to index quickly."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
import pytest

from framesift.encoders.base import Encoder, encode_long_texts
from framesift.encoders.registry import get_encoder
from framesift.indexing.index import build_index
from framesift.library import catalog as catalog_module
from framesift.pipeline import video as video_module
from framesift.pipeline.chapters import PICTURE_QUESTIONS
from framesift.pipeline.config import PipelineConfig
from framesift.selection.chance import UNRELATED
from framesift.server.config import ServerConfig
from framesift.store.store import Store
from helpers.clips import two_colours, write_frames

LINES = [(2, 5, "The boat is red."), (9, 12, "The wind put off the launch."), (16, 18, "Nobody came <b>back</b>.")]


QUESTION = {"question": "Why was the launch put off?", "options": ["The wind", "The rain"], "budget": 6}


def asked(**more: Any) -> dict[str, Any]:
    """The body of a request: a question with two options, and what it states more."""
    return QUESTION | more


def make_video(path: Path, seconds: int = 24, *, subtitles: bool = True) -> Path:
    """Write H.264, which Chromium plays, and a subtitle file beside it.

    Every second looks different, and within it all frames are the same, which indexing encodes once.
    """
    rng = np.random.default_rng(len(path.name))
    path.parent.mkdir(parents=True, exist_ok=True)
    colours = rng.integers(0, 256, (seconds // 3 + 1, 2, 3), dtype=np.uint8)
    frames = (two_colours(colours[k // 15], k // 5) for k in range(seconds * 5))
    write_frames(path, frames, fps=5, codec="libx264", g="10", preset="ultrafast")
    if subtitles:
        cues = (f"{k}\n00:00:{a:02d},000 --> 00:00:{b:02d},000\n{t}\n" for k, (a, b, t) in enumerate(LINES, 1))
        path.with_suffix(".srt").write_text("\n".join(cues), encoding="utf-8")
    return path


def make_cut_video(path: Path, seconds: int = 8, *, subtitles: bool = False) -> Path:
    """Write a video whose last part is missing, which is a warning."""
    make_video(path, seconds, subtitles=subtitles)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    return path


@cache
def video_bytes(seconds: int = 4) -> bytes:
    """A video without subtitles."""
    with TemporaryDirectory() as folder:
        return make_video(Path(folder) / "video.mp4", seconds, subtitles=False).read_bytes()


class RunningServer:
    """A running server: its address, its services and a client."""

    def __init__(self, config: ServerConfig, port: int, services: Any) -> None:
        self.config, self.port, self.services = config, port, services
        self.url = f"http://127.0.0.1:{port}"
        # A connection for each request: the server closes an idle one, which may be at the moment of its next request.
        alone = httpx.Limits(max_keepalive_connections=0)
        self.client = httpx.Client(base_url=self.url, timeout=120, limits=alone)

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.client.get(path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.client.post(path, **given)

    def head(self, path: str, length: int) -> bytes:
        """The first lines of a request with a JSON body, for a connection of its own."""
        lines = (f"POST {path} HTTP/1.1", f"host: 127.0.0.1:{self.port}", "content-type: application/json")
        return "\r\n".join((*lines, f"content-length: {length}", "", "")).encode()

    def video(self, name: str) -> dict[str, Any]:
        return next(video for video in self.get("/api/videos").json()["videos"] if video["name"] == name)

    def upload(self, name: str = "video.mp4", seconds: int = 4) -> dict[str, Any]:
        """Upload a video, which queues it; what is known of it."""
        reply = self.post("/api/uploads", params={"name": name}, content=video_bytes(seconds))
        return dict(reply.raise_for_status().json())

    def index(self, name: str) -> str:
        """Queue the video and wait until its job has ended; the video's id."""
        video = str(self.video(name)["id"])
        self.post(f"/api/videos/{video}/index")
        until(lambda: self.get(f"/api/videos/{video}").json()["job"]["state"] not in ("waiting", "running"))
        return video


class HeldJobs(threading.Event):
    """Jobs are at `percent` until it is set."""

    percent = 40


def hold_jobs(server: RunningServer) -> HeldJobs:
    """Hold jobs at 40 %, or what the test changes that to, until the returned event is set."""
    work, release = server.services.queue.work, HeldJobs()

    def held(job: Any, report: Any) -> None:
        while not release.wait(0.01):
            report("indexing", release.percent, 100)
        work(job, report)

    server.services.queue.work = held
    return release


def hold_indexing(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Hold every indexing after its key frames until the returned event is set."""
    gate = threading.Event()

    def index(path: Any, settings: Any, *, progress: Any = None, **given: Any) -> Any:
        while not given.get("stored_only") and not gate.wait(0.01):
            progress("indexing", 1, 100)
        return build_index(path, settings, progress=progress, **given)

    for module in (catalog_module, video_module):
        monkeypatch.setattr(module, "build_index", index)
    return gate


def until(condition: Any, seconds: float = 120) -> None:
    """Wait until `condition()` is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.02)


@cache
def stored_vectors() -> tuple[Encoder, Sequence[str], np.ndarray]:
    """What the first video of every new store encodes: the encoder, the texts and their vectors."""
    encoder, texts = get_encoder("offline"), [*UNRELATED, *PICTURE_QUESTIONS]
    return encoder, texts, encode_long_texts(encoder, texts)


@contextmanager
def run_server(
    folder: Path | None, state: Path, port: int = 0, after: Any = lambda *_: None, **options: Any
) -> Iterator[RunningServer]:
    from framesift.cli.serve import listen
    from framesift.server.app import Server, lock_state

    listener = listen("127.0.0.1", port)
    port = listener.getsockname()[1]
    pipeline = PipelineConfig(store=state / "store", encoder="offline")
    Store(pipeline.index.store).save_texts(*stored_vectors())
    config = ServerConfig(folder=folder, port=port, pipeline=pipeline, **options)
    with lock_state(config.state):
        server = Server(config)
        after(server.app, config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        running = RunningServer(config, port, server.services)
        try:
            yield running
        finally:
            running.client.close()
            server.should_exit = True
            thread.join(timeout=60)
