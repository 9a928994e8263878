"""A proxy on a free port in this process, in front of a stand-in for a model's server."""

import threading
from contextlib import contextmanager

import httpx
import openai
import pytest

from framesift.cli.serve import listen
from framesift.pipeline.config import PipelineConfig
from framesift.proxy import app as app_module
from framesift.proxy.videos import ProxyConfig
from framesift.server.config import ServerConfig
from framesift.store.store import Store
from helpers.running_server import hold_indexing, make_video, stored_vectors, until
from helpers.upstream import Upstream

KEY = "sk-of-the-upstream-0123456789"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A video with subtitles, and a file that is none."""
    folder = tmp_path_factory.mktemp("chat")
    make_video(folder / "boat.mp4")
    (folder / "broken.mp4").write_bytes(b"not a video")
    return folder


@pytest.fixture
def upstream():
    with Upstream() as running:
        yield running


class RunningProxy:
    """url: its /v1. store: where it keeps everything. videos: its state. openai: the official client."""

    def __init__(self, port, store, videos, key):
        self.url, self.store, self.videos = f"http://127.0.0.1:{port}/v1", store, videos
        self.http = httpx.Client(base_url=self.url, timeout=120, headers={"authorization": f"Bearer {key}"})
        self.openai = openai.OpenAI(base_url=self.url, api_key=key, max_retries=0)

    def ask(self, video, question="Why was the launch put off?", **more):
        """Ask with the official client about the video of a part."""
        message = {"role": "user", "content": [video, {"type": "text", "text": question}]}
        return self.openai.chat.completions.create(model="reader-7b", messages=[message], **more)

    def post(self, body, **more):
        return self.http.post("/chat/completions", json=body, **more)


@contextmanager
def run_proxy(upstream, folder, store, *, key=KEY, token="", **options):
    store.mkdir(exist_ok=True)
    pipeline = PipelineConfig(store=store, encoder="offline", budget=4)
    Store(store).save_texts(*stored_vectors())
    config = ProxyConfig((folder,), pipeline, upstream=upstream.url, **options)
    listener = listen("127.0.0.1", 0)
    access = ServerConfig(token=token, pipeline=pipeline, upload_bytes=config.download_bytes)
    made = []
    with pytest.MonkeyPatch.context() as patch:
        create = app_module.ChatVideos
        patch.setattr(app_module, "ChatVideos", lambda *given: made.append(create(*given)) or made[0])
        server = app_module.create_server(config, access)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until(lambda: server.started)
    running = RunningProxy(listener.getsockname()[1], store, made[0], key)
    try:
        yield running
    finally:
        running.http.close()
        running.openai.close()
        server.should_exit = True
        thread.join(timeout=60)


@pytest.fixture
def proxy(upstream, folder, tmp_path):
    with run_proxy(upstream, folder, tmp_path / "store") as running:
        yield running


@pytest.fixture
def gate(monkeypatch):
    """Indexing stops after the key frames until it is set."""
    gate = hold_indexing(monkeypatch)
    yield gate
    gate.set()
