"""Visual demand: the keyword rules on simple questions, on a list of typed ones and on a benchmark's."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.gcr.demand import find_cues, resolve_demand, visual_demand
from helpers.sample_data import SAMPLE_DATA

QUESTIONS = Path(__file__).with_name("demand_questions.tsv")
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
        ("What does the sign say?", 0.8, "visual"),
        ("What does it say on the bottle?", 0.8, "visual"),
        ("What does the screen say?", 0.8, "visual"),
        ("When the subtitle 'she is here' appears, what is she wearing?", 0.5, "both"),
        ("What happens next?", 0.5, "neither"),
        ("Was hat er auf dem Bild an?", 0.5, "neither"),  # another language
        ("¿Qué red usa?", 0.5, "neither"),
        ("Que porte la femme sur la photo ?", 0.5, "neither"),
        ("他为什么离开？", 0.5, "neither"),
    ],
)
def test_rules_on_simple_questions(stem, value, kind):
    demand = visual_demand(stem)
    assert (demand, demand.kind) == (value, kind)


@pytest.mark.parametrize(
    ("stem", "textual", "visual"),
    [
        ("What follows the line 'a red hat on the left'?", ["a quoted line"], []),  # quoted words are no cues
        ("Who stands under the sign 'EXIT'?", [], ["quoted writing", "stands"]),
        ("What's the boy's dog's colour?", [], ["colour"]),  # apostrophes are no quotations
        (
            "It stops below the letter 'e'. After the subtitle 'go on', who comes?",
            ["a quoted line", "subtitle"],
            ["quoted writing"],
        ),
        ("Who answers ‘I don’t know the colour’?", ["a quoted line", "answers"], []),
        ("What is the woman who is talking to the camera holding?", [], ["holding"]),
        ("Who calls the police?", [], []),
        ("Who makes a phone call?", [], []),
        ("Who answers the door?", [], []),
        ("Tell me the colour", [], ["colour"]),  # a request to the reader
        ("Can you tell the colour?", [], ["colour"]),
        ("Say what colour", [], ["colour"]),
        ("What do you think is the colour?", [], ["colour"]),
        ("Describe the kitchen", [], ["describe"]),
        ("Please show me the harbour", [], ["please show me"]),
        ("What words does the man say?", ["say"], []),
        ("Where does she jump?", [], ["where does", "jump"]),  # weak cues decide only without a strong one
        ("What does she ask before she jumps?", ["ask"], []),
        ("Which name is on the red boat?", [], ["red"]),
        ("Wer sagt „wir müssen gehen“?", ["a quoted line"], []),
        ("Que se passe-t-il après « on y va » ?", ["a quoted line"], []),
        ("彼女が「さようなら」と言った", ["a quoted line"], []),
    ],
)
def test_cues_of_a_question(stem, textual, visual):
    assert find_cues(stem) == (textual, visual)


@pytest.mark.parametrize("half", ["tuned", "held-out"])
def test_rules_agree_with_a_person_on_typed_questions(half):
    with QUESTIONS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["half"] == half]
    kinds = [visual_demand(row["question"]).kind for row in rows]
    agree = [
        row["kind"] == {"both": "neutral", "neither": "neutral"}.get(k, k) for row, k in zip(rows, kinds, strict=True)
    ]
    assert len(rows) == 50
    assert sum(agree) >= 47


def test_every_form_of_a_speech_verb_is_textual():
    forms = (
        "asks asked asking replies replied replying promises promised promising begs begged begging said told swore "
        "sang called whispers shouted introduces described explains"
    )
    for form in forms.split():
        assert find_cues(f"Maria {form} him something") == ([form], []), form


def test_long_repetitive_stems_are_judged():
    for part in ("'!'a", '"!!"', "‘", "do ", "text ", "it says ", "what is ", "orders a "):
        assert visual_demand(part * 5_000) in (0.2, 0.5, 0.8)


def test_demand_is_a_number_a_function_or_the_rules():
    assert resolve_demand(0.3, "Why?") == 0.3
    assert resolve_demand(lambda stem: len(stem) / 10, "Why?") == 0.4
    assert resolve_demand("rules", "Why?") == 0.2


def test_unknown_demand_is_rejected():
    with pytest.raises(fs.InputError, match="expected 'rules'"):
        resolve_demand("guess", "Why?")


@given(st.text(max_size=300))
def test_rules_accept_any_text(stem):
    assert visual_demand(stem) in (0.2, 0.5, 0.8)


@pytest.mark.sample_data
def test_rules_separate_questions_about_text_on_held_out_rows():
    rows = json.loads(ANNOTATIONS.read_text())[1::2]
    about_text = [visual_demand(row["question"]) for row in rows if row["question_category"].startswith("T")]
    others = [visual_demand(row["question"]) for row in rows if not row["question_category"].startswith("T")]
    assert sum(d <= 0.5 for d in about_text) / len(about_text) > 0.9
    assert sum(d >= 0.5 for d in others) / len(others) > 0.95
