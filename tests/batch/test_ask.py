"""Many questions on many videos: the benchmarks' result files, gone on with after any stop."""

import json

import pytest

import framesift as fs
from framesift.batch.results import read_results
from framesift.cli import main
from framesift.corpus import Limits
from framesift.errors import InputError, ReaderError
from helpers.batch_videos import COLOURS, make_video


@pytest.fixture
def questions(tmp_path):
    rows = []
    for k in range(3):
        make_video(tmp_path / f"v{k}.mp4", seed=k)
        rows += [
            {
                "id": f"{k}-{n}",
                "video": f"v{k}.mp4",
                "question": f"Which colour {n}?",
                "options": ["red", "blue"],
                "answer": "B",
            }
            for n in range(2)
        ]
    (tmp_path / "v0.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nred\n")
    file = tmp_path / "q.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_select_gives_what_select_gives_and_the_second_run_has_nothing_to_do(questions, known, tmp_path):
    said = {"results": tmp_path / "r", "encoder": known, "store": tmp_path / "s", "budget": 4, "workers": 2}
    made = fs.corpus.select(questions, **said)
    assert (made.done, made.skipped, made.failed) == (6, 0, 0)
    rows = read_results(tmp_path / "r").rows
    index = fs.index(tmp_path / "v1.mp4", known, store=tmp_path / "s")
    one = fs.select(index, fs.Question("Which colour 0?", ("red", "blue")), budget=4)
    assert next(row for row in rows if row.item_id == "1-0").times_s == tuple(one.times_s)
    assert all(row.reader == "" and row.truth == 1 and len(row.frame_numbers) == 4 for row in rows)
    again = fs.corpus.select(questions, **said)
    assert (again.done, again.skipped) == (0, 6)
    more = fs.corpus.select(questions, **said, method="uniform")
    assert (more.done, more.skipped) == (6, 0)


def test_ask_keeps_every_answer_and_a_broken_video_costs_its_own_questions(questions, known, tmp_path):
    make_video(tmp_path / "crash.mp4", COLOURS["crash"])
    with questions.open("a") as file:
        file.write(
            json.dumps({"id": "bad", "video": "crash.mp4", "question": "What?", "options": ["red", "blue"]}) + "\n"
        )
        file.write(
            json.dumps({"id": "gone", "video": "gone.mp4", "question": "What?", "options": ["red", "blue"]}) + "\n"
        )
    said = {"results": tmp_path / "r", "encoder": known, "store": tmp_path / "s", "budget": 4, "workers": 1}
    made = fs.corpus.ask(questions, reader="similarity", concurrency=2, limits=Limits(tries=2), **said)
    assert (made.done, made.failed) == (6, 2)
    rows = {row.item_id: row for row in read_results(tmp_path / "r").rows}
    assert "SIGSEGV" in rows["bad"].error and "gone.mp4" in rows["gone"].error
    assert all(rows[f"{k}-{n}"].parsed for k in range(3) for n in range(2))
    again = fs.corpus.ask(questions, reader="similarity", concurrency=2, limits=Limits(tries=1), **said)
    assert (again.done, again.skipped, again.failed) == (0, 6, 2)


def test_the_commands(questions, known, tmp_path, capsys):
    said = ["--questions", questions, "--results", tmp_path / "r", "--encoder", known, "--store", tmp_path / "s"]
    assert main(["corpus", "select", *map(str, said), "--budget", "3", "--set", "alpha_ground=0.5"]) == 0
    assert "6 questions: 6 done, 0 done before, 0 failed" in capsys.readouterr().out
    assert main(["corpus", "ask", *map(str, said), "--reader", "similarity", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[0]["event"] == "begin" and events[-1] == {**events[-1], "event": "end", "done": 6, "failed": 0}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"question": "Who?"}, "has no video"),
        (
            {"question": "Who?", "video": "a.mp4", "options": ["x", "y"], "answer": "Z"},
            "'Z' is none of the options",
        ),
    ],
)
def test_a_question_that_cant_be_put_is_a_sentence(tmp_path, known, row, told):
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    with pytest.raises(InputError, match=told):
        fs.corpus.select(tmp_path / "q.jsonl", results=tmp_path / "r", encoder=known)


def test_unreachable_reader_ends_the_run_with_one_sentence(questions, known, tmp_path):
    pytest.importorskip("openai")
    rows = [json.loads(line) for line in questions.read_text().splitlines()]
    more = [row | {"id": f"{row['id']}-{k}"} for row in rows for k in range(3)]
    questions.write_text("".join(json.dumps(row) + "\n" for row in more))
    arguments = {"encoder": known, "store": tmp_path / "s", "budget": 2, "workers": 1, "concurrency": 8}
    with pytest.raises(ReaderError, match="10 questions in a row got no answer"):
        fs.corpus.ask(
            questions,
            results=tmp_path / "r",
            reader="http://127.0.0.1:9/v1#qwen",
            reader_options={"retries": 0},
            **arguments,
        )
    assert all(row.error for row in read_results(tmp_path / "r").rows)
