"""The commands people came for: select and compare, as a user types them."""

import csv
import json
import os
import re
import shutil

import pytest

import framesift as fs
from framesift._utils.output_folder import LIST
from framesift.cli import main
from framesift.errors import OutputError
from framesift.rendering import export
from framesift.rendering.exhibit import Exhibit
from helpers.clips import make_clip
from helpers.read_only import make_read_only


@pytest.fixture
def select(clip):
    return lambda *rest: main(["select", str(clip), "--budget", "4", *rest])


@pytest.fixture
def select_json(select, capsys):
    def go(*rest):
        assert select(*rest, "--json") == 0
        return json.loads(capsys.readouterr().out)

    return go


@pytest.fixture
def compare(clip):
    return lambda *rest: main(["compare", str(clip), "-q", "Cold?", "--budget", "4", *rest])


def test_select_prints_a_table_and_writes_an_exhibit(select, place, capsys):
    assert (
        select("-q", "Is the coffee cold?", "-o", "yes", "-o", "no", "--method", "gcr", "--set", "visual_demand=0") == 0
    )
    out, err = capsys.readouterr()
    assert "A. yes" in out and "4 frames of " in out and "The coffee is cold" in out
    assert "2 from" in err and "clip.srt" in err
    folder = place / "clip-evidence"
    assert f"Report: {folder / 'report.html'}" in out
    assert {path.name for path in folder.iterdir()} == {LIST, "frames", "report.html", "selection.json", "sheet.jpg"}


def test_terminal_is_not_steered_by_subtitles(select, capsys):
    assert select("-q", "Hello?", "--no-exhibit", "--budget", "12") == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_file_name_that_is_not_utf8_is_accepted(clip, place, more, capsys):
    video = shutil.copy(clip, place / os.fsdecode(b"caf\xe9.mp4"))
    assert main(["select", str(video), "-q", "Is the coffee cold?", "--budget", "4", *more]) == 0
    assert main(["index", str(place), "--json"]) == 0
    assert "caf\ufffd.mp4" in capsys.readouterr().out


def test_second_run_replaces_the_report_of_the_first_and_nothing_else(select, place, capsys):
    (place / "q.txt").write_text("Who?\n")
    for question in ("Cold?", "Warm?"):
        assert select("-q", question) == 0
        assert select("--questions", "q.txt") == 0
        (place / "clip-evidence" / "note.txt").write_text("dear")
    assert "report.html (the next run replaces it; keep it with --out DIR)\n" in capsys.readouterr().out
    assert {path.name for path in place.iterdir()} == {"clip-evidence", "clip-exhibits", "q.txt"}
    report = json.loads((place / "clip-evidence" / "selection.json").read_text())
    assert report["basis"]["question"]["text"] == "Warm?"
    assert (place / "clip-evidence" / "note.txt").read_text() == "dear"


