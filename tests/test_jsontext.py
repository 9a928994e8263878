"""JSON that people can read: the same values back, plain lists on one line."""

import io
import json
from string import printable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift._utils.json import json_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(printable),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_reads_back_as_it_was(value):
    assert json.loads(json_text(value)) == value


def test_list_of_numbers_is_one_line():
    assert json_text({"times_s": [1, 2, 3], "slots": [{"a": 1}]}).splitlines()[1] == '  "times_s": [1, 2, 3],'


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ValueError, match="JSON"):
        json_text([float("nan")])


def test_an_output_that_is_not_utf8_gets_the_same_json_in_ascii(monkeypatch):
    from framesift.cli.common import print_json

    told = {"text": "Käse 🧀 сыр"}
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii", errors="replace", write_through=True))
    print_json(told)
    assert json.loads(raw.getvalue().decode("ascii")) == told
