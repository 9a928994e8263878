"""The server reader against a real HTTP server: what it sends, and one sentence for each way to fail."""

import logging
import socket
import sys
import threading

import pytest

import framesift as fs
from framesift.errors import InputError, MissingExtra, OptionError, ReaderError
from framesift.readers.base import ask, ask_many
from framesift.readers.openai import OpenAIReader

pytest.importorskip("openai", reason="openai comes with framesift[openai]")


def fails(reader, exhibit, question):
    with pytest.raises(ReaderError) as caught:
        reader.answer(exhibit, question)
    sentence = str(caught.value)
    assert "\n" not in sentence and "base64" not in sentence
    return sentence


def test_the_only_model_is_asked_and_its_letter_comes_back(server, exhibit, question):
    answer = ask(exhibit, question, reader=server.url)
    assert (answer.letter, answer.choice, answer.text, answer.parsed, answer.raw) == ("B", 1, "The wind", True, "B")
    assert answer.times_s == (1.0, 3.0, 7.0, 12.0, 16.0) and answer.frames == (5, 15, 35, 60, 80)
    assert answer.tokens == 901 and answer.seconds > 0
    assert answer.reader.endswith("#reader-7b") and answer.text_mode == "aligned"


def test_every_frame_follows_its_time_and_the_question_comes_last(server, exhibit, question):
    OpenAIReader(server.url).answer(exhibit, question)
    assert [part["type"] for part in server.parts()] == ["text", "image_url"] * 5 + ["text"]
    assert server.texts()[:2] == ["Frame 1 [0:00:01.000]:", "Frame 2 [0:00:03.000]:"]
    assert server.texts()[-1].startswith("Why was the launch put off?\nA. The rain\nB. The wind\nC. A strike\n")


def test_times_can_be_switched_off(server, exhibit, question):
    OpenAIReader(server.url, times=False).answer(exhibit, question)
    assert [part["type"] for part in server.parts()] == ["image_url"] * 5 + ["text"]


def test_pictures_are_shrunk_to_the_longest_side_and_never_enlarged(server, exhibit, question):
    OpenAIReader(server.url, longest_side=80).answer(exhibit, question)
    assert {picture.size for picture in server.pictures()} == {(80, 48)}
    OpenAIReader(server.url).answer(exhibit, question)
    assert {picture.size for picture in server.pictures()} == {(160, 96)}


def test_quality_sets_the_size_of_the_request(server, exhibit, question):
    for quality in (20, 95):
        OpenAIReader(server.url, quality=quality).answer(exhibit, question)
    small, large = (sum(len(part["image_url"]["url"]) for part in server.parts(k)[1::2]) for k in (0, 1))
    assert small < large


def test_vllm_gets_the_same_id_for_the_same_picture(server, exhibit, question):
    reader = OpenAIReader(server.url)
    for _ in range(2):
        reader.answer(exhibit, question)
    first, second = ([part.get("uuid") for part in server.parts(k)[1::2]] for k in (0, 1))
    assert first == second and len(set(first)) == 5


def test_other_servers_get_no_ids(server, exhibit, question):
    server.owner, server.takes_ids = "llamacpp", False
    OpenAIReader(server.url).answer(exhibit, question)
    assert not any("uuid" in part for part in server.parts())


def test_a_server_that_refuses_ids_is_asked_without(server, exhibit, question):
    server.takes_ids = False
    assert OpenAIReader(server.url).answer(exhibit, question).letter == "B"
    assert not any("uuid" in part for part in server.parts())


def test_a_server_that_wants_max_completion_tokens_gets_it(server, exhibit, question):
    server.body_keys = {"model", "messages", "max_completion_tokens", "temperature"}
    assert OpenAIReader(server.url).answer(exhibit, question).letter == "B"


def test_the_model_behind_the_hash_is_asked(server, exhibit, question):
    server.models = ("small", "large")
    OpenAIReader(f"{server.url}#large").answer(exhibit, question)
    assert server.requests[-1]["model"] == "large"


def test_a_server_without_a_list_of_models_still_answers(server, exhibit, question):
    server.models = None
    server.takes_ids = False
    assert OpenAIReader(f"{server.url}#any").answer(exhibit, question).letter == "B"


def test_several_models_and_none_named(server, exhibit, question):
    server.models = ("small", "large")
    assert "2 models: name one with #MODEL behind the address, of large, small" in fails(
        OpenAIReader(server.url), exhibit, question
    )


def test_wrong_model_lists_the_models(server, exhibit, question):
    sentence = fails(OpenAIReader(f"{server.url}#other"), exhibit, question)
    assert "knows no model 'other'; it has reader-7b" in sentence


