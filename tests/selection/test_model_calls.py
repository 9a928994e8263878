"""The protocol by which selectors ask a model, and the context of a question."""

import numpy as np
import pytest

from framesift import Event, Evidence, Question
from framesift.errors import InputError, OptionError
from framesift.selection.model_calls import (
    ModelCalls,
    QuestionContext,
    model_name,
    parse_json,
    require_model,
    require_question,
)


def test_calls_are_counted_up_to_the_limit():
    calls = ModelCalls("dig", lambda parts: " ".join(parts), 2)
    assert [calls.ask("a", "b"), calls.ask("c")] == ["a b", "c"]
    assert calls.made == 2
    with pytest.raises(OptionError, match=r"dig needs 3 model calls .* calls = 2; allow more \(--set calls=3\)"):
        calls.ask("d")


def test_calls_can_be_refused_before_the_first():
    asked = []
    calls = ModelCalls("dig", asked.append, 4)
    with pytest.raises(OptionError, match="needs 5 model calls"):
        calls.require(5)
    assert asked == []


def test_a_missing_model_is_an_error_that_says_how_to_pass_one():
    with pytest.raises(InputError, match=r"himu asks a model: pass model='http://HOST:PORT/v1'"):
        ModelCalls("himu", None, 1)
    with pytest.raises(InputError, match="model is 3; expected an address"):
        require_model("himu", 3)


def test_a_reply_that_is_not_text_is_an_error():
    with pytest.raises(InputError, match="the model returned NoneType; expected a text"):
        ModelCalls("himu", lambda parts: None, 1).ask("a")


def test_a_missing_question_is_an_error():
    with pytest.raises(InputError, match="himu needs the question's words"):
        require_question("himu", None)


def test_a_model_is_named_in_traces():
    def my_model(parts):
        return ""

    assert (model_name(my_model), model_name(None)) == ("my_model", None)


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
    evidence = Evidence(
        times_s=[0.0, 1.0],
        duration_s=2.0,
        frames=np.eye(2),
        query=[1.0, 0.0],
        events=[Event(5, 6, "late"), Event(0, 1, "early")],
        event_features=np.eye(2),
    )
    context = QuestionContext(
        Question("?"),
        encode_texts=lambda texts: np.array([[3.0, 4.0]] * len(texts)),
        score_events=lambda texts: [[0.1, 0.2]] * len(texts),
    )
    np.testing.assert_allclose(context.score_frames(evidence, ["a", "b"]), [[0.6, 0.8]] * 2)
    np.testing.assert_allclose(context.score_remaining_events(evidence, ["a"]), [[0.2]])
    with pytest.raises(InputError, match="no encode_texts"):
        QuestionContext(Question("?")).score_frames(evidence, ["a"])
