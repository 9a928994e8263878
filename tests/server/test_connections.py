"""Connections that stay open, requests that are abandoned, and responses that are not sent twice."""

import json
import socket
import threading
from contextlib import ExitStack, suppress

import pytest

from framesift.pipeline.pipeline import Pipeline
from framesift.server import answering as answering_module
from framesift.server.answering import Abandoned
from helpers.page_visits import ASKED, QUESTION
from helpers.running_server import until


def connect(server, text):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall(text.format(port=server.port).encode())
    return connection


def test_body_that_does_not_arrive_ends_the_request(empty_server, monkeypatch):
    monkeypatch.setattr("framesift.server.security.STALLED_S", 0.05)
    head = "POST /api/videos HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    with connect(empty_server, head + "content-length: 9\r\n\r\n") as stalled:
        assert stalled.recv(12) == b"HTTP/1.1 408"


def send_question(server):
    body = json.dumps({"question": QUESTION})
    head = f"POST /api/videos/{server.boat}/view HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall((head + body).encode())
    return connection


def questions():
    """The threads of requests in progress."""
    return [thread for thread in threading.enumerate() if thread.name == "framesift-question"]


def test_abandoned_question_gives_up_its_place(shared_server):
    answering = shared_server.services.answering
    until(lambda: not questions())
    with ExitStack() as stack:
        for _ in range(answering_module.MAX_CONCURRENT):
            answering._running.acquire()
            stack.callback(answering._running.release)
        waiting = send_question(shared_server)
        until(questions)
        waiting.close()
        until(lambda: not questions())


def test_abandoned_selection_stops_at_its_next_step(shared_server, monkeypatch):
    reached, later = threading.Event(), []
    select, check_wanted = Pipeline.select, answering_module.check_wanted

    def hold(self, *given, **options):
        reached.set()
        with suppress(Abandoned):
            until(lambda: check_wanted(abandoned[0]))  # until the client has gone
        return select(self, *given, **options)

    abandoned = []
    monkeypatch.setattr(answering_module, "check_wanted", lambda event: abandoned.append(event) or check_wanted(event))
    monkeypatch.setattr(Pipeline, "select", hold)
    monkeypatch.setattr(Pipeline, "compare_with_chance", lambda *given, **_: later.append(given))
    asking = send_question(shared_server)
    assert reached.wait(60)
    asking.close()
    until(lambda: not questions())
    assert later == []


def test_text_is_compressed_and_an_unchanged_response_is_not_sent_again(empty_server):
    first = empty_server.get("/assets/video.js")
    assert first.headers["content-encoding"] == "gzip" and "accept-encoding" in first.headers["vary"].lower()
    again = empty_server.get("/assets/video.js", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
    assert "content-encoding" not in empty_server.get("/assets/video.js", headers={"accept-encoding": "br"}).headers


def test_eight_tabs_share_one_stream(shared_server, browser):
    context = browser.new_context()
    context.set_default_timeout(60_000)
    try:
        pages = [context.new_page() for _ in range(8)]
        for page in pages:
            page.goto(f"{shared_server.url}/video/{shared_server.boat}{ASKED}")
        for page in pages:
            page.locator(".card").first.wait_for()
        until(lambda: shared_server.services.open_streams == 1)
        pages[0].close()
        pages[1].close()
        until(lambda: shared_server.services.open_streams == 1)
    finally:
        context.close()
    until(lambda: shared_server.services.open_streams == 0)


@pytest.fixture(autouse=True)
def _needs_no_other_stream(shared_server):
    until(lambda: shared_server.services.open_streams == 0)
