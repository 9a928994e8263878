"""Parsing of questions with options in the text, and of files of questions."""

import json

import pytest

from framesift.errors import InputError
from framesift.text.questions import read_questions
from framesift.types import Question


@pytest.mark.parametrize(
    "asked", [" A) x B) y z", "\nA. x\nB. y z", " (A) x (B) y z", "\n[A] x\n[B] y z", " A: x B: y z"]
)
def test_options_inside_the_text_are_parsed(asked):
    assert Question(f"Why does Tom leave?{asked}") == Question("Why does Tom leave?", ("x", "y z"))


@pytest.mark.parametrize(
    "text",
    ["What is vitamin B. good for?", "Is plan A) better?", "A) this B) that", "Who met the U.S. president?"],
)
def test_text_without_option_letters_is_the_question(text):
    assert Question(text) == Question(text, ())
    assert Question("Which? A) x B) y", ["one", "two"]).text == "Which? A) x B) y"  # with options of their own


def _read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_questions(path)


def test_json_holds_texts_or_objects_with_benchmark_keys(tmp_path):
    rows = [
        "Why?",
        {"id": "v1_0", "question": "Which?", "candidates": ["x", "y"]},
        {"question": "Q", "options": {"B": "2", "A": "1"}},
    ]
    plain, listed, lettered = _read(tmp_path, "q.json", json.dumps(rows))
    assert plain.question == Question("Why?")
    assert listed.question.options == ("x", "y") and listed.id == "v1_0" and listed.row["candidates"] == ["x", "y"]
    assert lettered.question.options == ("1", "2")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", 'question,options\n"Which, then?",this | that\n'),
        ("q.csv", 'question,options\n"Which, then?","[""this"", ""that""]"\n'),
        ("q.csv", 'Question,A,B\n"Which, then?",this,that\n'),
        ("q.tsv", "question\toption 0\toption 1\nWhich, then?\tthis\tthat\n"),
    ],
)
def test_csv_has_options_in_one_cell_or_in_columns(tmp_path, name, text):
    (row,) = _read(tmp_path, name, text)
    assert row.question == Question("Which, then?", ("this", "that"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.txt", "\ufeff# mine\nWhy?\n\nWhich? A) x B) y\n"),
        ("q.jsonl", '"Why?"\n\n{"question": "Which? A) x B) y"}\n'),
    ],
)
def test_lines_are_questions_but_for_blank_ones_and_comments(tmp_path, name, text):
    rows = _read(tmp_path, name, text)
    assert [row.question for row in rows] == [Question("Why?"), Question("Which?", ("x", "y"))]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.json", "{", "is not JSON"),
        ("q.json", "3", "expected a list"),
        ("q.json", "[3]", "question 1"),
        ("q.json", '[{"text": ""}]', "has no question"),
        ("q.json", '[{"question": "Q", "options": [[1]]}]', r"options\[0\] is a list of 1; expected a text"),
        ("q.json", "[" * 100_000, "is nested too deeply"),
        ("q.jsonl", '"a"\nnonsense', "line 2"),
        ("q.csv", "name,age\nx,1\n", "row 1 has no question; expected a text under the key question"),
        ("q.txt", "# nothing\n", "contains no question"),
        ("q.json", b"\xff\xfe\x00\x81", "UTF-8"),
        ("nowhere.json", b"", "nowhere"),
    ],
)
def test_bad_file_is_reported_with_the_location(tmp_path, name, text, message):
    (tmp_path / "q.json").write_bytes(text if isinstance(text, bytes) else b"")
    with pytest.raises(InputError, match=message):
        read_questions(tmp_path / name) if isinstance(text, bytes) else _read(tmp_path, name, text)
