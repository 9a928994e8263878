import csv
import io
import json
from collections import Counter

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from framesift.batch.items import read_clip_events
from framesift.bench.datasets import DATASETS, VIDEOMME_FAMILIES, load_dataset
from framesift.bench.runner import run_item
from framesift.errors import InputError, UnknownName
from framesift.types import Event, Window
from helpers.published_annotations import ANNOTATIONS, cgbench_row, longvideobench, lvb_row, mme_row, write


@pytest.fixture(scope="module")
def lvb():
    return load_dataset("longvideobench", ANNOTATIONS)


@pytest.fixture(scope="module")
def mme():
    return load_dataset("videomme", ANNOTATIONS)


@pytest.mark.sample_data
def test_longvideobench_has_the_published_number_of_questions_videos_and_categories(lvb):
    assert lvb.groups == {"Short": 361, "Medium": 412, "Long": 564}
    assert Counter(item.published_group for item in lvb.items) == {"15": 189, "60": 172, "600": 412, "3600": 564}
    assert len({item.video_id for item in lvb.items}) == 753
    assert len({item.categories for item in lvb.items}) == 17


@pytest.mark.sample_data
def test_longvideobench_is_read_as_published_but_for_one_moment_that_is_reported(lvb):
    rows = {row["id"]: row for row in json.loads((ANNOTATIONS / "lvb_val.json").read_text())}
    for item in lvb.items:
        row, names = rows[item.id], ("question", "candidates", "correct_choice", "duration", "video_id")
        found = (item.question.text, list(item.question.options), item.answer, item.duration_s, item.video_id)
        assert found == tuple(row[name] for name in names) and item.categories == (row["question_category"],)
        assert item.moments_s and item.moments_s[-1] <= item.duration_s + 1
    assert lvb.notes == ("omitted: 1 moment outside the video (Z-1lgAXOEc8_0)",)


@pytest.mark.sample_data
def test_videomme_has_the_published_questions_and_its_options_lose_their_letters_alone(mme):
    assert mme.groups == {"Short": 900, "Medium": 900, "Long": 900}
    assert len({item.video_id for item in mme.items}) == 900
    assert Counter("ABCD"[item.answer] for item in mme.items) == {"A": 677, "B": 735, "C": 684, "D": 604}
    assert {name for item in mme.items for name in item.categories} == set(VIDEOMME_FAMILIES)
    rows = parquet.read_table(ANNOTATIONS / "videomme-test.parquet").to_pylist()
    for item, row in zip(mme.items, rows, strict=True):
        marked = [f"{chr(ord('A') + k)}. {text}" for k, text in enumerate(item.question.options)]
        assert [" ".join(text.split()) for text in marked] == [" ".join(text.split()) for text in row["options"]]


def test_positions_count_24_a_second(tmp_path):
    folder = longvideobench(tmp_path, [lvb_row(position=[240, 48, 48])])
    assert load_dataset("longvideobench", folder).items[0].moments_s == (2.0, 10.0)


def first_events(folder):
    item = load_dataset("longvideobench", folder).items[0]
    return read_clip_events(item.subtitles, offset_s=item.subtitles_offset_s, duration_s=item.duration_s).events


@pytest.mark.parametrize(
    ("subtitles", "expected"),
    [
        ([{"timestamp": [98, 103.5], "text": "before"}], (Event(0.0, 3.5, "before"),)),
        ([{"start": "00:01:50.000", "end": "00:02:00.000", "line": "inside"}], (Event(10.0, 20.0, "inside"),)),
        ([{"timestamp": [5, 9], "text": "elsewhere"}], ()),
    ],
)
def test_both_shapes_of_subtitles_are_moved_to_the_clip_and_cut_to_it(tmp_path, subtitles, expected):
    assert first_events(longvideobench(tmp_path, [lvb_row()], subtitles=subtitles)) == expected


def test_damaged_subtitle_file_is_an_error(tmp_path):
    folder = longvideobench(tmp_path, [lvb_row()])
    write(folder / "subtitles" / "a_en.json", "[{")
    with pytest.raises(InputError, match="a_en.json"):
        first_events(folder)


def as_csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "options": "\n".join(row["options"])} for row in rows)
    return out.getvalue()


@pytest.mark.parametrize("name", ["videomme.json", "videomme.jsonl", "videomme.csv"])
def test_videomme_is_read_from_json_lines_and_csv_alike(tmp_path, name):
    rows = [mme_row("001-1"), mme_row("001-2", answer="A")]
    texts = {"json": json.dumps(rows), "jsonl": "\n".join(map(json.dumps, rows)), "csv": as_csv(rows)}
    write(tmp_path / name, texts[name.split(".")[1]])
    some = load_dataset("videomme", tmp_path)
    assert [item.answer for item in some.items] == [2, 0]
    assert some.items[0].question.options == ("Yes.", "No.", "A. Smith", "N/A")


