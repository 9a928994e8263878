"""Validation of the records, and JSON serialisation of a Selection."""

import copy

import numpy as np
import pytest

import framesift as fs
from framesift._utils.text import clock, rounded_clock
from framesift.types import VisualDemand


def evidence(**changes):
    given = {
        "times_s": [0.0, 1.0, 2.0],
        "duration_s": 3.0,
        "frames": np.eye(3),
        "query": [1.0, 1.0, 0.0],
        "events": [fs.Event(0.0, 1.0, "hello")],
        "event_features": [[1.0, 0.0, 0.0]],
        "visual_demand": 0.5,
    }
    return fs.Evidence(**(given | changes))


def test_evidence_without_scores_has_a_repr():
    assert repr(fs.Evidence(np.arange(9.0), 9.0)) == "Evidence(9 frames without scores, 0 events, 9.0 s)"


def test_given_scores_replace_cosines():
    record = evidence(scores=[3.0, 1.0, 2.0], event_scores=[9.0], event_features=None)
    assert record.relevance.tolist() == [3.0, 1.0, 2.0]
    assert record.event_relevance.tolist() == [9.0]


INVALID_EVIDENCE = [
    ({"times_s": [0.0, 1.0]}, r"times_s has shape \(2,\) for 3 frames"),
    ({"times_s": [0.0, 2.0, 1.0]}, r"times_s\[2\] = 1.0 is not after 2.0"),
    ({"times_s": [0.0, 1.0, 1.0]}, "expected ascending times"),
    ({"times_s": [-1.0, 1.0, 2.0]}, r"times_s\[0\] = -1.0 is outside the video"),
    ({"times_s": [0.0, 1.0, 9.0]}, r"times_s\[2\] = 9.0 is outside the video; expected 0 to 3.0"),
    ({"times_s": [0.0, np.nan, 2.0]}, r"times_s\[1\] is not finite"),
    ({"times_s": ["a", "b", "c"]}, "can't be read as numbers"),
    ({"duration_s": 0.0}, "duration_s is 0.0; expected a positive number"),
    ({"duration_s": float("inf")}, "expected a positive number of seconds"),
    ({"times_s": [], "frames": np.zeros((0, 3))}, "there is no candidate frame"),
    ({"query": [1.0, 1.0]}, "query has 2 dimensions; the frames have 3"),
    ({"query": np.eye(3)}, r"query has shape \(1, 3, 3\); expected \(rows, dimensions\)"),
    ({"query": [0.0, 0.0, 0.0]}, r"query\[0\] is all zeros"),
    ({"visual_demand": 1.2}, "visual_demand is 1.2; expected a number from 0"),
    ({"visual_demand": float("nan")}, "visual_demand is nan"),
    ({"event_features": None}, "1 events have no event_features"),
    ({"event_features": np.eye(3)}, "event_features has 3 rows for 1 events"),
    ({"event_features": [[0.0, 0.0, 0.0]]}, r"event_features\[0\] is all zeros"),
    ({"scores": [1.0]}, r"scores has shape \(1,\); expected \(3,\)"),
    ({"scores": [1.0, np.inf, 0.0]}, r"scores\[1\] is not finite"),
]


def test_invalid_evidence_is_rejected():
    for changes, message in INVALID_EVIDENCE:
        with pytest.raises(fs.InputError, match=message):
            evidence(**changes)


def test_small_overrun_of_the_last_frame_is_clipped():
    assert evidence(times_s=[0.0, 1.0, 2.04], duration_s=2.0).times_s.tolist() == [0.0, 1.0, 2.0]


