"""Requests to a model's server that are ended by another thread."""

import threading
from contextvars import copy_context

import pytest

from framesift.errors import ReaderError
from framesift.readers.openai import OpenAIReader
from framesift.readers.stopping import StopEvent, Stopped, stop_requests_with
from helpers.silent_server import FIRST_PIECE, SilentServer


@pytest.fixture(params=["", FIRST_PIECE], ids=["before the reply", "inside the reply"])
def server(request):
    silent = SilentServer(request.param)
    yield silent
    silent.listener.close()


def test_waiting_request_is_ended_at_once_and_not_sent_again(server):
    stop, outcome = StopEvent(), []

    def ask() -> None:
        stop_requests_with(stop)
        try:
            outcome.append(OpenAIReader(server.url).reply(["Why?"]))
        except BaseException as error:
            outcome.append(type(error))

    thread = threading.Thread(target=ask)
    thread.start()
    assert server.asked.wait(60)
    stop.set()
    assert server.ended.wait(60)
    thread.join(60)
    assert outcome[0] in (Stopped, ReaderError) and server.requests == 1


def test_request_of_a_stopped_thread_is_not_sent(server):
    def ask() -> None:
        stop = StopEvent()
        stop.set()
        stop_requests_with(stop)
        OpenAIReader(server.url).reply(["Why?"])

    with pytest.raises(Stopped):
        copy_context().run(ask)
    assert server.requests == 0