def test_videomme_without_as_many_subtitles_as_published_is_not_missing_any(tmp_path):
    write(tmp_path / "videomme.json", [mme_row("001-1"), mme_row("002-1")])
    write(tmp_path / "subtitle" / "vid001.srt", "")
    for video in ("vid001", "vid002"):
        write(tmp_path / "data" / f"{video}.mp4", "")
    some = load_dataset("videomme", tmp_path).with_files()
    assert [item.subtitles is None for item in some.items] == [False, True]
    assert some.notes == ("1 video without subtitles, as published; their questions are asked without",)


def test_videomme_without_its_subtitle_folder_is_missing_it(tmp_path):
    write(tmp_path / "videomme.json", [mme_row(f"{k:03d}-1") for k in range(200)])
    with pytest.raises(InputError, match="200 subtitle files missing for 200 questions"):
        load_dataset("videomme", tmp_path).with_files()


def mlvu_row(**fields):
    row = {"video": "m.mp4", "duration": 480, "question": "Which colour?", "candidates": ["Red", "Blue"]}
    return {**row, "answer": "Blue", "question_type": "plotQA", **fields}


def test_mlvu_dev_has_a_task_a_file_and_answers_as_texts(tmp_path):
    write(tmp_path / "MLVU/json/1_plotQA.json", [mlvu_row()])
    write(tmp_path / "MLVU/json/5_order.json", [mlvu_row(question_type="order", answer="Red")])
    write(tmp_path / "MLVU/video/1_plotQA/m.mp4", "")
    some = load_dataset("mlvu", tmp_path)
    found = [(item.id, item.group, item.answer) for item in some.items]
    assert found == [("1_plotQA-0", "Single detail", 1), ("5_order-0", "Multi detail", 0)]
    assert [item.video.parent.name for item in some.items] == ["1_plotQA", "5_order"]
    assert "5 of 7 tasks are missing" in some.notes[0]
    write(tmp_path / "test/test-ground-truth/test_mcq_gt.json", [mlvu_row(question_id="TEST_0001")])
    write(tmp_path / "test/video/m.mp4", "")
    assert load_dataset("mlvu", tmp_path / "test").with_files().items[0].id == "TEST_0001"  # ids of its own


def test_egoschema_asks_what_has_a_public_answer_and_counts_the_rest(tmp_path):
    options = {f"option {k}": f"text {k}" for k in range(5)}
    write(tmp_path / "questions.json", [{"q_uid": name, "question": "Why?", **options} for name in ("a", "b")])
    write(tmp_path / "subset_answers.json", {"b": 3})
    some = load_dataset("egoschema", tmp_path)
    assert [(item.id, item.answer, item.duration_s) for item in some.items] == [("b", 3, 180.0)]
    assert some.notes == ("omitted: 1 question without a public answer",)
    row = {"question_idx": "7", "video_idx": "u", "question": "Why?", "option": ["A. x", "B. y"], "answer": "1"}
    (tmp_path / "hub" / "Subset").mkdir(parents=True)
    parquet.write_table(arrow.Table.from_pylist([row]), tmp_path / "hub" / "Subset" / "test-0.parquet")
    found = load_dataset("egoschema", tmp_path / "hub").items[0]
    assert (found.id, found.video_id, found.question.options, found.answer) == ("7", "u", ("x", "y"), 1)


def test_lvbench_parts_the_options_from_the_question_and_reads_the_time(tmp_path):
    question = "What year appears?\n(A) 1636\n(B) 1366\n(C) 1363\n(D) 1633"
    asked = {"uid": "12", "question": question, "answer": "D", "time_reference": "00:15-01:19"}
    asked |= {"question_type": ["key information retrieval", "reasoning"]}
    video = {"key": "Cm73", "type": "cartoon", "qa": [asked, {**asked, "uid": "13", "time_reference": "whole"}]}
    write(tmp_path / "video_info.meta.jsonl", json.dumps(video))
    write(tmp_path / "all_videos/Cm73.mp4", "")
    some = load_dataset("lvbench", tmp_path).with_files()
    found = some.items[0]
    assert found.question.text == "What year appears?" and found.question.options == ("1636", "1366", "1363", "1633")
    assert (found.answer, found.categories) == (3, ("key information retrieval", "reasoning"))
    assert found.scenes == (((15.0, 79.0),),)
    assert some.items[1].scenes == () and some.notes == ("unreadable: 1 time reference (13)",)


