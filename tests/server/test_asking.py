"""Readers of the server: which are called and shown, those added on the page, and slow ones."""

import json
import socket
import threading
from types import SimpleNamespace

import httpx
import pytest

from framesift._utils.addresses import RefusedAddress, is_public
from framesift.errors import FramesiftError
from framesift.pipeline.config import PipelineConfig
from framesift.readers import base as reader_base
from framesift.readers.base import check_reader
from framesift.server import answering
from framesift.server.config import ServerConfig
from framesift.server.page_readers import AddedReader, PageReaders
from helpers.running_server import QUESTION, asked, run_server, until
from helpers.strict_server import StrictServer
from helpers.upstream import Sent, Upstream

READER = "http://localhost:9/v1#m"


def test_only_configured_readers_are_asked(shared_server):
    answer = shared_server.post(f"/api/videos/{shared_server.boat}/ask", json=asked(reader="similarity")).json()
    assert answer["letter"] in "AB" and len(answer["times_s"]) == 6 and answer["reader"] == "similarity"
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/ask", json=asked(reader="http://127.0.0.1:9/v1"))
    assert reply.status_code == 400 and "No reader" in reply.json()["detail"]


@pytest.fixture
def held(monkeypatch):
    """A reader that answers only once `release` is set."""
    reader = SimpleNamespace(asked=threading.Event(), release=threading.Event())

    def answer(*_):
        reader.asked.set()
        reader.release.wait(120)
        raise FramesiftError("it never spoke")

    monkeypatch.setattr(reader_base, "get_reader", lambda _: SimpleNamespace(answer=answer))
    yield reader
    reader.release.set()


def ask_in_background(url, replies):
    thread = threading.Thread(target=lambda: replies.append(httpx.post(url, json=QUESTION, timeout=120)))
    thread.start()
    return thread


def test_slow_readers_do_not_block_selections(shared_server, held):
    url, replies = f"{shared_server.url}/api/videos/{shared_server.boat}", []
    asking = [ask_in_background(f"{url}/ask", replies) for _ in range(answering.MAX_READER_REQUESTS)]
    until(lambda: shared_server.services.answering._reader_requests._value == 0)
    try:
        assert shared_server.post(f"{url}/view", json=QUESTION).status_code == 200
        refused = shared_server.post(f"{url}/ask", json=QUESTION)
        assert refused.status_code == 503 and "reader requests are running" in refused.json()["detail"]
    finally:
        held.release.set()
        for one in asking:
            one.join()


@pytest.mark.slow
def test_slow_reader_does_not_block_the_shutdown(folder, tmp_path, held):
    replies = []
    with run_server(folder, tmp_path) as server:
        boat = server.index("boat.mp4")
        asking = ask_in_background(f"{server.url}/api/videos/{boat}/ask", replies)
        assert held.asked.wait(60)
    asking.join(timeout=60)
    assert not asking.is_alive() and replies[0].status_code == 503 and "shutting down" in replies[0].json()["detail"]


def test_request_that_finds_no_free_place_is_refused(shared_server, monkeypatch):
    monkeypatch.setattr(answering, "WAIT_S", 0)
    monkeypatch.setattr(shared_server.services.answering, "_running", threading.BoundedSemaphore(1))
    assert shared_server.services.answering._running.acquire()
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/view", json=QUESTION)
    assert reply.status_code == 503 and "busy" in reply.json()["detail"]


def test_abandoned_request_ends_the_request_to_the_model_before_its_first_word(shared_server, monkeypatch):
    with Upstream() as silent:
        silent.replies.append(Sent([], hold=threading.Event()))
        monkeypatch.setattr(shared_server.services.answering.readers, "_configured", [silent.url])
        body = json.dumps(asked(reader=silent.url))
        with socket.create_connection(("127.0.0.1", shared_server.port)) as client:
            client.sendall(shared_server.head(f"/api/videos/{shared_server.boat}/ask", len(body)) + body.encode())
            until(lambda: silent.chats)
        assert silent.closed.wait(60)
    slots = shared_server.services.answering._reader_requests
    until(lambda: slots._value == answering.MAX_READER_REQUESTS)


def test_reader_added_on_the_page_is_kept_without_showing_its_key(empty_server, monkeypatch, tmp_path):
    monkeypatch.setattr("framesift.server.page_readers.check_reader", lambda address, **options: None)
    reply = empty_server.post("/api/readers", json={"address": READER, "key": "sk-very-secret"})
    assert reply.json()["added"] == [READER] and "secret" not in reply.text
    kept_file = empty_server.config.state / "readers.json"
    assert kept_file.stat().st_mode & 0o077 == 0 and "sk-very-secret" in kept_file.read_text()
    assert "secret" not in empty_server.get("/api/choices").text
    removed = empty_server.client.delete("/api/readers", params={"address": READER})
    assert removed.json()["added"] == [] and "secret" not in kept_file.read_text()


def test_reader_that_does_not_respond_is_not_added(empty_server):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1#m"
        assert empty_server.post("/api/readers/test", json={"address": address}).status_code == 502
    assert empty_server.post("/api/readers", json={"address": "ftp://x"}).status_code == 400


def test_page_that_others_may_open_tests_public_and_configured_servers_only(tmp_path):
    with StrictServer() as near, StrictServer() as configured:
        shared = PageReaders(tmp_path / "shared.json", [configured.url], only_public=True)
        own = PageReaders(tmp_path / "own.json", [], only_public=False)
        for address in (near.url, near.url.replace("127.0.0.1", "localhost")):
            with pytest.raises(RefusedAddress, match="start the server with --reader"):
                shared.test(AddedReader(address))
            own.test(AddedReader(address))
        paths = len(near.paths)
        shared.test(AddedReader(configured.url))
        for address in ("http://169.254.169.254/v1", "http://[::ffff:169.254.169.254]/v1"):
            with pytest.raises(RefusedAddress):
                own.test(AddedReader(address))
        # A name that resolves to another address after the test, and a reader added before the page was shared.
        with pytest.raises(FramesiftError):
            check_reader(near.url, is_allowed=is_public, retries=0)
        assert len(near.paths) == paths


def test_redirect_to_an_address_inside_the_network_is_not_followed(tmp_path):
    with StrictServer() as near, StrictServer() as public:
        public.redirect = near.url + "/models"
        with pytest.raises(FramesiftError):
            check_reader(public.url, is_allowed=lambda _address: not public.paths, retries=0)
        assert public.paths and not near.paths


def test_page_is_shared_unless_only_this_machine_can_open_it(tmp_path):
    pipeline, token = PipelineConfig(store=tmp_path / "store"), "t" * 20
    assert not ServerConfig(pipeline=pipeline).is_shared
    assert ServerConfig(pipeline=pipeline, token=token).is_shared
    assert ServerConfig(pipeline=pipeline, host="0.0.0.0", token=token).is_shared  # noqa: S104
