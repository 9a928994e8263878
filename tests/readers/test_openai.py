"""The OpenAI reader against a real HTTP server: what it sends, and one sentence per failure."""

import json
import logging
import socket
import threading

import pytest

import framesift as fs
from framesift.errors import InputError, ReaderError
from framesift.pipeline.video import ask
from framesift.readers.connection import ServerConnection
from framesift.readers.openai import OpenAIReader


def fails(reader, exhibit, question):
    with pytest.raises(ReaderError) as caught:
        reader.answer(exhibit, question, "aligned")
    sentence = str(caught.value)
    assert "\n" not in sentence and "base64" not in sentence and len(sentence) < 400
    return sentence


def test_only_model_is_chosen_and_its_letter_returned(server, exhibit, question):
    answer = ask(exhibit, question, reader=server.url)
    assert (answer.letter, answer.choice, answer.text, answer.parsed, answer.raw) == ("B", 1, "The wind", True, "B")
    assert answer.times_s == (1.0, 3.0, 7.0, 12.0, 16.0) and answer.frames == (5, 15, 35, 60, 80)
    assert answer.tokens == 901 and answer.seconds > 0
    assert answer.reader.endswith("#reader-7b") and answer.text_mode == "aligned"


def test_frames_follow_their_times_and_the_question_is_last(server, exhibit, question):
    OpenAIReader(server.url).answer(exhibit, question, "aligned")
    assert [part["type"] for part in server.parts()] == ["text", "image_url"] * 5 + ["text"]
    assert server.texts()[:2] == ["Frame 1 [0:00:01.000]:", "Frame 2 [0:00:03.000]:"]
    assert server.texts()[-1].startswith("Why was the launch put off?\nA. The rain\nB. The wind\nC. A strike\n")


@pytest.mark.parametrize(("options", "size"), [({"longest_side": 80}, (80, 48)), ({}, (160, 96))])
def test_images_have_the_longest_side_at_most_and_the_quality(server, exhibit, question, options, size):
    OpenAIReader(server.url, **options).answer(exhibit, question, "aligned")
    assert {picture.size for picture in server.pictures()} == {size}
    OpenAIReader(server.url, **options, quality=20).answer(exhibit, question, "aligned")
    large, small = (sum(len(part["image_url"]["url"]) for part in server.parts(k)[1::2]) for k in (0, 1))
    assert small < large


@pytest.mark.parametrize(
    ("refuses", "value"),
    [("body_keys", {"model", "messages", "max_completion_tokens", "temperature"}), ("models", None)],
)
def test_server_with_other_keys_or_without_a_list_of_models_answers(server, exhibit, question, refuses, value):
    setattr(server, refuses, value)
    assert OpenAIReader(f"{server.url}#reader-7b").answer(exhibit, question, "aligned").letter == "B"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", "2 models: name one with #MODEL after the address, of large, small"),
        ("#other", "has no model 'other'; it has large, small"),
    ],
)
def test_models_are_listed_without_the_name_of_one(server, exhibit, question, name, expected):
    server.models = ("small", "large")
    assert expected in fails(OpenAIReader(server.url + name), exhibit, question)


def test_unreachable_server_is_reported(exhibit, question):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # a port that nobody listens to, nor can take
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        sentence = fails(OpenAIReader(f"{address}/v1#any", retries=0), exhibit, question)
    assert sentence.startswith(f"{address} can't be reached")


LIMIT = (f"""--limit-mm-per-prompt '{json.dumps({"image": 5})}'""", "--budget", "and got 5")
CONTEXT = ("5 images and the question exceed the context of reader-7b", "--budget", "longest_side")
TEXT_ONLY = ("reader-7b on http://127.0.0.1", "does not accept images")
# Status, message, other fields of the error: what the sentence starts with, what else it has.
REFUSALS = [
    (400, "At most 1 image(s) may be provided in one request.", {}, ("", "accepts 1 image per", *LIMIT)),
    (
        400,
        "You set image=2 (or defaulted to 1) in `--limit-mm-per-prompt`, but passed 5",
        {},
        ("", "accepts 2", *LIMIT),
    ),
    (400, "Too many images in request. Max is 3.", {}, ("", "accepts 3 images per", *LIMIT)),
    (400, "Too many images", {}, ("", "accepts fewer images", *LIMIT)),
    (400, "x" * 900, {}, ("", "returned 400: xxx")),
    (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", {}, CONTEXT),
    (400, "The input (61709 tokens) is longer than the model's context length (40960 tokens).", {}, CONTEXT),
    (400, "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it", {}, CONTEXT),
    (500, "Context size has been exceeded.", {"type": "server_error"}, CONTEXT),
    (400, "Too long", {"type": "exceed_context_size_error"}, CONTEXT),
    (400, "Please shorten", {"type": None, "code": "context_length_exceeded"}, CONTEXT),
    (400, "reader-7b is not a multimodal model", {}, TEXT_ONLY),
    (500, "image input is not supported - hint: you may need to provide the mmproj", {}, TEXT_ONLY),
    (400, "Invalid content type. image_url is only supported by certain models.", {}, TEXT_ONLY),
    (400, "this model does not support image input (ref: 1)", {}, TEXT_ONLY),
    (404, "No endpoints found that support image input", {}, TEXT_ONLY),
    (500, 'Unsupported content part type: "image_url"; messages = [data:image/jpeg;base64,AAAA]', {}, TEXT_ONLY),
    (422, "unknown variant `image_url`, expected `text`", {}, TEXT_ONLY),
    (200, "reader-7b is not a multimodal model", {}, TEXT_ONLY),
    (429, "rate limit", {}, ("", "still busy after every retry (429)")),
    (400, "odd\nthing with data:image/jpeg;base64,AAAA in it", {}, ("", "returned 400: odd thing with (image) in it")),
]


@pytest.mark.parametrize(("status", "message", "fields", "expected"), REFUSALS)
def test_refusal_is_one_sentence_with_its_cause_and_remedy(
    server, exhibit, question, status, message, fields, expected
):
    server.refuse(status, message, times=2, **fields)
    sentence = fails(OpenAIReader(server.url, retries=1), exhibit, question)
    assert sentence.startswith(expected[0]) and all(part in sentence for part in expected)


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("OPENAI_API_KEY", "requires a key and none is set: export FRAMESIFT_API_KEY=…"),  # it is sent only to OpenAI
        ("FRAMESIFT_API_KEY", "rejected the key in FRAMESIFT_API_KEY"),
    ],
)
def test_missing_or_wrong_key_is_reported_by_variable_and_not_shown(
    server, exhibit, question, monkeypatch, variable, expected
):
    server.key = "the-key"
    monkeypatch.setenv(variable, "another-key")
    sentence = fails(OpenAIReader(server.url), exhibit, question)
    assert expected in sentence and "another-key" not in sentence
    is_own = variable == "FRAMESIFT_API_KEY"  # the one that comes first
    assert (OpenAIReader("https://api.openai.com/v1#gpt").key_variable == "OPENAI_API_KEY") is not is_own


