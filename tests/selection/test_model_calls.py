"""The protocol by which selectors ask a model, and what a lookup gives them."""

import numpy as np
import pytest

from framesift import Event, Evidence, select_frames
from framesift.errors import InputError, OptionError
from framesift.selection.looking.access import Access, parse_json
from framesift.types import Lookup

EVIDENCE = Evidence([0.0, 1.0], 2.0, np.eye(2), [1.0, 0.0])


def test_calls_are_counted_up_to_the_limit():
    access = Access(EVIDENCE, Lookup(model=lambda parts: " ".join(parts), method="dig"), 2)
    assert [access.ask("a", "b"), access.ask("c")] == ["a b", "c"]
    assert (access.calls, access.left) == (2, 0)
    with pytest.raises(OptionError, match=r"dig needs 3 model calls .* calls = 2; allow more \(--set calls=3\)"):
        access.ask("d")


def test_a_missing_or_unusable_model_is_an_error():
    with pytest.raises(InputError, match=r"himu asks a model: pass model='http://HOST:PORT/v1'"):
        Access(EVIDENCE, Lookup(method="himu"), 1).ask("a")
    with pytest.raises(InputError, match="model is 3; expected an address"):
        Lookup(model=3)


def test_a_model_is_named_in_traces():
    def my_model(parts):
        return ""

    trace = select_frames(EVIDENCE, budget=2, method="memorycard", model=my_model).trace
    assert trace["options"]["model"] == "my_model"


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('Here: ```json\n{"a": [1, {"b": 2}]}\n``` done }', {"a": [1, {"b": 2}]}),
        ("[1, 2] then {}", [1, 2]),
        ('a [broken, then {"x": 1}', {"x": 1}),
        ("nothing", None),
        ("[" * 100_000, None),
    ],
)
def test_json_is_found_in_a_reply(reply, value):
    assert parse_json(reply) == value


def test_texts_are_scored_against_frames_and_the_events_inside_the_video():
    events = [Event(5, 6, "late"), Event(0, 1, "early")]
    evidence = Evidence([0.0, 1.0], 2.0, np.eye(2), [1.0, 0.0], events, event_features=np.eye(2))
    lookup = Lookup(
        encode_texts=lambda texts: np.array([[3.0, 4.0]] * len(texts)),
        score_events=lambda texts: [[0.1, 0.2]] * len(texts),
    )
    np.testing.assert_allclose(lookup.score_frames(evidence, ["a", "b"]), [[0.6, 0.8]] * 2)
    np.testing.assert_allclose(lookup.score_remaining_events(evidence, ["a"]), [[0.2]])
    with pytest.raises(InputError, match=r"pass lookup=Lookup\(encode_texts="):
        Lookup().score_frames(evidence, ["a"])