def test_cgbench_has_a_scene_for_each_clue(tmp_path):
    rows = [cgbench_row(1, clue_intervals=[[3, 5], [70, 71]]), cgbench_row(2, right_answer="C")]
    write(tmp_path / "cgbench_mini.json", rows)
    for name in ("cg_videos_720p/u0.mp4", "cg_videos_720p/u1.mp4", "cg_subtitles/u1.srt"):
        write(tmp_path / name, "")
    some = load_dataset("cgbench", tmp_path).with_files()
    first, second = some.items
    assert (first.id, first.video_id, first.answer, first.group) == ("1", "u0", 1, "Nature")
    assert first.categories == ("Counting",)
    assert (first.scenes, first.duration_s) == ((((2.5, 5.5),), ((69.5, 71.5),)), 64.0)
    assert (first.subtitles, second.subtitles.name, second.answer) == (None, "u1.srt", 2)
    assert some.notes[0] == "1 clue after the end of the video (1)" and "1 video without subtitles" in some.notes[1]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"clue_intervals": [[5, 2]]}, "a scene has 4.5 to 2.5 s; expected a start of at least 0"),
        ({"clue_intervals": [[5]]}, "question 1: clue_intervals"),
        ({"clue_intervals": "[[1, 2]]"}, "question 1: clue_intervals"),
        ({"right_answer": "D"}, "question 1: the answer 'D' is none of the options"),
        ({"duration": "long"}, "question 1: duration is 'long'"),
    ],
)
def test_damaged_cgbench_row_is_named(tmp_path, fields, message):
    write(tmp_path / "cgbench_mini.json", [cgbench_row(**fields)])
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        load_dataset("cgbench", tmp_path)


def test_videomme_v2_has_levels_and_letters(tmp_path):
    row = mme_row(video_id="017", level=2, second_head="Order", options=["A. Yes.", "B. No.", "C. Both", "D. None"])
    write(tmp_path / "test.json", [row, mme_row("002-1", video_id="018")])
    write(tmp_path / "videos/017.mp4", "")
    first, second = load_dataset("videomme-v2", tmp_path).items
    assert (first.video.is_file(), first.group, first.categories) == (True, "Level 2", ("Order",))
    assert (first.question.options, first.answer) == (("Yes.", "No.", "Both", "None"), 2)
    assert (second.group, second.categories) == ("", ())
    assert first.subtitles.name == "017.jsonl"


def own_row(**fields):
    row = {"video": "a.mp4", "question": "Who?", "options": ["Ann", "Bob"], "answer": "B", "group": "home"}
    return {**row, **fields}


def test_own_questions_are_read_beside_their_videos(tmp_path):
    rows = [own_row(subtitles="a.srt", moments=[3, [5, 6.5]]), own_row(answer="ann", id="x", category="people")]
    held = [{"start_s": 1, "end_s": 2, "text": "hi"}]
    rows += [own_row(until="1:00", subtitles=held), own_row(from_s=5, to_s=9)]
    path = write(tmp_path / "mine.jsonl", "\n".join(map(json.dumps, rows)))
    first, second, until, inside = load_dataset(str(path)).items
    assert (first.id, first.answer, first.group) == ("mine-1", 1, "home")
    assert first.video == tmp_path / "a.mp4" and first.subtitles == tmp_path / "a.srt"
    assert first.moments_s == (3.0,) and first.scenes == (((5.0, 6.5),),)
    assert (second.id, second.answer, second.categories) == ("x", 0, ("people",))
    assert [event.text for event in until.subtitles] == ["hi"]
    assert [run_item(one).window for one in (first, until, inside)] == [None, Window.until(60), Window(5, 9)]


def test_line_separator_inside_a_text_does_not_part_a_line(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(own_row(question="Who\u2028is it?"), ensure_ascii=False), encoding="utf-8")
    assert len(load_dataset(str(path))) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"answer": None}, "question 1 has no 'answer'"), ({"from_s": 9, "to_s": 5}, "the window is from 0:00:09 to 0:0")],
)
def test_own_question_that_can_not_be_asked_is_named(tmp_path, fields, message):
    path = write(tmp_path / "mine.jsonl", json.dumps(own_row(**fields)))
    with pytest.raises(InputError, match=message):
        load_dataset(str(path))


def test_unknown_data_set_lists_the_valid_ones():
    with pytest.raises(UnknownName, match=", ".join(DATASETS)):
        load_dataset("activitynet")


@pytest.mark.parametrize("name", DATASETS)
def test_empty_folder_is_an_error_with_the_expected_files(tmp_path, name):
    with pytest.raises(InputError, match="expected"):
        load_dataset(name, tmp_path)
