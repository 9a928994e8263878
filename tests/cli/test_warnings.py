"""Warnings about a video: printed and written by every command each time the video is used, once per run."""

import json

import pyarrow.parquet as parquet
import pytest

import framesift as fs
from framesift.cli import main
from helpers.clips import make_clip

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
def store(place, monkeypatch, folder):
    monkeypatch.setenv("FRAMESIFT_STORE", str(folder / "store"))


@pytest.fixture(scope="module")
def video(folder):
    return str(folder / "cut.mkv")


@pytest.fixture(scope="module")
def whole(folder):
    return str(folder / "whole.mkv")


@pytest.fixture(scope="module")
def warning(folder, video):
    """What is wrong with the cut video."""
    (text,) = fs.index(video, store=folder / "store").warnings
    return text


@pytest.fixture
def run(capsys):
    def go(*command):
        assert main([str(part) for part in command]) == 0
        return capsys.readouterr()

    return go


@pytest.fixture
def run_json(run):
    return lambda *command: json.loads(run(*command, "--json").out)


def test_index_warns_when_it_builds_and_when_it_reuses_the_index(run, run_json, video, warning, own_store):
    for _ in range(2):
        assert run("index", video).err.count(f"warning: {warning}\n") == 1
    assert run_json("index", video)[0]["warnings"] == [warning]


def test_index_of_several_videos_names_the_one_that_is_warned_about(run, video, whole, warning):
    assert f"warning: {video}: {warning}\n" in run("index", video, whole).err


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("events", []),
        ("select", [*QUESTION, "--no-exhibit"]),
        ("ask", [*QUESTION, "-o", "red", "-o", "blue", "--reader", "similarity", "--no-exhibit"]),
    ],
)
def test_command_prints_the_warning_once_and_has_it_in_its_json(run, run_json, video, warning, command, more):
    assert run(command, video, *more).err.count(f"warning: {warning}\n") == 1
    assert run_json(command, video, *more)["warnings"] == [warning]


def test_select_writes_the_warning_into_every_file(run, video, warning, place):
    assert warning not in run("select", video, *QUESTION, "--out", "x", "--format", "frame_idx").out
    assert json.loads((place / "x" / "selection.json").read_text())["warnings"] == [warning]
    assert json.loads((place / "x" / "frame_idx.json").read_text())[0]["warnings"] == [warning]
    report = (place / "x" / "report.html").read_text()
    assert "Warning about this video" in report.partition('class="summary"')[0]


def test_compare_warns_once_for_all_methods(run, run_json, video, warning, place):
    command = ["compare", video, *QUESTION, "--methods", "uniform,topk"]
    assert run(*command, "--out", "x").err.count(warning) == 1
    assert (place / "x" / "report.html").read_text().count(f'<li dir="auto">{warning}</li>') == 1
    record = run_json(*command)
    assert record["warnings"] == record["selections"]["topk"]["warnings"] == [warning]


def test_library_lists_warnings(run, run_json, video, warning):
    assert run("library").err.count(f"warning: {video}: {warning}\n") == 1
    rows = [row for row in run_json("library")["indexes"] if row["video"] == video and row["kind"] == "index"]
    assert rows[0]["warnings"] == [warning]


def test_text_of_another_video_is_a_warning_of_select(run_json, whole, place):
    (place / "late.srt").write_text(OTHER_TEXT)
    selection = run_json("select", whole, *QUESTION, "--subtitles", "late.srt", "--no-exhibit")
    assert NOT_ITS_TEXT in selection["warnings"][0]


def test_whole_video_has_no_warnings_and_notes_are_not_warnings(run, run_json, whole):
    command = ["select", whole, *QUESTION, "--no-exhibit"]
    printed = run(*command).err
    assert "warning:" not in printed and "note: there is no subtitle file beside the video" in printed
    assert run_json(*command)["warnings"] == []


def test_corpus_index_warns_again_about_a_finished_video_and_in_the_manifest(run, video, whole, warning, place):
    command = ["corpus", "index", video, whole, "--workers", "1", "--manifest", "m.parquet"]
    for _ in range(2):
        assert run(*command).err.count(f"warning: {video}: {warning}\n") == 1
    events = [json.loads(line) for line in run(*command, "--json").out.splitlines()]
    assert events[-1]["warnings"] == {video: [warning]}
    assert parquet.read_table(place / "m.parquet")["warnings"].to_pylist() == [[warning], []]


def test_corpus_select_warns_again_when_all_rows_are_done(run, video, whole, warning, place):
    rows = [{"id": str(k), "video": name, "question": "Which?"} for k, name in enumerate([video, video, whole])]
    (place / "q.json").write_text(json.dumps(rows))
    command = ["corpus", "select", "--questions", "q.json", "--results", "r", "--budget", "3", "--workers", "1"]
    for _ in range(2):
        assert run(*command).err.count(f"warning: {video}: {warning}\n") == 1
    events = [json.loads(line) for line in run(*command, "--json").out.splitlines()]
    assert events[-1]["warnings"] == {video: [warning]} and events[-1]["skipped"] == 3


def test_corpus_search_warns_about_the_videos_it_found(run, run_json, video, warning, place):
    command = ["corpus", "search", "a colour", "--limit", "50", "--window", "0"]
    assert run(*command, "--report", "hits.html").err.count(f"warning: {video}: {warning}\n") == 1
    assert (place / "hits.html").read_text().count(f': <span dir="auto">{warning}</span>') == 1
    assert {hit["video"]: hit["warnings"] for hit in run_json(*command)["hits"]}[video] == [warning]


def test_bench_counts_the_videos_with_warnings(run, video, whole, warning, place):
    row = {"question": "Which colour?", "options": ["red", "blue"], "answer": "A"}
    (place / "own.json").write_text(json.dumps([row | {"id": name, "video": name} for name in (video, whole)]))
    command = ["bench", "own.json", "--methods", "uniform", "--budgets", "3", "--readers", "similarity"]
    printed = run(*command, "--out", "r")
    assert "1 of 2 videos have warnings" in printed.err and printed.err.count(warning) == 1
    assert "warnings: on 1 of 2 videos (" in printed.out
    tally = json.loads(run(*command, "--out", "r", "--json").out)["runs"][0]
    assert tally["videos"] == 2 and list(tally["warnings"].values()) == [[warning]]
