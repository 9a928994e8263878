"""Texts as people read them."""

import pytest

from framesift._utils.text import near_names, printable, suggestion

SELECTORS = ("sift", "gcr", "uniform", "topk", "t-star")


@pytest.mark.parametrize(("name", "near"), [("sfit", "sift"), ("Unifrom", "uniform"), ("tstar", "t-star")])
def test_near_name_is_suggested_in_place_of_the_list(name, near):
    assert suggestion(name, SELECTORS) == f"did you mean {near}?"


def test_unrelated_names_are_not_suggested():
    assert suggestion("best", SELECTORS) == "expected one of sift, gcr, uniform, topk, t-star"
    assert near_names("frames", ["from_s"]) == near_names("", SELECTORS) == near_names("sift", ()) == []


def test_undecodable_bytes_of_a_file_name_are_shown_as_such():
    assert printable("caf\udce9.mp4") == "caf\ufffd.mp4"
