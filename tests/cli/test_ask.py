"""`framesift ask` as a new user types it, with a real server on this machine and without any."""

import json
import socket

import pytest

from framesift.cli import main
from framesift.cli.ask import print_stream
from framesift.types import Answer

CHOICE = ("-q", "Cold?", "-o", "yes", "-o", "no")


@pytest.fixture
def nowhere():
    """An address at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.fixture
def ask(clip, server):
    return lambda *rest, reader=server.url: main(
        ["ask", str(clip), "--reader", reader, "--budget", "4", "--out", "x", *rest]
    )


def test_answer_is_printed_and_lies_beside_the_report(ask, server, place, capsys):
    assert ask(*CHOICE) == 0
    assert "Answer: B. no" in capsys.readouterr().out
    assert len(server.pictures()) == 4
    answer = json.loads((place / "x" / "answer.json").read_text())
    assert (answer["letter"], answer["choice"], answer["text"]) == ("B", 1, "no")
    assert (place / "x" / "report.html").exists()


def test_open_question_is_streamed_saved_and_cited_by_links(ask, server, place, capsys):
    server.words = "\nIt is cold, as frame 2 shows."
    assert ask("-q", "Is it cold?") == 0
    assert server.requests[-1]["stream"] is True
    out = capsys.readouterr().out
    assert "Answer: It is cold, as frame 2 shows.\n" in out
    assert f"{(place / 'x' / 'report.html').as_uri()}#frame-2" in out
    assert json.loads((place / "x" / "answer.json").read_text())["text"] == server.words.strip()


def test_quick_answer_says_that_only_key_frames_were_considered(ask, own_store, place, capsys):
    assert ask(*CHOICE, "--quick") == 0
    warned = json.loads((place / "x" / "selection.json").read_text())["warnings"]
    assert "key frames are considered (quick)" in " ".join(warned)
    assert "key frames are considered" in capsys.readouterr().err
    assert ask(*CHOICE, "--json", "--force") == 0  # which completes the index
    assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_many_questions_get_an_answer_each_and_a_failure_does_not_end_the_run(ask, server, place, capsys):
    (place / "q.txt").write_text("Cold? A) yes B) no\nWarm? A) yes B) no\n")
    server.refuse(400, "this one is odd")
    assert ask("--questions", "q.txt", "--set", "concurrency=1") == 1
    out = capsys.readouterr().out
    assert "this one is odd" in out and "Answer to 'Warm?': B. no" in out
    assert len(list((place / "x").glob("*/answer.json"))) == 2


def test_options_of_the_reader_reach_it(ask, server):
    words = ["longest_side=48", "reader.max_tokens=5", "times=false", "temperature=0.5"]
    words = [word for text in words for word in ("--set", text)]
    assert ask(*CHOICE, *words) == 0
    assert max(server.pictures()[0].size) == 48
    assert server.requests[-1]["max_tokens"] == 5 and server.requests[-1]["temperature"] == 0.5
    assert len(server.texts()) == 1


@pytest.mark.parametrize(
    ("reader", "words", "expected"),
    [
        ("http://127.0.0.1:9", [], "expected an address like http://host:8000/v1"),
        ("similarity", ["--set", "best"], "NAME=VALUE"),
        ("local:qwen2.5-vl-7b", [], "framesift pull"),
    ],
)
def test_unusable_reader_is_one_sentence_before_the_video_is_indexed(
    ask, own_store, place, reader, words, expected, capsys
):
    assert ask(*CHOICE, *words, reader=reader) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("framesift: ") and expected in sentence
    assert not own_store.exists() and not (place / "x").exists()


def test_wrong_key_is_one_sentence_before_the_video_is_indexed(ask, server, own_store, monkeypatch, capsys):
    server.key = "right"
    monkeypatch.setenv("FRAMESIFT_API_KEY", "wrong")
    assert ask(*CHOICE) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "FRAMESIFT_API_KEY" in sentence and not own_store.exists()


@pytest.mark.parametrize("model", ["", "#m"])
def test_server_that_is_not_there_is_one_sentence_before_the_video_is_indexed(ask, nowhere, own_store, model, capsys):
    assert ask(*CHOICE, "--set", "retries=0", reader=nowhere + model) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "can't be reached" in sentence and not own_store.exists()


def test_question_is_checked_before_the_reader(ask, nowhere, capsys):
    assert ask(reader=nowhere) == 2
    assert "there is no question" in capsys.readouterr().err


def test_lost_stream_is_one_sentence_and_leaves_no_answer(ask, server, place, capsys):
    server.words, server.lose_stream = "It is cold.", True
    assert ask("-q", "Is it cold?") == 1
    printed = capsys.readouterr()
    assert printed.out.endswith("It is cold.\n") and "was lost during the reply" in printed.err
    assert not (place / "x" / "answer.json").exists()


def test_answer_that_was_not_streamed_is_printed(capsys):
    print_stream([Answer("At seven.")])
    print_stream([Answer("", parsed=False)])
    assert capsys.readouterr().out == "Answer: At seven.\nAnswer: no answer: the reply is empty\n"


def test_line_is_ended_when_the_stream_is_stopped(capsys):
    def pieces():
        yield "He lea"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        print_stream(pieces())
    assert capsys.readouterr().out == "Answer: He lea\n"
