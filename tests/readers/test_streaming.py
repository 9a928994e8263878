"""Replies in pieces: what is shown while they arrive, the answer at their end, and requests that are stopped."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

import framesift as fs
from framesift.errors import ReaderError
from framesift.progress import Stopped
from framesift.readers.base import stream_answer
from framesift.readers.openai import OpenAIReader
from framesift.readers.parsing import readable_pieces
from framesift.readers.stopping import StopEvent, stop_requests_with
from framesift.types import Answer
from helpers.running_server import until
from helpers.strict_server import completion, events
from helpers.upstream import Sent, Upstream

OPEN = fs.Question("When does he leave?")


def streamed(exhibit, server, **options):
    *pieces, answer = OpenAIReader(server.url, **options).stream(exhibit, OPEN, "aligned")
    return pieces, answer


def in_pieces(text, size):
    return [text[k : k + size] for k in range(0, len(text), size)]


def test_pieces_arrive_before_the_answer_and_are_its_text(server, exhibit):
    server.words = "He leaves at [0:00:07.000], after the second cup."
    pieces, answer = streamed(exhibit, server)
    assert len(pieces) > 3 and "".join(pieces) == answer.text == server.words
    assert (answer.tokens, answer.parsed, answer.note) == (901, True, "") and answer.seconds > 0


def test_video_is_streamed_as_well_and_an_early_end_is_noted(server, exhibit):
    server.version = "0.21.0"
    assert streamed(exhibit, server)[1].frames_as == "video"
    server.replies.append((200, CHUNK, {}))
    assert "the reply is incomplete" in streamed(exhibit, server)[1].note


def test_server_without_streams_or_their_options_is_asked_again(server, exhibit):
    server.refuse(400, "unknown field 'stream_options'")
    assert streamed(exhibit, server)[1].text == "B" and "stream_options" not in server.requests[-1]
    server.takes_streams = False
    pieces, answer = streamed(exhibit, server)
    assert pieces == [] and answer.text == "B"


def test_reasoning_is_not_shown(server, exhibit):
    server.words = "\n<think>At frame 2 he may </think>\n\nAt 0:07."
    pieces, answer = streamed(exhibit, server)
    assert "".join(pieces) == answer.text == "At 0:07." and answer.raw == server.words


def test_any_cut_of_a_reply_shows_the_same():
    replies = {
        "<think>no</think> Yes, a < b.": "Yes, a < b.",
        "<thinker> is a word": "<thinker> is a word",
        "  <": "  <",
        "a\x1b[2Jb\r\nc": "a[2Jb\nc",
        "<think>never ends": "",
    }
    for reply, shown in replies.items():
        for size in range(1, 8):
            assert "".join(readable_pieces(in_pieces(reply, size))) == shown


def test_lost_connection_is_one_sentence(server, exhibit):
    server.words, server.lose_stream = "He leaves at seven.", True
    with pytest.raises(ReaderError, match=r"^the connection to http://127.0.0.1:\d+ was lost during the reply"):
        streamed(exhibit, server)


CHUNK = (
    b'data: {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [{"index": 0, '
    b'"delta": {"content": "He"}, "finish_reason": null}]}\n\n'
)
ERROR = b'data: {"error": {"message": "The prompt is too long: maximum context length is 9", "code": 400}}\n\n'


@pytest.mark.parametrize(
    ("stream", "message"),
    [(ERROR, "exceed the context of reader-7b"), (b"data: {broken\n\n", "did not return a chat completion")],
)
def test_failure_inside_a_stream_is_one_sentence(server, exhibit, stream, message):
    server.replies.append((200, stream, {}))
    with pytest.raises(ReaderError, match=message):
        streamed(exhibit, server)


@pytest.mark.parametrize("silent", [2], indirect=True)
def test_closing_the_iterator_closes_the_connection(silent, exhibit):
    pieces = stream_answer(exhibit, OPEN, text_mode="aligned", reader=OpenAIReader(silent.url))
    assert next(pieces) == "The "
    pieces.close()
    assert silent.closed.wait(60)


def test_reader_of_another_package_may_stream_or_not(exhibit):
    class Plain:
        def answer(self, exhibit, question, text_mode="aligned"):
            return Answer("At seven.")

    class Broken(Plain):
        name = "broken"

        def stream(self, exhibit, question, text_mode="aligned"):
            yield "so"
            raise RuntimeError("no")

    assert list(stream_answer(exhibit, OPEN, text_mode="aligned", reader=Plain())) == [Answer("At seven.")]
    with pytest.raises(ReaderError, match="the reader broken failed"):
        list(stream_answer(exhibit, OPEN, text_mode="aligned", reader=Broken()))


@pytest.fixture(params=[0, 2], ids=["before the reply", "inside the reply"])
def silent(request):
    """A server that sends nothing, or all but the last of this many pieces."""
    with Upstream() as running:
        pieces = list(events(completion("The end.")))[: request.param]
        running.replies.append(Sent(pieces, kind="text/event-stream", hold=threading.Event()))
        yield running


def ask_until(stop, server):
    stop_requests_with(stop)
    return OpenAIReader(server.url).reply(["Why?"])


def test_waiting_request_is_ended_at_once_and_not_sent_again(silent):
    stop = StopEvent()
    with ThreadPoolExecutor(1) as thread:
        reply = thread.submit(ask_until, stop, silent)
        until(lambda: silent.chats)
        stop.set()
        assert silent.closed.wait(60)
        with pytest.raises((Stopped, ReaderError)):
            reply.result(60)
    assert len(silent.chats) == 1


def test_request_of_a_stopped_thread_is_not_sent(silent):
    stop = StopEvent()
    stop.set()
    with pytest.raises(Stopped):
        copy_context().run(ask_until, stop, silent)
    assert silent.chats == []
