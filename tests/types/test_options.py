"""Answer options: letters, positions, and answers given as either or as the option's text."""

import pytest

from framesift.errors import InputError
from framesift.types.question import option_letter, resolve_option, strip_option_letters


def test_letters_continue_after_z():
    assert [option_letter(k) for k in (25, 26, 27, 52)] == ["Z", "AA", "AB", "BA"]


def test_answer_is_a_position_a_letter_or_an_option_text():
    for answer, position in [(1, 1), ("1", 1), ("b", 1), ("(B)", 1), ("B.", 1), ("Bob", 1), (" ann ", 0)]:
        assert resolve_option(answer, ["Ann", "Bob"], "row 1") == position, answer


def test_number_that_is_an_option_text_is_that_option():
    assert resolve_option("1", ["3", "1", "2"], "row 1") == 1
    assert resolve_option(2, ["3", "1", "2"], "row 1") == 2


def test_answer_that_matches_two_options_is_rejected():
    with pytest.raises(InputError, match="matches more than one option"):
        resolve_option("B", ["B", "C"], "row 1")


def test_answer_that_is_not_an_option_is_rejected():
    for answer in (2, -1, "C", "Carl", "2", True, None):
        with pytest.raises(InputError, match="row 1: the answer"):
            resolve_option(answer, ["Ann", "Bob"], "row 1")


def test_letters_are_stripped_only_where_every_option_has_its_own():
    assert strip_option_letters({0: "A. x", 1: "(b) y"}) == {0: "x", 1: "y"}
    assert strip_option_letters({0: "A. x", 2: "C. y"}) == {0: "x", 2: "y"}
    for kept in ({0: "U. x", 1: "B. y"}, {0: "(a)(c)(b)", 1: "(b)(a)(c)"}):
        assert strip_option_letters(kept) == kept
