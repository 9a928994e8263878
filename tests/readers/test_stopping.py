"""Requests to a model's server that are ended by another thread."""

from concurrent.futures import ThreadPoolExecutor
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


def ask_until(stop, server):
    stop_requests_with(stop)
    return OpenAIReader(server.url).reply(["Why?"])


def test_waiting_request_is_ended_at_once_and_not_sent_again(server):
    stop = StopEvent()
    with ThreadPoolExecutor(1) as thread:
        reply = thread.submit(ask_until, stop, server)
        assert server.asked.wait(60)
        stop.set()
        assert server.ended.wait(60)
        with pytest.raises((Stopped, ReaderError)):
            reply.result(60)
    assert server.requests == 1


def test_request_of_a_stopped_thread_is_not_sent(server):
    stop = StopEvent()
    stop.set()
    with pytest.raises(Stopped):
        copy_context().run(ask_until, stop, server)
    assert server.requests == 0
