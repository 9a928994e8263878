"""Values against types: what fits is returned, what does not is one sentence with its place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift._utils.json import load_json
from framesift._utils.records import FilePath, Name, Seconds, read_field, read_record, read_value
from framesift.errors import InputError
from helpers.mutations import ODD_VALUES


@dataclass(frozen=True)
class Inner:
    name: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outer:
    time_s: float
    kind: Literal["a", "b"]
    inner: Inner | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def test_record_is_built_from_its_fields_without_unknown_keys():
    value = {"time_s": 3, "kind": "a", "inner": {"name": "x", "sizes": [1, 2.0]}, "later": 1}
    assert read_record(Outer, value, "here") == Outer(3.0, "a", Inner("x", (1, 2)))


def test_mismatch_names_the_field_what_was_got_and_what_was_expected():
    good = {"time_s": 1, "kind": "a"}
    for value, message in (
        ([], "here is an empty list; expected an object with time_s, kind, inner, extra"),
        ({"kind": "a"}, "here: time_s is missing; expected a value for it"),
        (good | {"time_s": "x"}, "here: time_s is 'x'; expected a finite number"),
        (good | {"kind": "c"}, "here: kind is 'c'; expected one of a, b"),
        (good | {"inner": {"name": 3}}, "here: inner.name is 3; expected a text"),
        (good | {"inner": {"name": "x", "sizes": [1, 2.5]}}, "here: inner.sizes[1] is 2.5; expected a whole number"),
        (good | {"extra": {"b": [0, float("nan")]}}, "here: extra.b[1] is nan; expected a finite number"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            read_record(Outer, value, "here")


def test_clocks_are_seconds():
    clocks = {"1:02:03": 3723.0, "02:03.5": 123.5, "4": 4.0, " 0:01 ": 1.0, "1:00,5": 60.5, 2: 2.0, -1.5: -1.5}
    assert {clock: read_value(Seconds, clock, "") for clock in clocks} == clocks


def test_what_is_no_time_is_rejected():
    for value in ("", "x", "1:2:3:4", "nan", "1e400", "-1:00", "9" * 400, True, None, [1], float("inf"), 1e300):
        with pytest.raises(InputError, match="expected seconds"):
            read_value(Seconds, value, "t")


def test_names_are_texts_or_numbers():
    assert [read_value(Name, value, "") for value in ("a", 7, 7.0, 1.5)] == ["a", "7", "7", "1.5"]
    for value in (float("nan"), None, [], "\ud800"):
        with pytest.raises(InputError, match="id is .*; expected a "):
            read_value(Name, value, "id")


def test_path_keeps_the_bytes_of_a_name_that_is_not_utf_8():
    assert read_value(FilePath, "a\udcff.mp4", "") == "a\udcff.mp4"
    for value in ("", "a\0b", "\ud800", 3):
        with pytest.raises(InputError, match="expected a path"):
            read_value(FilePath, value, "video")


def test_field_without_a_value_is_its_default():
    assert read_field({"a": None, "b": ""}, "a", int, "row", 5) == read_field({"a": None}, "c", int, "row", 5) == 5


def test_missing_field_lists_those_there_are():
    with pytest.raises(InputError, match="row 3 has no 'video'; it has a, b"):
        read_field({"a": 1, "b": 2}, "video", str, "row 3")


def test_whole_numbers_are_those_arrays_and_tables_can_hold():
    assert read_value(int, 2**63 - 1, "") == 2**63 - 1
    for value in (2**63, 10**5000, 1.5, float("nan"), True, "1"):
        with pytest.raises(InputError, match="expected a whole number"):
            read_value(int, value, "n")


def test_values_nested_too_deeply_are_rejected():
    value: Any = 1
    for _ in range(200):
        value = [value]
    with pytest.raises(InputError, match="at most 64 levels"):
        read_value(Any, value, "trace")


KINDS = [str, int, float, bool, Any, Seconds, Name, FilePath, Inner, Outer, tuple[int, str], list[str]]
KINDS += [int | Name | None, dict[str, float], tuple[Seconds | tuple[Seconds, Seconds], ...]]


@given(st.sampled_from(KINDS), st.sampled_from(ODD_VALUES))
def test_any_value_of_any_kind_is_returned_or_one_sentence(kind, value):
    message = "here: a sentence; expected"
    try:
        read_value(kind, value, "here")
    except InputError as error:
        message = str(error)
    assert message.startswith("here") and "expected" in message and "\n" not in message
    assert len(message) < 250 and message.encode()


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "9" * 5000, b"\xff", b"\xef\xbb\xbf{"])
def test_what_is_no_json_is_one_sentence(text):
    with pytest.raises(InputError, match=r"^a\.json is .*; expected a list$"):
        load_json(text, "a.json", "a list")