def test_events_are_clipped_to_the_video():
    events = [
        fs.Event(2.5, 9.0, "past the end"),
        fs.Event(1.0, 1.0, "no length"),
        fs.Event(-2.0, 0.5, "before the start"),
        fs.Event(5.0, 6.0, "outside"),
        fs.Event(0.0, 3.0, ""),
    ]
    record = evidence(events=events, event_features=np.ones((5, 3)))
    assert [(e.start_s, e.end_s) for e in record.events] == [(2.5, 3.0), (1.0, 1.0), (0.0, 0.5), (0.0, 3.0)]
    assert record.events_outside == 1
    assert record.event_positions == (0, 1, 2, 4)
    assert len(record.event_features) == len(record.event_relevance) == 4


def test_evidence_does_not_modify_its_input():
    frames, times = np.eye(3) * 2, np.array([0.0, 1.0, 3.5])
    evidence(frames=frames, times_s=times)
    assert frames[0, 0] == 2.0 and times[2] == 3.5
    frames[0, 0] = 3.0


def test_option_letters_and_empty_options_are_removed():
    for options, valid in (
        (["A. a dog", "B. a cat"], ("a dog", "a cat")),
        (["(A) a dog", "(B) a cat", "(C) N/A"], ("a dog", "a cat")),
        (["a dog", "", "N/A", " a cat "], ("a dog", "a cat")),
        (["U.S. Navy", "B. Goode"], ("U.S. Navy", "B. Goode")),
        (["A man", "B flat"], ("A man", "B flat")),
        ([], ()),
    ):
        assert fs.Question("What is it?", options).valid_options == valid


def test_query_text_is_the_stem_and_all_valid_options():
    assert fs.Question(" What is it? ", ["A. a dog", "B. a cat", "N/A"]).query_text == "What is it? a dog a cat"


def selection():
    event = fs.Event(0.1, 2.0 / 3, 'the "last" </script> …', "speech")
    slots = (fs.Slot(7, 7.0 + 1e-9, "refined", 0.1 + 0.2), fs.Slot(2, 2.0, "ground", 1 / 3, event))
    return fs.Selection(slots, "gcr", 2, {"note": "ünï", "rows": [{"x": 1e-17, "y": None, "z": True}]})


def test_selection_json_round_trip_is_lossless():
    record = selection()
    assert fs.Selection.from_json(record.to_json()) == record
    assert fs.Selection.from_dict(record.to_dict()) == record


def test_invalid_selection_json_is_rejected():
    head = '{"schema": "framesift.selection/1"'
    for text, message in (
        ("{", "not JSON"),
        ("[]", "this is not a selection"),
        ('{"schema": "other"}', "schema is 'other'"),
        (head + "}", "slots is None; expected a list"),
        (head + ', "method": "m", "budget": 1, "trace": {}, "slots": [{"x": 1}]}', r"slots\[0\].index is missing"),
    ):
        with pytest.raises(fs.InputError, match=message):
            fs.Selection.from_json(text)


def test_selection_prints_its_method_and_roles():
    assert str(selection()) == "Selection(gcr: 2 frames for a budget of 2; 1 ground, 1 refined)"


def test_slot_with_unknown_role_is_rejected():
    with pytest.raises(fs.InputError, match="role is 'star'; expected one of ground, visual, context, refined"):
        fs.Slot(0, 0.0, "star", 0.0)


def test_clock_formats_hours_minutes_seconds():
    shown = {0: "0:00:00.000", 201.48: "0:03:21.480", 3599.9996: "1:00:00.000", 86400.5: "24:00:00.500"}
    assert {time_s: clock(time_s) for time_s in shown} == shown
    assert clock(-0.5) == "-0:00:00.500"


def test_rounded_clock_shows_tenths_where_there_are_any():
    shown = {0: "0:00:00", 61.856: "0:01:01.9", 74.04: "0:01:14", 3599.96: "1:00:00", -0.5: "-0:00:00.5"}
    assert {time_s: rounded_clock(time_s) for time_s in shown} == shown


def test_visual_demand_can_be_copied():
    demand = copy.deepcopy(VisualDemand(0.8, "visual", ["visual: colour"]))
    assert demand == 0.8 and demand.kind == "visual" and demand.cues == ("visual: colour",)
