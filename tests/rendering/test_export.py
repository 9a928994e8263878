"""Saved exhibits: atomic, never replacing other files, readable by framesift and other tools."""

import json
import zipfile
from dataclasses import replace
from unittest.mock import Mock

import pytest
from PIL import Image

import framesift as fs
from framesift._utils.output_folder import LIST
from framesift.errors import InputError, OptionError
from framesift.rendering import export
from helpers.full_disk import contents
from helpers.showcase import QUESTION, make_selection


@pytest.fixture(scope="module")
def shown(video):
    return fs.exhibit(video, make_selection(video))


@pytest.fixture(scope="module")
def brief(video):
    """An exhibit of two frames."""
    return fs.exhibit(video, make_selection(video, budget=2))


@pytest.fixture(scope="module")
def saved(shown, tmp_path_factory):
    return shown.save(tmp_path_factory.mktemp("out") / "evidence", formats=["openai", "jsonl"])


def test_frames_are_named_by_position_time_and_role_also_in_jsonl(saved, shown):
    names = sorted(path.name for path in (saved / "frames").iterdir())
    slot = shown.selection.slots[0]
    assert names[0] == f"0001_00-00-{slot.time_s:06.3f}_{slot.role}.jpg"
    assert len(names) == 8
    lines = [json.loads(line) for line in (saved / "frames.jsonl").read_text().splitlines()]
    assert [line["file"] for line in lines] == [f"frames/{name}" for name in names]
    with Image.open(saved / "frames" / names[0]) as image, Image.open(saved / "sheet.jpg") as sheet:
        assert image.size == (96, 64) and sheet.width > 400


def test_selection_json_reads_back_as_the_same_selection(saved, shown):
    text = (saved / "selection.json").read_text()
    data = json.loads(text)
    assert data["schema"] == "framesift.selection/1"
    assert data["video"]["name"] == "clip.mp4" and len(data["video"]["fingerprint"]) == 32
    assert data["basis"]["encoder"] == "synthetic"
    assert [slot["frame"] for slot in data["slots"]] == list(shown.numbers)
    assert str(saved.parent) not in text
    again = fs.Selection.from_json(text)
    assert again == shown.selection
    assert again.basis.question == shown.question == QUESTION
    assert again.basis.relevance.tolist() == shown.selection.basis.relevance.tolist()


def test_damaged_frame_and_warnings_are_in_every_file(video, tmp_path):
    selection = make_selection(video)
    index = selection.indices[2]
    basis = replace(selection.basis, damaged=(index,))
    damaged = replace(selection, basis=basis, warnings=("the file is damaged at 0:00:09",))
    folder = fs.exhibit(video, damaged).save(tmp_path / "x", formats=["jsonl", "frame_idx"])
    data = json.loads((folder / "selection.json").read_text())
    assert [slot["index"] for slot in data["slots"] if slot["damaged"]] == [index]
    (row,) = json.loads((folder / "frame_idx.json").read_text())
    assert data["warnings"] == row["warnings"] == ["the file is damaged at 0:00:09"]
    lines = [json.loads(line) for line in (folder / "frames.jsonl").read_text().splitlines()]
    assert [line["damaged"] for line in lines] == [slot["damaged"] for slot in data["slots"]]
    report = (folder / "report.html").read_text()
    assert report.count('<span class="damaged">damaged</span>') == 1 and "the file is damaged at 0:00:09" in report


@pytest.mark.parametrize("row", [None, {"id": "v_0", "correct_choice": 2}])
@pytest.mark.parametrize("name", ["keyframe_indices", "frame_idx"])
def test_frame_number_formats_add_times_to_the_question_or_a_given_row(brief, tmp_path, name, row):
    folder = brief.save(tmp_path / "x", formats=[name], row=row)
    (written,) = json.loads((folder / f"{name}.json").read_text())
    assert written[name] == list(brief.numbers) and written["times_s"] == brief.selection.times_s
    assert (row or {"question": QUESTION.text}).items() <= written.items()


def test_openai_messages_are_those_of_the_exhibit(saved, shown):
    assert json.loads((saved / "openai.json").read_text())["messages"] == shown.messages()


def test_existing_directory_is_unchanged_without_force(shown, saved):
    before = contents(saved)
    with pytest.raises(InputError, match="force"):
        shown.save(saved)
    assert contents(saved) == before


@pytest.mark.parametrize("name", ["letter.txt", "report.html"])
def test_force_does_not_replace_a_directory_of_other_files(brief, tmp_path, name):
    (tmp_path / name).write_text("dear")
    with pytest.raises(InputError, match="other things"):
        brief.save(tmp_path, force=True)
    assert contents(tmp_path) == {name: b"dear"}


def test_interruption_leaves_nothing_behind_and_keeps_the_previous_exhibit(brief, tmp_path, monkeypatch):
    brief.save(tmp_path / "old")
    before = contents(tmp_path)
    monkeypatch.setattr(export, "render_report", Mock(side_effect=KeyboardInterrupt))
    for name in ("new", "old"):
        with pytest.raises(KeyboardInterrupt):
            brief.save(tmp_path / name, force=True)
    assert contents(tmp_path) == before


def test_zip_contains_one_directory_with_the_video_beside_the_report(brief, video, tmp_path):
    path = export.zip_directory(brief.save(tmp_path / "evidence", with_video=True))
    assert path == tmp_path / "evidence.zip"
    with zipfile.ZipFile(path) as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == {"evidence"}
        assert "evidence/report.html" in archive.namelist()
        assert archive.read("evidence/clip.mp4") == video.read_bytes()


@pytest.mark.parametrize(
    ("name", "formats", "error", "message"),
    [("x", ["xml"], OptionError, r"xml.*keyframe_indices"), ("x" * 300, [], InputError, "can't be written")],
    ids=["unknown format", "name that no file can have"],
)
def test_refused_before_writing(brief, tmp_path, name, formats, error, message):
    with pytest.raises(error, match=message):
        brief.save(tmp_path / name, formats=formats)
    assert list(tmp_path.iterdir()) == []


def test_comparison_of_restored_selections_stays_inside_its_folder(video, tmp_path):
    selection = make_selection(video, budget=1)
    methods = ("../../out", "/x/y", "a/b", "a\\b", "\0", "", "x" * 300, "gcr")
    exhibits = [fs.exhibit(video, replace(selection, method=method)) for method in methods]
    folder = export.save(exhibits, tmp_path / "both")
    names = {path.name for path in folder.iterdir()} - {LIST, "report.html", "frames"}
    assert names == {*(f"selection-{number}.json" for number in range(1, 8)), "selection-gcr.json"}
    assert {path.name for path in (folder / "frames").iterdir()} == {*map(str, range(1, 8)), "gcr"}
    assert list(tmp_path.iterdir()) == [folder]
