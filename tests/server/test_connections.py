"""Connections that stay open, requests that are abandoned, and responses that are not sent twice."""

import json
import socket
import threading
from contextlib import ExitStack, closing, suppress

import pytest

from framesift.pipeline.video import Video
from framesift.server import answering as answering_module
from framesift.server.answering import Abandoned
from helpers.browser import settles
from helpers.page_visits import QUESTION
from helpers.running_server import until


@pytest.mark.parametrize("path", ["/api/readers/test", "/api/uploads?name=a.mp4"])
def test_body_that_does_not_arrive_ends_the_request(empty_server, monkeypatch, path):
    monkeypatch.setattr("framesift.server.security.STALLED_S", 0.05)
    with socket.create_connection(("127.0.0.1", empty_server.port), timeout=60) as stalled:
        stalled.sendall(empty_server.head(path, 999) + b"x")
        assert stalled.recv(12) == b"HTTP/1.1 408"
    until(lambda: empty_server.services.active_uploads == 0)
    assert list(empty_server.services.files.uploads.iterdir()) == []


def send_question(server):
    body = json.dumps({"question": QUESTION}).encode()
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(server.head(f"/api/videos/{server.boat}/view", len(body)) + body)
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
    select, check_wanted = Video.select_many, answering_module.check_wanted

    def hold(self, *given, **options):
        reached.set()
        with suppress(Abandoned):
            until(lambda: check_wanted(abandoned[0]))  # until the client has gone
        return select(self, *given, **options)

    abandoned = []
    monkeypatch.setattr(answering_module, "check_wanted", lambda event: abandoned.append(event) or check_wanted(event))
    monkeypatch.setattr(Video, "select_many", hold)
    monkeypatch.setattr(Video, "compare_with_chance", lambda *given, **_: later.append(given))
    with closing(send_question(shared_server)):
        assert reached.wait(60)
    until(lambda: not questions())
    assert later == []


def test_text_is_compressed_and_an_unchanged_response_is_not_sent_again(empty_server):
    first = empty_server.get("/assets/video.js")
    assert first.headers["content-encoding"] == "gzip" and "accept-encoding" in first.headers["vary"].lower()
    again = empty_server.get("/assets/video.js", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
    assert "content-encoding" not in empty_server.get("/assets/video.js", headers={"accept-encoding": "br"}).headers


def test_tabs_share_one_stream_which_another_opens_when_its_tab_is_closed(empty_server, browser):
    with closing(browser.new_context()) as context:
        first, second, third = pages = [context.new_page() for _ in range(3)]
        opened = []  # pages that ask for the stream
        for page in pages:
            page.on("request", lambda request, page=page: request.url.endswith("/stream") and opened.append(page))
            page.goto(empty_server.url)
        until(lambda: empty_server.services.open_streams == 1)
        first.close()
        second.close()
        assert settles(third, lambda: third in opened and empty_server.services.open_streams == 1)
    until(lambda: empty_server.services.open_streams == 0)
