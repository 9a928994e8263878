"""sift as a whole: equal to the reference implementation, its invariants on any input, and each of its rules."""

from dataclasses import asdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.sift import SiftConfig
from helpers.examples import examples
from helpers.selection_cases import Case, cases
from helpers.sift_reference import sift_reference

OPTIONS = {
    "width_s": [0.5, 2.0, 8.0],
    "frame_weight": [0.0, 0.5, 2.0],
    "event_weight": [0.0, 1.0],
    "duplicate": [0.0, 0.5, 0.75, 1.0],
    "lexical": [0.0, 0.3, 1.0],
    "beside": [0.0, 0.4, 1.0],
    "repeat_weight": [0.0, 0.4, 1.0],
    "chance": [0.0, 0.1],
    "low": [-1.0, 0.1],
    "high": [0.15, 0.3],
    "max_share": [0.0, 0.5, 0.75, 1.0],
    "floor": [0.0, 0.2, 0.9],
    "carry": [False, True],
    "stop": [False, True],
}


@st.composite
def sift_cases(draw, max_frames=24):
    """A case with options of sift, and the shared words of each event."""
    case = draw(cases(max_frames=max_frames))
    case.options = {name: draw(st.sampled_from(values)) for name, values in OPTIONS.items() if draw(st.booleans())}
    lexical = [draw(st.sampled_from([0.0, 0.25, 0.75])) for _ in case.events]
    return case, lexical


def select(case: Case, lexical: list[float]) -> fs.Selection:
    evidence = case.evidence(lexical_scores=lexical)
    return fs.select_frames(evidence, budget=case.budget, method="sift", **case.options)


@settings(max_examples=examples(300), deadline=None)
@given(sift_cases(max_frames=40))
def test_matches_the_reference(drawn):
    case, lexical = drawn
    selection = select(case, lexical)
    roles, shown = sift_reference(case, lexical, {**asdict(SiftConfig()), **case.options})
    assert {slot.index: slot.role for slot in selection.slots} == roles
    texts = {slot.index: slot.event.text for slot in selection.slots if slot.event}
    assert texts == {index: f"event {event}" for index, event in shown.items()}
    assert len(selection.trace["ground"]["events"]) == len(case.events)


@settings(max_examples=examples(100), deadline=None)
@given(cases(max_frames=40), st.floats(0.0, 0.95))
def test_texts_that_are_all_alike_give_the_same_selection(case, common):
    """Some encoders give any two texts a high cosine: c becomes common + (1 − common)·c."""
    case.options = {}
    evidence = case.evidence()
    alike = case.evidence(event_scores=common + (1 - common) * evidence.event_relevance)
    first, second = (fs.select_frames(e, budget=case.budget, method="sift") for e in (evidence, alike))
    # Rounding may move a stand-out across a step of the quota; that is no property of the method.
    if first.trace["quotas"] == second.trace["quotas"]:
        assert [slot.role for slot in first.slots] == [slot.role for slot in second.slots]


def spoken(event_scores, budget=4, **options):
    """A selection among 100 frames, the one at 92 s the most relevant, with an event every 10 s."""
    events = [fs.Event(10.0 * k, 10.0 * k + 5, f"event {k}") for k in range(len(event_scores))]
    scores = {"scores": -np.abs(np.arange(100.0) - 92), "event_scores": event_scores}
    evidence = fs.Evidence(np.arange(100.0), 100.0, np.eye(100), np.ones(100), events, **scores)
    return fs.select_frames(evidence, budget=budget, method="sift", **options)


def texts(selection):
    return [slot.event.text for slot in selection.slots if slot.event]


def test_unrelated_words_get_no_slot_of_their_own():
    selection = spoken([0.9, 0.27, 0.05, 0.0, 0.0, 0.0], budget=8, beside=0.0, carry=False)
    assert texts(selection) == ["event 0"]
    outcomes = [row["outcome"] for row in selection.trace["ground"]["events"]]
    assert outcomes == ["anchored"] + ["does not stand out"] * 5


def test_words_a_quarter_as_far_are_shown_beside_a_picture():
    scores = [0.9, *[0.0] * 8, 0.27]  # the last event is at 90 s, and the most relevant frame at 92 s
    selection = spoken(scores, budget=8, beside=0.0)
    roles = {slot.event.text: slot.role for slot in selection.slots if slot.event}
    assert roles == {"event 0": "ground", "event 9": "visual"}


def test_stopping_ends_where_nothing_else_stands_out():
    selection = spoken([0.9, 0.8, 0.1, 0.05, 0.0, 0.0], budget=32, stop=True)
    assert texts(selection) == ["event 0", "event 1"] and len(selection) == 3
    assert selection.trace["stopped"] == "Stopped at 3 frames: no other text stands out."
    few = spoken([0.9, 0.8, 0.1, 0.05, 0.0, 0.0], budget=2, stop=True)
    assert few.trace["stopped"] == "Stopped at 2 frames, the most."


def test_stopping_without_any_match_covers_the_video():
    evidence = fs.Evidence(np.arange(100.0), 100.0, np.eye(100), np.ones(100), scores=np.zeros(100))
    selection = fs.select_frames(evidence, budget=32, method="sift", stop=True)
    assert selection.times_s[0] == 0 and selection.times_s[-1] == 99
    assert selection.trace["stopped"] == "Nothing stands out: 4 frames spread over the video."


def test_question_words_reach_the_selector_through_an_index():
    index = fs.VideoIndex(fs.VideoInfo("a.mp4", 50.0), np.arange(50.0), np.eye(50), "made-up")
    events = [fs.Event(10.0 * k, 10.0 * k + 5, text) for k, text in enumerate(["a cat", "the harbour", "a dog"])]
    given = {"queries": np.ones((1, 50)), "events": events, "event_features": np.ones((3, 50)), "budget": 4}
    selection = fs.select_many(index, ["Where is the harbour?"], **given, method="sift", low=0.0)[0]
    rows = selection.trace["ground"]["events"]
    assert [row["shared_words"] > 0 for row in rows] == [False, True, False]
    assert texts(selection) == ["the harbour"]
