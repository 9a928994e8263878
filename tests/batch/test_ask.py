"""Many questions on many videos: result rows, resumable after any interruption."""

import json
from socket import socket

import pytest

import framesift as fs
from framesift.batch.results import read_results
from framesift.cli import main
from framesift.corpus import Limits
from framesift.errors import InputError, ReaderError
from helpers.batch_videos import COLOURS, make_video, write_questions


@pytest.fixture
def settings(encoder, tmp_path):
    """Of a run in this process."""
    shared = {"encoder": encoder, "store": tmp_path / "s", "engine": "inline"}
    return shared | {"results": tmp_path / "r", "budget": 2}


def test_select_equals_single_selections_and_a_second_run_skips_all(settings, encoder, tmp_path):
    for k in range(2):
        make_video(tmp_path / f"v{k}.mp4", seed=k)
    rows = [{"id": f"{k}-{n}", "video": f"v{k}.mp4"} for k in range(2) for n in range(2)]
    questions = write_questions(tmp_path / "q.jsonl", *rows)
    flags = settings | {"budget": 4, "engine": "local", "workers": 2}
    run = fs.corpus.select(questions, **flags)
    assert (run.done, run.skipped, run.failed) == (4, 0, 0)
    rows = read_results(tmp_path / "r").rows
    index = fs.index(tmp_path / "v1.mp4", encoder, store=tmp_path / "s")
    one = fs.select(index, fs.Question("Which colour?", ("red", "blue")), budget=4)
    assert next(row for row in rows if row.item_id == "1-0").times_s == tuple(one.times_s)
    assert all(row.reader == "" and row.truth == 1 and len(row.frame_numbers) == 4 for row in rows)
    again = fs.corpus.select(questions, **flags)
    assert (again.done, again.skipped) == (0, 4)
    more = fs.corpus.select(questions, **settings, method="uniform")
    assert (more.done, more.skipped) == (4, 0)


def test_rows_have_the_warnings_about_the_named_subtitles(settings, tmp_path):
    make_video(tmp_path / "v.mp4")
    (tmp_path / "named.srt").write_bytes("1\n00:00:01,000 --> 00:00:02,000\nčerný žlutý\n".encode("cp1250"))
    file = write_questions(tmp_path / "q.jsonl", {"video": "v.mp4", "subtitles": "named.srt"})
    run = fs.corpus.select(file, **settings)
    (written,) = read_results(tmp_path / "r").rows
    assert run.warnings == {str(tmp_path / "v.mp4"): written.warnings}
    assert "named.srt is not UTF-8" in written.warnings[0]


def test_ask_writes_every_answer_and_a_bad_video_fails_only_its_own_questions(settings, tmp_path):
    make_video(tmp_path / "crash.mp4", COLOURS["crash"])
    make_video(tmp_path / "good.mp4")
    rows = [{"id": name, "video": f"{name}.mp4"} for name in ("crash", "gone", "good")]
    file = write_questions(tmp_path / "q.jsonl", *rows)
    asked = {"reader": "similarity", "concurrency": 2, "limits": Limits(tries=1)}
    run = fs.corpus.ask(file, **settings | {"engine": "local"}, workers=1, **asked)
    assert (run.done, run.failed) == (1, 2)
    rows = {row.item_id: row for row in read_results(tmp_path / "r").rows}
    assert "SIGSEGV" in rows["crash"].error and "gone.mp4" in rows["gone"].error
    assert rows["good"].parsed
    (tmp_path / "crash.mp4").unlink()
    again = fs.corpus.ask(file, **settings, **asked)
    assert (again.done, again.skipped, again.failed) == (0, 1, 2)


@pytest.mark.parametrize(
    ("row", "message"),
    [({}, "has no video"), ({"video": "a.mp4", "answer": "Z"}, "'Z' is none of the options")],
)
def test_unusable_question_is_an_input_error(settings, tmp_path, row, message):
    with pytest.raises(InputError, match=message):
        fs.corpus.select(write_questions(tmp_path / "q.jsonl", row), **settings)


def test_unreachable_reader_ends_the_run_with_one_sentence(settings, tmp_path):
    make_video(tmp_path / "v.mp4")
    file = write_questions(tmp_path / "q.jsonl", *({"id": k, "video": "v.mp4"} for k in range(12)))
    with socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        reader = {"reader": f"http://127.0.0.1:{unused.getsockname()[1]}/v1#qwen", "reader_options": {"retries": 0}}
        with pytest.raises(ReaderError, match="10 questions in a row got no answer"):
            fs.corpus.ask(file, **reader, **settings, concurrency=8)
    assert all(row.error for row in read_results(tmp_path / "r").rows)


def test_question_is_asked_about_its_own_window(settings, tmp_path):
    make_video(tmp_path / "v.mp4")
    row = {"video": "v.mp4"}
    file = write_questions(tmp_path / "q.jsonl", row, row | {"until": 4}, row | {"from_s": "0:05"})
    fs.corpus.select(file, **settings)
    written = {row.window: row.times_s for row in read_results(tmp_path / "r").rows}
    assert len(written) == 3
    assert max(written[fs.Window(0.0, 4.0)]) <= 4 and min(written[fs.Window(5.0)]) >= 5


def test_commands_print_counts_and_the_failed_questions_with_their_video_and_the_reason(encoder, tmp_path, capsys):
    make_video(tmp_path / "v.mp4")
    rows = [{"id": f"q{k}", "video": f"gone{k}.mp4"} for k in range(12)]
    file = write_questions(tmp_path / "q.jsonl", *rows, {"id": "good", "video": "v.mp4"})
    words = ["--questions", file, "--results", tmp_path / "r", "--set", f"store={tmp_path / 's'}", "--encoder", encoder]
    words = [*map(str, words), "--budget", "2", "--workers", "1"]
    assert main(["corpus", "select", *words]) == 1
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert "13 questions: 1 done, 0 done before, 12 failed" in out and len(lines) == 11
    assert lines[0].startswith(f"framesift: question q0 of {tmp_path / 'gone0.mp4'}: ") and "does not exist" in lines[0]
    assert lines[-1] == "framesift: 2 more questions failed, see the results"
    assert main(["corpus", "ask", *words, "--reader", "similarity", "--json"]) == 1
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[0]["event"] == "begin" and events[-1] == {**events[-1], "event": "end", "done": 1, "failed": 12}