def test_folder_of_the_user_with_the_default_name_stays(select, place, capsys):
    (place / "clip-evidence").mkdir()
    (place / "clip-evidence" / "letter.txt").write_text("dear")
    assert select("-q", "Cold?") == 2
    assert "contains other things than an exhibit and is not replaced" in capsys.readouterr().err
    assert [path.name for path in (place / "clip-evidence").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("command", ["select", "compare", "ask --reader similarity"])
def test_folder_that_cannot_be_written_is_an_error_before_the_work(clip, place, monkeypatch, capsys, command):
    name, *flags = command.split()
    make_read_only(monkeypatch, place)
    monkeypatch.setattr("framesift.pipeline.video.open", None)
    assert main([name, str(clip), "-q", "Cold?", *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "can't be written (Read-only file system); choose another directory" in line


@pytest.mark.parametrize("command", ["select", "compare", "ask --reader similarity"])
def test_result_is_printed_also_where_it_cannot_be_saved(clip, place, monkeypatch, capsys, command):
    def fail(*_, **__):
        raise OutputError("the disk is full")

    monkeypatch.setattr(Exhibit, "save", fail)
    monkeypatch.setattr(export, "save", fail)
    name, *flags = command.split()
    words = [name, str(clip), "-q", "Cold? A) yes B) no", "--budget", "4", *flags]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert "Question: Cold?" in out and ("Answer:" in out) == (name == "ask") and "Report:" not in out
    assert err.endswith("framesift: the disk is full\n")
    assert main([*words, "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert "saved" not in result and len(result["selections" if name == "compare" else "slots"]) == 4
    assert ("answer" in result) == (name == "ask") and list(place.iterdir()) == []


def test_json_is_a_selection_with_its_folder(select, place, capsys):
    assert select("-q", "Cold?", "--json", "--out", "x") == 0
    text = capsys.readouterr().out
    assert len(fs.Selection.from_json(text)) == 4
    assert json.loads(text)["report"] == str(place / "x" / "report.html")


@pytest.mark.parametrize("words", [["--set", "overlay=none"], ["--subtitles", "none", "--set", "speech=none"]])
def test_overlay_none_and_no_subtitles_leave_frames_bare(select_json, words):
    assert {slot["text"] for slot in select_json("-q", "Cold?", "--no-exhibit", *words)["slots"]} == {""}


def test_clips_are_written_beside_the_frames(select, place, capsys):
    assert select("-q", "Cold?", "--out", "x", "--clips", "exact", "--json") == 0
    assert list((place / "x" / "clips").glob("0001_*.mp4"))


def test_many_questions_make_an_exhibit_each_and_one_list(select, place):
    with (place / "q.csv").open("w") as file:
        csv.writer(file).writerows([["id", "question", "A", "B"], ["7", "Cold?", "yes", "no"], ["8", "Who?", "", ""]])
    assert select("--questions", "q.csv", "--out", "all", "--format", "frame_idx", "--format", "jsonl") == 0
    assert {path.name for path in (place / "all").iterdir()} == {
        LIST,
        "001-7",
        "002-8",
        "exhibits.json",
        "frame_idx.json",
    }
    rows = json.loads((place / "all" / "frame_idx.json").read_text())
    assert [row["id"] for row in rows] == ["7", "8"] and all(len(row["frame_idx"]) == 4 for row in rows)
    assert (place / "all" / "002-8" / "frames.jsonl").exists()


def test_compare_writes_one_report_and_a_line_per_method(compare, place, capsys):
    methods = ["gcr", "uniform", "topk"]
    assert compare("--methods", ",".join(methods), "--set", "uniform.convention=ends", "--out", "both") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [words[0] for words in lines if words and words[0] in methods] == methods
    chosen = json.loads((place / "both" / "selection-uniform.json").read_text())
    assert chosen["trace"]["options"] == {"convention": "ends"}
    assert (place / "both" / "report.html").exists()


def test_window_leaves_out_frames_and_text_outside_it(select_json, place):
    record = select_json("-q", "Is the coffee cold?", "--from", "0:05", "--to", "10", "--budget", "30")
    times = [slot["time_s"] for slot in record["slots"]]
    assert times and times[0] >= 5 and times[-1] <= 10 and len(record["basis"]["times_s"]) > len(times)
    assert record["basis"]["window"] == {"from_s": 5.0, "to_s": 10.0}
    assert {slot["text"] for slot in record["slots"]} <= {"", "The coffee is cold"}
    report = (place / "clip-evidence" / "report.html").read_text()
    assert "only 0:00:05 to 0:00:10 was considered" in report
    assert re.search(r'"window": ?\[5.0, ?10.0\]', report)


def test_each_question_of_a_file_has_its_window(select_json, place):
    rows = [{"question": "Cold?", "until": "0:04"}, {"question": "Cold?"}, {"question": "Cold?", "from_s": 9}]
    (place / "q.json").write_text(json.dumps(rows))
    records = select_json("--questions", "q.json", "--no-exhibit", "--to", "6")
    windows = [record["basis"]["window"] for record in records]
    assert windows == [{"from_s": 0, "to_s": 4}, {"from_s": 0, "to_s": 6}, {"from_s": 9, "to_s": 12}]


def test_budget_in_tokens_is_chosen_and_stated_and_preferred_frames_are_smaller_and_more(place, capsys):
    make_clip(place / "wide.mp4", seconds=2, size=(320, 180))
    words = ["select", "wide.mp4", "-q", "x", "--no-exhibit", "--json", "--max-tokens-in", "500"]
    for prefer, stated in (("pixels", "5 frames of 320 × 180: "), ("frames", "8 frames of 224 × 126: ")):
        assert main([*words, "--reader", "local:qwen2.5-vl-7b", "--prefer", prefer]) == 0
        out, err = capsys.readouterr()
        assert stated in err and json.loads(out)["budget"] == int(stated[0])
