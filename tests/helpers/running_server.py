"""A server on a free port in this process, and videos small enough to index at once."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import httpx
import numpy as np

from framesift.server.config import Settings

SAID = [(2, 5, "The boat is red."), (9, 12, "The wind put off the launch."), (16, 18, "Nobody came <b>back</b>.")]


def make_film(path: Path, seconds: int = 24, *, said: bool = True) -> Path:
    """H.264, which Chromium plays; a new colour every three seconds; a subtitle file beside it."""
    rng = np.random.default_rng(len(path.name))
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=5, options={"g": "10", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 5)
        for k in range(seconds * 5):
            if k % 15 == 0:
                colours = rng.integers(0, 256, (2, 3), dtype=np.uint8)
            picture = np.empty((64, 96, 3), np.uint8)
            picture[:32], picture[32:] = colours
            picture[:8, : 8 + k % 80] = 255
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    if said:
        cues = (f"{k}\n00:00:{a:02d},000 --> 00:00:{b:02d},000\n{t}\n" for k, (a, b, t) in enumerate(SAID, 1))
        path.with_suffix(".srt").write_text("\n".join(cues), encoding="utf-8")
    return path


class Served:
    """A running server: its address, what it is made of, and a client that asks it."""

    def __init__(self, settings: Settings, port: int, house: Any) -> None:
        self.settings, self.port, self.house = settings, port, house
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.client.get(path, **given)

    def post(self, path: str, **given: Any) -> httpx.Response:
        return self.client.post(path, **given)

    def video(self, name: str) -> dict[str, Any]:
        return next(video for video in self.get("/api/videos").json()["videos"] if video["name"] == name)

    def make_ready(self, name: str) -> str:
        """Queue the video and wait until it is done; its id."""
        video = str(self.video(name)["id"])
        self.post(f"/api/videos/{video}/index")
        until(lambda: self.get(f"/api/videos/{video}").json()["job"]["state"] not in ("waiting", "running"))
        return video


def hold(served: Served) -> threading.Event:
    """Keep the next job from coming further than 40 % until the event that is given back is set."""
    work, go_on = served.house.queue._work, threading.Event()

    def slowly(job: Any, report: Any) -> None:
        while not go_on.wait(0.01):
            report("indexing", 40, 100)
        work(job, report)

    served.house.queue._work = slowly
    return go_on


def until(true: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def serve(folder: Path | None, state: Path, port: int = 0, **options: Any) -> Iterator[Served]:
    from framesift.cli.serve import _listen
    from framesift.server.server import Server, claim

    listener = _listen("127.0.0.1", port)
    port = listener.getsockname()[1]
    settings = Settings(folder=folder, store=state / "store", port=port, **({"encoder": "offline"} | options))
    with claim(settings):
        server = Server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        served = Served(settings, port, server.house)
        try:
            yield served
        finally:
            served.client.close()
            server.should_exit = True
            thread.join(timeout=20)
