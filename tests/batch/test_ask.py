"""Many questions on many videos: result rows, resumable after any interruption."""

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


def test_select_equals_single_selections_and_a_second_run_skips_all(questions, encoder, tmp_path):
    flags = {"results": tmp_path / "r", "encoder": encoder, "store": tmp_path / "s", "budget": 4, "workers": 2}
    run = fs.corpus.select(questions, **flags)
    assert (run.done, run.skipped, run.failed) == (6, 0, 0)
    rows = read_results(tmp_path / "r").rows
    index = fs.index(tmp_path / "v1.mp4", encoder, store=tmp_path / "s")
    one = fs.select(index, fs.Question("Which colour 0?", ("red", "blue")), budget=4)
    assert next(row for row in rows if row.item_id == "1-0").times_s == tuple(one.times_s)
    assert all(row.reader == "" and row.truth == 1 and len(row.frame_numbers) == 4 for row in rows)
    again = fs.corpus.select(questions, **flags)
    assert (again.done, again.skipped) == (0, 6)
    more = fs.corpus.select(questions, **flags, method="uniform")
    assert (more.done, more.skipped) == (6, 0)


def test_rows_have_the_warnings_about_the_named_subtitles(encoder, tmp_path):
    make_video(tmp_path / "v.mp4")
    (tmp_path / "named.srt").write_bytes("1\n00:00:01,000 --> 00:00:02,000\nčerný žlutý\n".encode("cp1250"))
    row = {"video": "v.mp4", "subtitles": "named.srt", "question": "Which colour?"}
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    flags = {"results": tmp_path / "r", "encoder": encoder, "store": tmp_path / "s", "budget": 2, "engine": "inline"}
    run = fs.corpus.select(tmp_path / "q.jsonl", **flags)
    (written,) = read_results(tmp_path / "r").rows
    assert run.warnings == {str(tmp_path / "v.mp4"): written.warnings}
    assert "named.srt is not UTF-8" in written.warnings[0]


def test_ask_writes_every_answer_and_a_bad_video_fails_only_its_own_questions(questions, encoder, tmp_path):
    make_video(tmp_path / "crash.mp4", COLOURS["crash"])
    with questions.open("a") as file:
        file.write(
            json.dumps({"id": "bad", "video": "crash.mp4", "question": "What?", "options": ["red", "blue"]}) + "\n"
        )
        file.write(
            json.dumps({"id": "gone", "video": "gone.mp4", "question": "What?", "options": ["red", "blue"]}) + "\n"
        )
    flags = {"results": tmp_path / "r", "encoder": encoder, "store": tmp_path / "s", "budget": 4, "workers": 1}
    run = fs.corpus.ask(questions, reader="similarity", concurrency=2, limits=Limits(tries=2), **flags)
    assert (run.done, run.failed) == (6, 2)
    rows = {row.item_id: row for row in read_results(tmp_path / "r").rows}
    assert "SIGSEGV" in rows["bad"].error and "gone.mp4" in rows["gone"].error
    assert all(rows[f"{k}-{n}"].parsed for k in range(3) for n in range(2))
    again = fs.corpus.ask(questions, reader="similarity", concurrency=2, limits=Limits(tries=1), **flags)
    assert (again.done, again.skipped, again.failed) == (0, 6, 2)


def test_select_and_ask_commands(questions, encoder, tmp_path, capsys):
    flags = [
        "--questions",
        questions,
        "--results",
        tmp_path / "r",
        "--encoder",
        encoder,
        "--store",
        tmp_path / "s",
    ]
    assert main(["corpus", "select", *map(str, flags), "--budget", "3", "--set", "max_share=0.5"]) == 0
    assert "6 questions: 6 done, 0 done before, 0 failed" in capsys.readouterr().out
    assert main(["corpus", "ask", *map(str, flags), "--reader", "similarity", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[0]["event"] == "begin" and events[-1] == {**events[-1], "event": "end", "done": 6, "failed": 0}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "Who?"}, "has no video"),
        (
            {"question": "Who?", "video": "a.mp4", "options": ["x", "y"], "answer": "Z"},
            "'Z' is none of the options",
        ),
    ],
)
def test_unusable_question_is_an_input_error(tmp_path, encoder, row, message):
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    with pytest.raises(InputError, match=message):
        fs.corpus.select(tmp_path / "q.jsonl", results=tmp_path / "r", encoder=encoder)


def test_unreachable_reader_ends_the_run_with_one_sentence(questions, encoder, tmp_path):
    rows = [json.loads(line) for line in questions.read_text().splitlines()]
    more = [row | {"id": f"{row['id']}-{k}"} for row in rows for k in range(3)]
    questions.write_text("".join(json.dumps(row) + "\n" for row in more))
    flags = {"encoder": encoder, "store": tmp_path / "s", "budget": 2, "workers": 1, "concurrency": 8}
    with pytest.raises(ReaderError, match="10 questions in a row got no answer"):
        fs.corpus.ask(
            questions,
            results=tmp_path / "r",
            reader="http://127.0.0.1:9/v1#qwen",
            reader_options={"retries": 0},
            **flags,
        )
    assert all(row.error for row in read_results(tmp_path / "r").rows)


def test_question_is_asked_about_its_own_window(encoder, tmp_path):
    make_video(tmp_path / "v.mp4")
    row = {"video": "v.mp4", "question": "Which colour?"}
    rows = [row, row | {"until": 4}, row | {"from_s": "0:05"}]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    flags = {"results": tmp_path / "r", "encoder": encoder, "store": tmp_path / "s", "budget": 2, "engine": "inline"}
    fs.corpus.select(tmp_path / "q.jsonl", **flags)
    written = {row.window: row.times_s for row in read_results(tmp_path / "r").rows}
    assert len(written) == 3
    assert max(written[fs.Window(0.0, 4.0)]) <= 4 and min(written[fs.Window(5.0)]) >= 5


def test_failed_questions_are_printed_with_their_video_and_the_reason(encoder, tmp_path, capsys):
    make_video(tmp_path / "v.mp4")
    rows = [{"id": f"q{k}", "video": f"gone{k}.mp4", "question": "What?"} for k in range(12)]
    rows.append({"id": "good", "video": "v.mp4", "question": "What?"})
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = [
        "--questions",
        tmp_path / "q.jsonl",
        "--results",
        tmp_path / "r",
        "--store",
        tmp_path / "s",
        "--workers",
        "1",
    ]
    assert main(["corpus", "select", *map(str, flags), "--encoder", encoder, "--budget", "2"]) == 1
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert "13 questions: 1 done, 0 done before, 12 failed" in out and len(lines) == 11
    assert lines[0].startswith(f"framesift: question q0 of {tmp_path / 'gone0.mp4'}: ") and "does not exist" in lines[0]
    assert lines[-1] == "framesift: 2 more questions failed, see the results"