def test_server_down(exhibit, question):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reader = OpenAIReader(f"http://127.0.0.1:{port}/v1#any", retries=0)
    assert fails(reader, exhibit, question).startswith(f"http://127.0.0.1:{port} can't be reached")


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("At most 1 image(s) may be provided in one request.", "takes 1 picture in"),
        ("At most 4 image(s) may be provided in one prompt.", "takes 4 pictures in"),
        (
            "You set image=2 (or defaulted to 1) in `--limit-mm-per-prompt`, but passed 5 image items",
            "takes 2 pictures in",
        ),
        ("Too many images in request. Max is 3.", "takes 3 pictures in"),
        ("Too many images", "takes fewer pictures"),
    ],
)
def test_too_many_pictures_names_the_limit_and_the_flag(server, exhibit, question, message, limit):
    server.refuse(400, message)
    sentence = fails(OpenAIReader(server.url), exhibit, question)
    assert limit in sentence and "and got 5" in sentence
    assert """--limit-mm-per-prompt '{"image": 5}'""" in sentence and "--budget" in sentence


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", {}),
        (400, "The input (61709 tokens) is longer than the model's context length (40960 tokens).", {}),
        (400, "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it", {}),
        (500, "Context size has been exceeded.", {"type": "server_error"}),
        (400, "Too long", {"type": "exceed_context_size_error"}),
        (400, "Please shorten", {"type": None, "code": "context_length_exceeded"}),
    ],
)
def test_context_too_long_names_the_remedies(server, exhibit, question, status, message, more):
    server.refuse(status, message, times=2, **more)
    sentence = fails(OpenAIReader(server.url, retries=1), exhibit, question)
    assert sentence.startswith("5 pictures and the question are longer than the context of reader-7b")
    assert "--budget" in sentence and "--longest-side" in sentence and message in sentence


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "reader-7b is not a multimodal model"),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "this model does not support image input (ref: 1)"),
        (404, "No endpoints found that support image input"),
        (500, 'Unsupported content part type: "image_url"; messages = [data:image/jpeg;base64,AAAA]'),
        (422, "unknown variant `image_url`, expected `text`"),
    ],
)  # fmt: skip
def test_a_text_only_model_is_named_as_such(server, exhibit, question, status, message):
    server.refuse(status, message, times=2)
    sentence = fails(OpenAIReader(server.url, retries=1), exhibit, question)
    assert sentence.startswith("reader-7b on http://127.0.0.1") and "takes no pictures" in sentence


def test_key_missing(server, exhibit, question):
    server.key = "secret"
    sentence = fails(OpenAIReader(server.url), exhibit, question)
    assert sentence.endswith("wants a key and none is set: export FRAMESIFT_API_KEY=…")


def test_wrong_key_is_named_by_its_variable_and_never_shown(server, exhibit, question, monkeypatch):
    server.key = "secret"
    monkeypatch.setenv("FRAMESIFT_API_KEY", "wrong-one")
    sentence = fails(OpenAIReader(server.url), exhibit, question)
    assert "refused the key in FRAMESIFT_API_KEY" in sentence and "wrong-one" not in sentence


def test_the_key_comes_from_the_environment(server, exhibit, question, monkeypatch):
    server.key = "secret"
    monkeypatch.setenv("FRAMESIFT_API_KEY", "secret")
    assert OpenAIReader(server.url).answer(exhibit, question).letter == "B"


def test_openais_key_goes_to_openai_alone(server, exhibit, question, monkeypatch):
    server.key = "secret"
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert "wants a key" in fails(OpenAIReader(server.url), exhibit, question)
    assert OpenAIReader("https://api.openai.com/v1#gpt").key_variable == "OPENAI_API_KEY"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(server, exhibit, question, status):
    server.refuse(status, "busy", times=2)
    assert OpenAIReader(server.url).answer(exhibit, question).letter == "B"
    assert len(server.requests) == 3


def test_a_server_that_stays_busy(server, exhibit, question):
    server.refuse(429, "rate limit", times=2)
    assert "still busy after every retry (429)" in fails(OpenAIReader(server.url, retries=1), exhibit, question)


def test_too_slow_names_the_timeout(server, exhibit, question):
    server.hold = threading.Event()
    sentence = fails(OpenAIReader(server.url, timeout_s=0.2, retries=0), exhibit, question)
    server.hold.set()
    assert "gave no answer within 0.2 s: raise --timeout" in sentence


def test_a_request_too_large(server, exhibit, question):
    server.replies.append((413, b"<html>Request Entity Too Large</html>", {}))
    assert "takes no request this large" in fails(OpenAIReader(server.url), exhibit, question)


def test_an_unknown_refusal_is_passed_on_without_pictures(server, exhibit, question):
    server.refuse(400, "odd\nthing with data:image/jpeg;base64,AAAA in it " + "x" * 900)
    sentence = fails(OpenAIReader(server.url), exhibit, question)
    assert "answered 400: odd thing with (picture) in it" in sentence and len(sentence) < 400


