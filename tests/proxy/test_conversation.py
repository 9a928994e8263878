"""Videos, question and options of a request's body, and what is added to a reply."""

import asyncio
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.errors import InputError
from framesift.proxy.conversation import NO_QUESTION, SENT, ChatRequest, find_videos, read_options
from framesift.proxy.replies import Addition
from helpers.strict_server import completion, events

DATA = "data:video/mp4;base64,AAAA"
URL = "https://example.org/film.mp4"
RECORD = {"videos": [{"frames": [{"time_s": 83.0, "url": "http://p/v1/framesift/a/83.jpg"}]}]}


def user(*content):
    return {"role": "user", "content": list(content)}


def text(words):
    return {"type": "text", "text": words}


def request(*messages):
    body = {"model": "m", "messages": list(messages)}
    return ChatRequest(body, list(find_videos(body)), read_options({}, {}))


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ({"type": "video_url", "video_url": {"url": URL}}, URL),
        ({"type": "video_url", "video_url": URL}, URL),
        ({"type": "input_video", "input_video": {"data": "AAAA", "format": "mp4"}}, "data:;base64,AAAA"),
        ({"type": "input_video", "input_video": {"url": DATA}}, DATA),
        ({"type": "input_video", "video_url": DATA}, DATA),
        ({"type": "input_video", "file_id": f"{SENT}1"}, f"{SENT}1"),
        ({"type": "file", "file": {"file_id": f"{SENT}1"}}, f"{SENT}1"),
        ({"type": "file", "file": {"filename": "a.bin", "file_data": DATA}}, DATA),
        ({"type": "file", "file": {"filename": "a.MOV", "file_data": "AAAA"}}, "data:;base64,AAAA"),
    ],
)
def test_video_is_found_in_every_form(part, source):
    (found,) = request(user(text("?")), user(text("!"), part)).parts
    assert (found.source, found.label) == (source, "messages[1].content[1]")


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "video_url", "video_url": {"url": "data:video/jpeg;base64,AAAA,BBBB"}},  # frames for vLLM
        {"type": "video_url", "video_url": None, "uuid": "cached"},
        {"type": "file", "file": {"file_id": "file-of-the-upstream"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {"type": "file", "file": 3},
        {"type": ["file"]},
        "video_url",
    ],
)
def test_other_parts_are_not_ours(part):
    assert request(user(part)).parts == []


@given(st.recursive(st.none() | st.text() | st.integers(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)))
def test_malformed_bodies_have_no_videos(value):
    bodies = ({"messages": value}, {"messages": [value]}, {"messages": [{"role": "user", "content": value}]})
    assert [list(find_videos(body)) for body in bodies] == [[], [], []]


def test_question_is_the_last_user_message_and_a_short_one_has_those_before_it():
    first, second = user(text("Why does Tom leave the room?")), {"role": "user", "content": "And then?"}
    assert request(first, {"role": "assistant", "content": "Because."}).question == "Why does Tom leave the room?"
    assert request(first, second).question == "Why does Tom leave the room?\nAnd then?"
    assert request(first, {"role": "user", "content": "Which boat is red?"}).question == "Which boat is red?"
    assert request(user()).question == NO_QUESTION


def test_frames_take_the_last_place_of_a_video_and_everything_else_stays():
    video, other = {"type": "video_url", "video_url": {"url": URL}}, {"type": "image_url", "image_url": {"url": "x"}}
    chat = request(user(text("a"), video), {"role": "assistant", "content": "b"}, user(video, other, text("c")))
    sent = json.loads(chat.with_frames({URL: [text("1"), text("2")]}, {"more": 1}))
    assert sent["messages"][1:] == [{"role": "assistant", "content": "b"}, user(text("1"), text("2"), other, text("c"))]
    assert [part["type"] for part in sent["messages"][0]["content"]] == ["text", "text"] and sent["more"] == 1


def test_options_come_from_headers_and_the_body_takes_precedence():
    headers = {"x-framesift-budget": "8", "x-framesift-window": "10:00-12:30", "x-framesift-links": "true"}
    options = read_options(headers, {"framesift": {"budget": 6}})
    assert (options.budget, options.links) == (6, True)
    settings = options.selection(None, 2)
    assert settings == {"budget": 3, "from_s": "10:00", "to_s": "12:30"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"budget": 0}, "budget is 0; expected 1 to 256"),
        ({"budgets": 3}, "'budgets'.*did you mean budget"),
        ({"window": "9"}, "expected two times, as in 10:00-12:30"),
        ("fast", "framesift is .fast.; expected an object"),
    ],
)
def test_bad_options_are_one_sentence(given, message):
    with pytest.raises(InputError, match=message):
        read_options({}, {"framesift": given})


def added(pieces, *, links=False):
    async def collect():
        async def replay():
            for piece in pieces:
                yield piece

        return b"".join([piece async for piece in Addition(RECORD, links).to_stream(replay())])

    return asyncio.run(collect())


@given(st.sampled_from(["", ": noise\n", "data: [DONE]", "data: {"]), st.lists(st.integers(0, 900)), st.booleans())
def test_stream_is_unchanged_but_for_one_event_however_it_arrives(more, cuts, is_complete):
    whole = (b"".join(events(completion("It is red."))) if is_complete else b"") + more.encode()
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    sent = added([whole[a:b] for a, b in pairwise(places)])
    start = sent.index(b'data: {"object"')
    end = sent.index(b"\n\n", start) + 2
    assert (sent[:start] + sent[end:]).rstrip() == whole.rstrip()
    chunk = json.loads(sent[start + 6 : end])
    assert chunk["framesift"] == RECORD and chunk["choices"][0]["delta"] == {}
    assert sent[end:].startswith(b"data: [DONE]") == (b"[DONE]" in whole)
    assert not is_complete or chunk["id"] == "chatcmpl-1"


def test_links_are_the_end_of_the_text():
    line = "\n\nFrames: [0:01:23](http://p/v1/framesift/a/83.jpg)"
    lines = added(list(events(completion("Red.", "stop"))), links=True).splitlines()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    finished = next(k for k, choice in enumerate(choices) if choice["finish_reason"])
    assert "".join(choice["delta"].get("content", "") for choice in choices[:finished]) == f"Red.{line}"
    reply = json.loads(Addition(RECORD, True).to_json(json.dumps(completion("Red.")).encode()))
    assert reply["choices"][0]["message"]["content"] == f"Red.{line}" and reply["framesift"] == RECORD


@pytest.mark.parametrize("content", [b"no JSON", b"[1]", b'{"error": "x"}', b'{"choices": 3}'])
def test_what_is_no_completion_has_no_links(content):
    reply = Addition(RECORD, True).to_json(content)
    assert reply == content
