"""Asking readers over HTTP: which are called, what is shown of them, and slow ones."""

import json
import socket
import threading

import httpx
import pytest

import framesift as fs
from framesift.readers import base as reader_base
from framesift.server import answering
from helpers.running_server import QUESTION, asked, run_server, until
from helpers.silent_server import SilentServer


def test_only_configured_readers_are_asked(shared_server):
    answer = shared_server.post(f"/api/videos/{shared_server.boat}/ask", json=asked(reader="similarity")).json()
    assert answer["letter"] in "AB" and len(answer["times_s"]) == 6 and answer["reader"] == "similarity"
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/ask", json=asked(reader="http://127.0.0.1:9/v1"))
    assert reply.status_code == 400 and "No reader" in reply.json()["detail"]


def test_slow_readers_do_not_block_selections(shared_server, monkeypatch):
    release = threading.Event()

    class Silent:
        def answer(self, *_):
            release.wait(120)
            raise fs.FramesiftError("it never spoke")

    monkeypatch.setattr(reader_base, "get_reader", lambda _: Silent())
    asking = [
        threading.Thread(
            target=httpx.post,
            args=(f"{shared_server.url}/api/videos/{shared_server.boat}/ask",),
            kwargs={"json": QUESTION, "timeout": 120},
        )
        for _ in range(answering.MAX_READER_REQUESTS)
    ]
    for one in asking:
        one.start()
    until(lambda: shared_server.services.answering._reader_requests._value == 0)
    try:
        assert shared_server.post(f"/api/videos/{shared_server.boat}/view", json=QUESTION).status_code == 200
        refused = shared_server.post(f"/api/videos/{shared_server.boat}/ask", json=QUESTION)
        assert refused.status_code == 503 and "reader requests are running" in refused.json()["detail"]
    finally:
        release.set()
        for one in asking:
            one.join()


@pytest.mark.slow
def test_slow_reader_does_not_block_the_shutdown(folder, tmp_path, monkeypatch):
    release, replies = threading.Event(), []
    with run_server(folder, tmp_path) as server:
        boat = server.index("boat.mp4")
        asked = threading.Event()

        class Silent:
            def answer(self, *_):
                asked.set()
                release.wait(120)

        monkeypatch.setattr(reader_base, "get_reader", lambda _: Silent())
        ask = f"{server.url}/api/videos/{boat}/ask"
        asking = threading.Thread(target=lambda: replies.append(httpx.post(ask, json=QUESTION, timeout=60)))
        asking.start()
        assert asked.wait(60)
    asking.join(timeout=60)
    assert not asking.is_alive() and replies[0].status_code == 503 and "shutting down" in replies[0].json()["detail"]
    release.set()


def test_request_that_finds_no_free_place_is_refused(shared_server, monkeypatch):
    monkeypatch.setattr(answering, "WAIT_S", 0)
    monkeypatch.setattr(shared_server.services.answering, "_running", threading.BoundedSemaphore(1))
    assert shared_server.services.answering._running.acquire()
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/view", json=QUESTION)
    assert reply.status_code == 503 and "busy" in reply.json()["detail"]


def test_abandoned_request_ends_the_request_to_the_model_before_its_first_word(shared_server, monkeypatch):
    silent = SilentServer()
    monkeypatch.setattr(shared_server.services.answering.readers, "_configured", [silent.url])
    slots = shared_server.services.answering._reader_requests
    free = slots._value
    body = json.dumps(asked(reader=silent.url))
    head = f"POST /api/videos/{shared_server.boat}/ask HTTP/1.1\r\nhost: 127.0.0.1:{shared_server.port}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", shared_server.port)) as client:
        client.sendall((head + body).encode())
        assert silent.asked.wait(60)
    assert silent.ended.wait(60)
    until(lambda: slots._value == free)
