"""JSON output: the same values back, never anything JSON lacks."""

import io
import json

import pytest

from framesift._utils.json import dump_json, parse_scalar


def test_lone_surrogates_become_replacement_characters():
    assert dump_json(["a\udcff"]) == '[\n  "a\ufffd"\n]\n'


def test_nan_raises_value_error():
    with pytest.raises(ValueError, match="JSON"):
        dump_json([float("nan")])


def test_print_json_escapes_what_the_output_encoding_lacks(monkeypatch):
    from framesift.cli.output import print_json

    value = {"text": "Käse 🧀 сыр"}
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii", errors="replace", write_through=True))
    print_json(value)
    assert json.loads(raw.getvalue().decode("ascii")) == value


def test_parse_scalar_reads_numbers_fractions_and_words():
    cases = {"1/8": 0.125, "3": 3, "2.5": 2.5, "true": True, "null": None, "exact": "exact", "[1]": "[1]", "1/0": "1/0"}
    for text, value in cases.items():
        assert parse_scalar(text) == value
