"""VideoAgent: what is asked in each round, which frames are retrieved, and how bad replies are handled."""

import json
from dataclasses import replace

import numpy as np
import pytest

import framesift as fs
from framesift.selection.looking.videoagent import parse_confidence, parse_missing
from helpers.detector_scenes import scene, scene_evidence
from helpers.models import RuleModel, make_lookup

FOUND = {"red car": 7, "blue door": 30}  # description → the frame whose vector it has


def select(evidence, budget, model, **options):
    lookup = make_lookup(evidence.vectors.dim, frames=scene(len(evidence))[1].frames)

    def encode_texts(texts):
        known = [evidence.frames[FOUND[text]] if text in FOUND else None for text in texts]
        return [lookup.encode_texts([text])[0] if row is None else row for text, row in zip(texts, known, strict=True)]

    chosen = replace(lookup, encode_texts=encode_texts)
    return fs.select_frames(evidence, budget=budget, method="videoagent", model=model, lookup=chosen, **options)


def agent(*confidences, missing=()):
    """A model whose confidence is the next of these in each round, and that misses these (segment, description)."""
    left = list(confidences)
    frames = [{"segment": segment, "description": text} for segment, text in missing]
    return RuleModel(
        confidence=lambda _: json.dumps({"confidence": left.pop(0)}),
        frames=lambda _: json.dumps({"frames": frames}),
        answer='{"answer": "A"}',
    )


def test_a_sure_answer_ends_the_search():
    model = agent(3)
    trace = select(scene_evidence(41), 10, model).trace
    assert trace["picked"][:5] == [0, 10, 20, 30, 40]
    assert trace["rounds"] == [{"frames": 5, "answer": "A", "confidence": 3}]
    assert (model.described, len(model.asked("frames"))) == (5, 0)
    assert trace["calls"] == 7


def test_what_is_missing_is_retrieved_from_its_segment():
    model = agent(1, 3, missing=[(1, "red car")])
    selection = select(scene_evidence(41), 10, model)
    assert selection.trace["picked"][:6] == [0, 10, 20, 30, 40, 7]
    assert selection.trace["rounds"][0]["missing"] == [{"description": "red car", "index": 7}]
    assert "1. 0:00:00.000 to 0:00:10.000" in model.asked("frames")[0]
    assert len(model.asked("answer")[-1].split("] A scene like ")) == 7  # six descriptions
    found = select(scene_evidence(41), 10, agent(1, 3, missing=[(2, "red car")])).trace["rounds"][0]["missing"]
    assert 11 <= found[0]["index"] <= 20  # in its segment only


def test_there_are_two_rounds_of_retrieval():
    model = agent(1, 2, missing=[(1, "red car"), (4, "a"), (2, "b")])
    trace = select(scene_evidence(200), 32, model).trace
    assert [row.get("confidence") for row in trace["rounds"]] == [1, 2, None]
    assert [row["frames"] for row in trace["rounds"]] == sorted(row["frames"] for row in trace["rounds"])
    assert len(model.asked("frames")) == len(model.asked("confidence")) == 2
    assert len(select(scene_evidence(200), 32, agent(1, missing=[(1, "a")]), rounds=1).trace["rounds"]) == 2


def test_replies_without_frames_add_none():
    trace = select(scene_evidence(41), 10, RuleModel()).trace
    assert [row["frames"] for row in trace["rounds"]] == [5, 5, 5]
    assert [row.get("confidence") for row in trace["rounds"]] == [1, 1, None]
    assert trace["rounds"][0]["missing"] == []


def test_confidence_is_read_by_rule():
    for reply, expected in {
        '{"confidence": 3}': 3,
        'I think {"confidence": "2"}.': 2,
        '{"confidence": 4}': 1,
        '{"confidence": true}': 1,
        '{"confidence": [3]}': 1,
        "very sure": 1,
        "": 1,
    }.items():
        assert parse_confidence(reply) == expected, reply


def test_missing_frames_are_read_by_rule():
    entries = [
        {"segment": 1, "description": "a\nb"},
        {"segment": "2", "description": "c"},
        {"segment": 3, "description": "no such segment"},
        {"segment": 0, "description": "no such segment"},
        {"segment": True, "description": "no number"},
        {"segment": 1, "description": " "},
        {"segment": 1},
        {"description": "no segment"},
        "text",
    ]
    assert parse_missing(json.dumps({"frames": entries}), 2) == [(0, "a b"), (1, "c")]
    assert parse_missing(json.dumps(entries), 2) == [(0, "a b"), (1, "c")]
    assert parse_missing('{"frames": {"segment": 1}}', 2) == parse_missing("none", 2) == []
    assert len(parse_missing(json.dumps([entries[0]] * 100), 2)) == 16


def test_limit_of_calls_ends_the_search():
    model = agent(1, 1, missing=[(1, "red car"), (2, "a"), (3, "b")])
    trace = select(scene_evidence(200), 32, model, calls=10).trace
    assert trace["calls"] == 10 and [row["frames"] for row in trace["rounds"]] == [5, 6]
    assert select(scene_evidence(200), 32, agent(1), calls=6).trace["calls"] == 6
    with pytest.raises(fs.OptionError, match="videoagent needs 6 model calls for this question, more than calls = 5"):
        select(scene_evidence(200), 32, agent(1), calls=5)


def test_frames_beyond_the_budget_are_left_out():
    trace = select(scene_evidence(41), 6, agent(1, missing=[(1, "red car"), (3, "a")])).trace
    assert trace["picked"] == [0, 10, 20, 30, 40, 7]
    assert select(scene_evidence(41), 2, agent(1)).indices == [0, 40]


def test_missing_frames_are_an_error():
    bare = fs.Evidence(np.arange(9.0), 9.0, np.eye(9), np.ones(9))
    with pytest.raises(fs.InputError, match="videoagent needs decoded frames"):
        fs.select_frames(bare, budget=6, method="videoagent", model=agent(3), lookup=make_lookup(9))
