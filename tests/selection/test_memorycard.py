"""MemoryCard: sessions from any reply, the key frames of the video, and what a question draws from them."""

import json
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.looking.memorycard import (
    Session,
    draw_cards,
    even_sessions,
    read_sessions,
    repair_sessions,
)
from helpers.detector_scenes import scene, scene_evidence
from helpers.examples import examples
from helpers.models import RuleModel


def reply_of(*sessions):
    return json.dumps(
        {"sessions": [dict(zip(("start", "end", "topic", "keyframes"), s, strict=False)) for s in sessions]}
    )


def select(evidence, budget, model, **options):
    lookup = scene(len(evidence))[1]
    return fs.select_frames(evidence, budget=budget, method="memorycard", model=model, lookup=lookup, **options)


SMALL = {"min_sessions": 2, "max_sessions": 4, "pool": 8}


def test_sessions_of_a_reply_are_read():
    reply = reply_of((0, 10, "a", [1, "2", None, "x"]), (10, 99, "b"), (30, 20, "reversed"), (20, "end", "no number"))
    assert read_sessions(f"```json\n{reply}\n```") == [
        Session(0.0, 10.0, "a", key_times_s=(1.0, 2.0)),
        Session(10.0, 99.0, "b"),
    ]
    assert read_sessions("The video is about cars.") == []
    reply = reply_of((0, 10, "a {", [1]), (10, 20, "b", [12]), (20, 30, "c", [22]))
    assert [s.topic for s in read_sessions(reply[: reply.index('"c"')])] == ["a {", "b"]  # of one that was cut off


def test_sessions_are_split_joined_and_kept_from_overlapping():
    named = [Session(20, 40, "b"), Session(0, 30, "a", key_times_s=(5.0, 25.0)), Session(40, 40.2, "short")]
    parts = repair_sessions(named, 60.0, fewest=3, most=4, frames=6)
    assert [(s.start_s, s.end_s, s.topic) for s in parts] == [(0, 15, "a"), (15, 30, "a"), (30, 60, "b")]
    many = [Session(k, k + 1, f"{k}", f"seen {k}") for k in range(6)]
    joined = repair_sessions(many, 6.0, fewest=2, most=3, frames=6)
    assert [(s.topic, s.summary) for s in joined] == [
        ("0", "seen 0 seen 1"),
        ("2", "seen 2 seen 3"),
        ("4", "seen 4 seen 5"),
    ]


def test_key_frames_are_added_where_gaps_are_and_removed_where_dense():
    added = repair_sessions([Session(0, 40, key_times_s=(10.0, 20.0, 30.0))], 40.0, fewest=1, most=1, frames=4)
    assert added[0].key_times_s == (5.0, 10.0, 20.0, 30.0)
    dense = repair_sessions([Session(0, 40, key_times_s=(10.0, 20.0, 28.0, 36.0))], 40.0, fewest=1, most=1, frames=3)
    assert dense[0].key_times_s == (10.0, 28.0, 36.0)
    clumped = repair_sessions([Session(0, 40, key_times_s=(1.0, 2.0, 3.0))], 40.0, fewest=1, most=1, frames=3)
    assert clumped[0].key_times_s == (10.0, 20.0, 30.0)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.tuples(st.floats(-9, 99), st.floats(-9, 99), st.lists(st.floats(-9, 99), max_size=20)), max_size=40),
    st.floats(0.01, 90),
)
def test_repaired_sessions_have_the_wanted_counts(rows, duration_s):
    sessions = read_sessions(json.dumps({"sessions": [{"start": a, "end": b, "keyframes": t} for a, b, t in rows]}))
    parts = repair_sessions(sessions, duration_s, fewest=4, most=6, frames=20)
    if parts:
        assert 4 <= len(parts) <= 6
        assert all(a.end_s <= b.start_s for a, b in pairwise(parts))
        assert all(1 <= len(part.key_times_s) <= 16 for part in parts)
        assert sum(len(part.key_times_s) for part in parts) <= 20
        if duration_s > 1:
            assert sum(len(part.key_times_s) for part in parts) == 20


def test_a_reply_without_sessions_gives_equal_ones():
    selection = select(scene_evidence(60), 5, RuleModel(), **SMALL)
    rows = selection.trace["sessions"]
    assert [(row["start_s"], row["end_s"], row["frames"]) for row in rows] == [
        (0, 15, 2), (15, 30, 2), (30, 45, 2), (45, 60, 2)
    ]  # fmt: skip
    assert "equal length" in selection.trace["note"]
    assert [len(s.key_times_s) for s in even_sessions(10.0, 3, 8)] == [3, 3, 2]


def test_the_model_sees_frames_with_times_and_the_text():
    model = RuleModel(sessions=reply_of((0, 30, "cars", [5, 25]), (30, 60, "doors", [35, 55])))
    selection = select(scene_evidence(60), 5, model, frames=6, **SMALL)
    (parts,) = model.messages
    assert [type(part) for part in parts] == [str, np.ndarray] * 6 + [str]
    assert parts[0] == "[0:00:05.000]"
    assert "[9.0-13.0] line 9" in parts[-1] and "video of 60.0 seconds" in parts[-1]
    assert [row["topic"] for row in selection.trace["sessions"]] == ["cars", "doors"]
    assert "note" not in selection.trace


def test_frames_are_drawn_from_the_cards():
    model = RuleModel(sessions=reply_of((0, 30, "cars", [5, 12, 18, 25]), (30, 60, "doors", [35, 42, 48, 55])))
    selection = select(scene_evidence(60), 5, model, **SMALL)
    assert set(selection.indices) <= {5, 12, 18, 25, 35, 42, 48, 55}
    assert selection.trace["cards"] == 8


def test_cards_are_drawn_by_relevance_plus_noise():
    relevance, cards = np.linspace(0, 1, 40), [3, 9, 21, 30, 38]
    assert draw_cards(relevance, cards, 2, 0.001, seed=0) == [38, 30]
    draws = {tuple(draw_cards(relevance, cards, 2, 0.8, seed)) for seed in range(20)}
    assert len(draws) > 5
