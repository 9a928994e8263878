"""Warnings about a video: printed and written by every command each time the video is used, once per run."""

import json

import pyarrow.parquet as parquet
import pytest

import framesift as fs
from framesift.cli import main
from helpers.clips import make_clip

QUESTION = ["-q", "Which colour is shown?", "--budget", "3"]
ASK = [*QUESTION, "-o", "red", "-o", "blue", "--reader", "similarity", "--no-exhibit"]


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


def texts_of(value):
    """All texts inside a value."""
    if isinstance(value, dict | list):
        return {text for part in (value.values() if isinstance(value, dict) else value) for text in texts_of(part)}
    return {value} if isinstance(value, str) else set()


def warnings_in(record):
    """The texts of all fields `warnings`."""
    if isinstance(record, dict):
        inner = (warnings_in(part) for name, part in record.items() if name != "warnings")
        return texts_of(record.get("warnings", [])).union(*inner)
    return set().union(*map(warnings_in, record)) if isinstance(record, list) else set()


@pytest.mark.parametrize(
    ("command", "more", "is_named"),
    [
        ("index {video}", [], False),
        ("index {video} {whole}", [], True),
        ("events {video}", [], False),
        ("select {video}", [*QUESTION, "--no-exhibit"], False),
        ("ask {video}", ASK, False),
        ("compare {video} --methods uniform,topk", QUESTION, False),
        ("library", [], True),
        ("corpus search colour --limit 50 --window 0", [], True),
        ("corpus index {video} {whole} --workers 1", [], True),
        ("corpus select --questions q.json --results r --budget 3 --workers 1", [], True),
    ],
)
def test_command_prints_the_warning_once_each_time_and_has_it_in_its_json(
    run, video, whole, warning, place, command, more, is_named
):
    rows = [{"id": str(k), "video": name, "question": "Which?"} for k, name in enumerate([video, video, whole])]
    (place / "q.json").write_text(json.dumps(rows))
    words = [*command.format(video=video, whole=whole).split(), *more]
    line = f"warning: {video}: {warning}\n" if is_named else f"warning: {warning}\n"
    for _ in range(2):
        assert run(*words).err.count(line) == 1
    out = run(*words, "--json").out
    is_stream = words[0] == "corpus" and words[1] != "search"
    assert warnings_in(json.loads(out.splitlines()[-1] if is_stream else out)) == {warning}


def test_whole_video_has_no_warnings_and_notes_are_not_warnings(run, whole):
    command = ["select", whole, *QUESTION, "--no-exhibit"]
    printed = run(*command).err
    assert "warning:" not in printed and "note: there is no subtitle file beside the video" in printed
    assert json.loads(run(*command, "--json").out)["warnings"] == []


def test_reports_and_the_manifest_have_the_warning_once(run, video, whole, warning, place):
    run("compare", video, *QUESTION, "--methods", "uniform,topk", "--out", "x")
    assert (place / "x" / "report.html").read_text().count(f'<li dir="auto">{warning}</li>') == 1
    run("corpus", "search", "a colour", "--limit", "50", "--window", "0", "--report", "hits.html")
    assert (place / "hits.html").read_text().count(f': <span dir="auto">{warning}</span>') == 1
    run("corpus", "index", video, whole, "--workers", "1", "--manifest", "m.parquet")
    assert parquet.read_table(place / "m.parquet")["warnings"].to_pylist() == [[warning], []]


def test_bench_counts_the_videos_with_warnings(run, video, whole, warning, place):
    row = {"question": "Which colour?", "options": ["red", "blue"], "answer": "A"}
    (place / "own.json").write_text(json.dumps([row | {"id": name, "video": name} for name in (video, whole)]))
    command = ["bench", "own.json", "--methods", "uniform", "--budgets", "3", "--readers", "similarity"]
    printed = run(*command, "--out", "r")
    assert "1 of 2 videos have warnings" in printed.err and printed.err.count(warning) == 1
    assert "warnings: on 1 of 2 videos (" in printed.out
    tally = json.loads(run(*command, "--out", "r", "--json").out)["runs"][0]
    assert tally["videos"] == 2 and list(tally["warnings"].values()) == [[warning]]
