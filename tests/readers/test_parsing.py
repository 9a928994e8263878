"""Parsing replies: one option or none, never a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.readers.parsing import cited_times, parse_choice, strip_control
from framesift.types import Question

CARS = Question("Which car?", ["A red car", "A blue van", "Plan C was chosen", "It was not shown", "The red car park"])


# Each names the second option.
SECOND = (
    "B", "b", "(B)", "B.", "B)", "[B]", " B \n", "**B**", "`B`", "B: A blue van", "B. A blue van.", "b) a blue van",
    "The answer is B because the van is parked.", "Answer: B", "The answer is **B**.", "Option B",
    "B\n\nA blue van", "$\\boxed{B}$", "\\boxed{\\text{B}}", "Ｂ", "（Ｂ）", "Ｂ．", "Ⓑ", "答案是B",
    "答案：B。", "正解はBです", "Ответ: B",
    "A blue van", "a blue van.", "It is a blue van that we see.", "B B", "B, since a red car came later",
    "<think>A? No, C.</think>B", "A? No, C.</think>\nB", "B.The van",
    "The correct answer is (B).", "I think it is B.", "B - A blue van",
    "BECAUSE of the sign: B",
)  # fmt: skip
UNDECIDED = (
    "", "   ", "A or B", "A, B", "(A) (B)", "B. C.", "Both A and B", "A/B/C/D", "I don't know.", "Z", "F", "None",
    "The answer is B, not C.", "<think>B, clearly", "A blue van and a red car", "It is not a blue van.",
    "B. A red car", "В", "Б", "vitamin D2", "T-shirt", "C++", "A lovely day", "I see a van", "D's",
    "E.g. the van", "in Washington D.C.", "<think>B</think>",
)  # fmt: skip
OPTION_TEXTS = (
    ("D. It was not shown", 3),
    ("It was not shown", 3),
    ("C. Plan C was chosen", 2),
    ("Plan C was chosen", 2),
    ("A. A red car", 0),
    ("The answer is A because it is red", 0),
    ("A is correct", 0),
    ("D. A red car is never seen", 3),
    ("the red car park", 4),
)


def test_letter_or_text_of_one_option_is_parsed():
    for reply in SECOND:
        assert parse_choice(reply, CARS) == 1, reply


def test_no_option_or_several_give_no_choice():
    for reply in UNDECIDED:
        assert parse_choice(reply, CARS) is None, reply


def test_capitals_inside_option_texts_are_not_letters():
    for reply, choice in OPTION_TEXTS:
        assert parse_choice(reply, CARS) == choice, reply


@pytest.mark.parametrize(
    ("options", "reply", "choice"),
    [
        (["3", "13", "30"], "There are 13 of them.", 1),
        (["red", "N/A", "blue"], "C", 2),
        (["red", "N/A", "blue"], "B", None),  # not a valid option
        (["C", "D", "E"], "C", 2),  # the letter, not the text
    ],
)
def test_numbers_are_whole_and_letters_those_of_valid_options(options, reply, choice):
    assert parse_choice(reply, Question("Which?", options)) == choice


@given(st.text(), st.lists(st.text(min_size=1), max_size=6))
def test_choice_is_always_a_valid_option_or_none(reply, options):
    question = Question("Which?", options)
    assert parse_choice(reply, question) in {None, *question.choices}


@given(st.text(), st.lists(st.floats(0, 1e5)))
def test_cited_times_are_a_sorted_subset_of_the_frames(text, times):
    cited = cited_times(text, times)
    assert set(cited) <= set(times) and cited == sorted(set(cited))


@pytest.mark.parametrize(
    "text",
    [
        "At [0:01:02.500] he leaves (frame 1), not at 0:30:00 or in frame 9.",
        "see 62s and 12.3 seconds, or 5 cats",
    ],
)
def test_times_and_frame_numbers_are_cited_where_they_mean_a_frame(text):
    assert cited_times(text, [12.0, 62.5, 3723.0]) == [12.0, 62.5]


def test_control_characters_are_removed():
    assert strip_control("a\x1b[31mb\r\nc\x07\td") == "a[31mb\nc\td"
