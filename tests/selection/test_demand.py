"""Visual demand: the keyword rules on simple questions, on a list of typed ones and on a benchmark's."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.gcr.demand import find_cues, resolve_demand, visual_demand
from helpers.sample_data import SAMPLE_DATA

QUESTIONS = Path(__file__).with_name("demand_questions.tsv")
ANNOTATIONS = SAMPLE_DATA / "annotations" / "lvb_val.json"


SIMPLE = {
    (0.2, "textual"): """Why does Tom leave?
        What does the narrator say about the war?
        According to the speaker, what is the main topic?
        What follows the line “we have to go”?""",
    (0.8, "visual"): """What colour is the car?
        How many people are there?
        What is the man on the left holding?
        What is written on the wall?
        What does the sign say?
        What does it say on the bottle?
        What does the screen say?""",
    (0.5, "both"): "When the subtitle 'she is here' appears, what is she wearing?",
    (0.5, "neither"): """What happens next?
        Was hat er auf dem Bild an?
        ¿Qué red usa?
        Que porte la femme sur la photo ?
        他为什么离开？""",
}


def test_rules_on_simple_questions():
    for expected, stems in SIMPLE.items():
        for stem in stems.splitlines():
            demand = visual_demand(stem.strip())
            assert (demand, demand.kind) == expected, stem


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
    with pytest.raises(fs.InputError, match="expected 'rules'"):
        resolve_demand("guess", "Why?")


@given(st.text(max_size=300))
def test_rules_accept_any_text(stem):
    assert visual_demand(stem) in (0.2, 0.5, 0.8)


@pytest.mark.sample_data
def test_rules_separate_questions_about_text_on_held_out_rows():
    rows = json.loads(ANNOTATIONS.read_text())[1::2]
    demands = {True: [], False: []}
    for row in rows:
        demands[row["question_category"].startswith("T")].append(visual_demand(row["question"]))
    assert np.mean(np.array(demands[True]) <= 0.5) > 0.9 and np.mean(np.array(demands[False]) >= 0.5) > 0.95
