"""Visual demand: the keyword rules on simple questions and on a benchmark's."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.gcr.demand import find_cues, resolve_demand
from helpers.sample_data import SAMPLE_DATA

ANNOTATIONS = SAMPLE_DATA / "annotations" / "lvb_val.json"


@pytest.mark.parametrize(
    ("stem", "value", "kind"),
    [
        ("Why does Tom leave?", 0.2, "textual"),
        ("What does the narrator say about the war?", 0.2, "textual"),
        ("According to the speaker, what is the main topic?", 0.2, "textual"),
        ("What follows the line “we have to go”?", 0.2, "textual"),
        ("What colour is the car?", 0.8, "visual"),
        ("How many people are there?", 0.8, "visual"),
        ("What is the man on the left holding?", 0.8, "visual"),
        ("What is written on the wall?", 0.8, "visual"),
        ("When the subtitle 'she is here' appears, what is she wearing?", 0.5, "both"),
        ("What happens next?", 0.5, "neither"),
    ],
)
def test_rules_on_simple_questions(stem, value, kind):
    demand = fs.visual_demand(stem)
    assert (demand, demand.kind) == (value, kind)


def test_quoted_words_are_not_cues():
    assert find_cues("What follows the line 'a red hat on the left'?") == (["a quoted line"], [])


def test_quoted_writing_in_the_frame_is_visual():
    assert find_cues("Who stands under the sign 'EXIT'?")[1][0] == "quoted writing"


def test_apostrophes_are_not_quotations():
    assert find_cues("What's the boy's dog's name?")[0] == []


def test_value_of_a_kind_is_configurable():
    assert fs.visual_demand("What colour is it?", visual=0.9) == 0.9


def test_demand_is_a_number_a_function_or_the_rules():
    assert resolve_demand(0.3, "Why?") == 0.3
    assert resolve_demand(lambda stem: len(stem) / 10, "Why?") == 0.4
    assert resolve_demand("rules", "Why?") == 0.2


def test_unknown_demand_is_rejected():
    with pytest.raises(fs.InputError, match="expected 'rules'"):
        resolve_demand("guess", "Why?")


@given(st.text(max_size=300))
def test_rules_accept_any_text(stem):
    assert fs.visual_demand(stem) in (0.2, 0.5, 0.8)


@pytest.mark.sample_data
def test_rules_separate_questions_about_text_on_held_out_rows():
    rows = json.loads(ANNOTATIONS.read_text())[1::2]
    about_text = [fs.visual_demand(row["question"]) for row in rows if row["question_category"].startswith("T")]
    others = [fs.visual_demand(row["question"]) for row in rows if not row["question_category"].startswith("T")]
    assert sum(d <= 0.5 for d in about_text) / len(about_text) > 0.9
    assert sum(d >= 0.5 for d in others) / len(others) > 0.95