@pytest.mark.parametrize("body", [b"not json", b"{}", b'"words"', b'{"choices": []}'])
def test_a_reply_that_is_no_completion(server, exhibit, question, body):
    server.replies.append((200, body, {}))
    assert fails(OpenAIReader(server.url), exhibit, question).endswith("check that the address ends in /v1")


def test_a_refusal_inside_a_good_reply(server, exhibit, question):
    server.replies.append((200, {"error": {"message": "reader-7b is not a multimodal model"}}, {}))
    assert "takes no pictures" in fails(OpenAIReader(server.url), exhibit, question)


def test_a_reply_cut_off_says_so(server, exhibit, question):
    server.reply("Let me think about", finish="length")
    answer = OpenAIReader(server.url, max_tokens=7).answer(exhibit, question)
    assert not answer.parsed and answer.note == "the reply was cut off after 7 tokens: raise --max-tokens"
    assert server.requests[-1]["max_tokens"] == 7


def test_a_letter_before_the_cut_is_a_letter(server, exhibit, question):
    server.reply("B because the wind", finish="length")
    answer = OpenAIReader(server.url).answer(exhibit, question)
    assert answer.letter == "B" and not answer.note


def test_two_letters_are_no_answer(server, exhibit, question):
    server.reply("A or B")
    answer = OpenAIReader(server.url).answer(exhibit, question)
    assert (answer.parsed, answer.choice, answer.raw) == (False, None, "A or B")


def test_an_empty_reply_is_no_answer(server, exhibit, question):
    server.reply(None)
    assert not OpenAIReader(server.url).answer(exhibit, question).parsed


def test_without_options_the_words_are_the_answer(server, exhibit):
    server.reply("He leaves at [0:00:07.000].\x1b[2J")
    answer = OpenAIReader(server.url).answer(exhibit, fs.Question("When does he leave?"))
    assert answer.parsed and answer.choice is None and answer.text == "He leaves at [0:00:07.000].[2J"
    assert "its time in square brackets" in server.texts()[-1]
    assert server.requests[-1]["max_tokens"] == 512


def test_neither_key_nor_picture_nor_reply_is_logged(server, exhibit, question, monkeypatch, caplog):
    monkeypatch.setenv("FRAMESIFT_API_KEY", "very-secret")
    server.key = "very-secret"
    server.words = "Surely B"
    with caplog.at_level(logging.DEBUG):
        OpenAIReader(server.url).answer(exhibit, question)
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert "very-secret" not in logged and "base64" not in logged and "Surely" not in logged


def test_replies_are_logged_when_asked(server, exhibit, question, caplog):
    server.words = "Surely B"
    with caplog.at_level(logging.INFO):
        OpenAIReader(server.url, log_replies=True).answer(exhibit, question)
    assert "Surely B" in caplog.text


def test_many_questions_are_asked_at_once_within_the_bound_and_come_back_in_order(server, exhibit, question):
    server.hold = threading.Barrier(3)
    pairs = ((exhibit, fs.Question(f"Number {k}?", ["x", "y"])) for k in range(6))
    answers = list(ask_many(pairs, reader=server.url, concurrency=3))
    assert [answer.letter for answer in answers] == ["B"] * 6
    assert server.most_at_once == 3


def test_one_failure_of_many_is_kept_when_asked(server, exhibit, question):
    server.refuse(400, "odd")
    answers = list(ask_many([(exhibit, question)] * 2, reader=server.url, concurrency=1, on_error="keep"))
    assert [answer.parsed for answer in answers] == [False, True]
    assert "answered 400: odd" in answers[0].note


def test_one_failure_of_many_stops_by_default(server, exhibit, question):
    server.refuse(400, "odd")
    with pytest.raises(ReaderError, match="odd"):
        list(ask_many([(exhibit, question)] * 2, reader=server.url, concurrency=1))


@pytest.mark.parametrize("address", ["http://localhost:8000", "http:///v1", "https://"])
def test_an_address_without_host_or_path_is_refused(address):
    with pytest.raises(InputError, match="expected an address like http://host:8000/v1"):
        OpenAIReader(address)


def test_a_password_in_the_address_is_not_shown():
    assert "hush" not in repr(OpenAIReader("http://me:hush@localhost:8000/v1#any"))


@pytest.mark.parametrize("options", [{"quality": 0}, {"quality": 100}, {"longest_side": 1}])
def test_picture_options_are_checked(options):
    with pytest.raises(OptionError, match="expected"):
        OpenAIReader("http://localhost:8000/v1", **options)


def test_without_the_package_the_command_is_named(exhibit, question, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"pip install 'framesift\[openai\]'"):
        OpenAIReader("http://localhost:8000/v1#any").answer(exhibit, question)