def test_busy_server_is_retried(server, exhibit, question):
    for status in (429, 500):
        server.refuse(status, "busy")
    assert OpenAIReader(server.url).answer(exhibit, question, "aligned").letter == "B"
    assert len(server.requests) == 3


def test_timeout_is_reported(server, exhibit, question, monkeypatch):
    monkeypatch.setattr(ServerConnection, "_list_models", lambda *_: {"reader-7b": "vllm"})  # in time, always
    server.hold = threading.Event()
    sentence = fails(OpenAIReader(server.url, timeout_s=0.2, retries=0), exhibit, question)
    server.hold.set()
    assert "did not answer within 0.2 s: raise timeout_s" in sentence


END = "check that the address ends in /v1"
PAGE = b"<html>Request Entity Too Large</html>"


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [(200, b"not json", END), (200, b"{}", END), (200, b'{"choices": []}', END), (413, PAGE, "a request of this size")],
)
def test_invalid_completion_or_a_proxys_page_is_reported(server, exhibit, question, status, body, expected):
    server.replies.append((status, body, {}))
    assert expected in fails(OpenAIReader(server.url), exhibit, question)


@pytest.mark.parametrize(
    ("words", "letter", "note"),
    [
        ("Let me think about", "", "the reply was truncated after 7 tokens: raise max_tokens (--set max_tokens=N)"),
        ("B because the wind", "B", ""),
    ],
)
def test_truncation_is_noted_unless_it_follows_the_letter(server, exhibit, question, words, letter, note):
    server.reply(words, finish="length")
    answer = OpenAIReader(server.url, max_tokens=7).answer(exhibit, question, "aligned")
    assert (answer.letter or "", answer.note) == (letter, note)
    assert server.requests[-1]["max_tokens"] == 7


@pytest.mark.parametrize("words", ["A or B", None])
def test_reply_without_one_letter_gives_no_choice(server, exhibit, question, words):
    server.reply(words)
    answer = OpenAIReader(server.url).answer(exhibit, question, "aligned")
    assert (answer.parsed, answer.choice, answer.raw) == (False, None, words or "")


def test_free_answer_is_the_text_of_the_reply(server, exhibit):
    server.reply("He leaves at [0:00:07.000].\x1b[2J")
    answer = OpenAIReader(server.url).answer(exhibit, fs.Question("When does he leave?"), "aligned")
    assert answer.parsed and answer.choice is None and answer.text == "He leaves at [0:00:07.000].[2J"
    assert "its time in square brackets" in server.texts()[-1]
    assert server.requests[-1]["max_tokens"] == 512


def test_key_images_and_reply_are_not_logged(server, exhibit, question, monkeypatch, caplog):
    monkeypatch.setenv("FRAMESIFT_API_KEY", "very-secret")
    server.key = "very-secret"
    server.words = "Surely B"
    with caplog.at_level(logging.DEBUG):
        OpenAIReader(server.url).answer(exhibit, question, "aligned")
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert "very-secret" not in logged and "base64" not in logged and "Surely" not in logged


@pytest.mark.parametrize(
    ("address", "options", "message"),
    [
        ("http://localhost:8000", {}, "expected an address like http://host:8000/v1"),
        ("http:///v1", {}, "expected an address like http://host:8000/v1"),
        ("http://host/v1", {"quality": 100}, "quality is 100; expected"),
        ("http://host/v1", {"longest_side": 1}, "longest_side is 1; expected"),
        ("http://host/v1", {"max_tokens": 0}, "max_tokens is 0; expected"),
        ("http://host/v1", {"retries": -1}, "retries is -1; expected"),
        ("http://host/v1", {"timeout_s": -1}, "timeout_s is -1; expected seconds above 0"),
        ("http://host/v1", {"timeout_s": float("nan")}, "timeout_s is nan; expected"),
    ],
)
def test_address_and_options_are_checked(address, options, message):
    with pytest.raises(InputError, match=message):
        OpenAIReader(address, **options)
