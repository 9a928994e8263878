"""The sentences that explain a selection agree with its trace."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import framesift as fs
from framesift.rendering.reasons import explain
from framesift.types import Basis
from helpers.examples import examples
from helpers.selection_cases import cases
from helpers.showcase import make_selection


@pytest.fixture(scope="module")
def selection(video):
    """A selection with every role."""
    for seed in range(40):
        selection = make_selection(video, budget=8, seed=seed)
        if {slot.role for slot in selection.slots} == {"ground", "visual", "context", "refined"}:
            return selection
    pytest.fail("no seed gave every role")


def first_of(selection, role):
    return next((s, r) for s, r in zip(selection.slots, explain(selection), strict=True) if s.role == role)


def test_ground_names_the_event_and_its_rank(selection):
    slot, reason = first_of(selection, "ground")
    rows = sorted(selection.trace["ground"]["events"], key=lambda row: -row["score"])
    place = [row["index"] for row in rows].index(slot.index)
    assert slot.event.text in reason.why[1]
    assert f"{place + 1}{'st' if place == 0 else 'nd'} of 4 for" in reason.why[0]


def test_visual_names_the_best_omitted_frame(selection):
    _, reason = first_of(selection, "visual")
    left = set(range(len(selection.basis.times_s))) - set(selection.indices)
    best = max(left, key=lambda k: selection.basis.relevance[k])
    assert reason.alternatives[0].time_s == selection.basis.times_s[best]


def test_refined_names_the_frame_it_replaced(selection):
    slot, reason = first_of(selection, "refined")
    swap = next(swap for swap in selection.trace["refine"]["swaps"] if swap["in"] == slot.index)
    assert reason.alternatives[0].time_s == selection.basis.times_s[swap["out"]]
    assert f"{swap['margin']:.2f} more" in reason.why[1]


def test_context_states_its_similarity_to_earlier_frames(selection):
    slot, reason = first_of(selection, "context")
    row = next(row for row in selection.trace["cover"]["context"] if row["index"] == slot.index)
    assert f"{row['redundancy']:.2f}" in reason.why[0]
    assert "Refine kept it" in reason.why[1]


CAUSES = {
    "sift": {"ground": "Chosen for its words:", "visual": "A visual match:", "context": "Context:"},
    "gcr": {
        "ground": "Its event (",
        "visual": "A visual match:",
        "context": ("Context, picked", "There is one candidate", "There are", "Cover is left out"),
        "refined": "It represents the omitted segment",
    },
}


@settings(max_examples=examples(80))
@given(cases(max_frames=40), st.sampled_from(sorted(CAUSES)), st.sampled_from([0.25, 0.75]))
def test_role_and_first_sentence_give_the_same_cause(case, method, max_share):
    options = case.options if method == "gcr" else {"max_share": max_share}
    selection = fs.select_frames(case.evidence(), budget=case.budget, method=method, **options)
    for slot, reason in zip(selection.slots, explain(selection), strict=True):
        assert reason.why[0].startswith(CAUSES[method][slot.role]), (slot, reason)


@pytest.mark.parametrize("method", ["gcr", "uniform", "topk", "mmr"])
def test_every_slot_gets_sentences_and_none_is_called_omitted(video, method):
    for budget in (1, 2, 8, 40, 99):
        selection = make_selection(video, method=method, budget=budget)
        explained = explain(selection)
        assert all(reason.why and all(text.endswith(".") for text in reason.why) for reason in explained), budget
        others = [other for reason in explained for other in reason.alternatives if "omitted" in other.sentence]
        assert not {other.time_s for other in others} & set(selection.times_s), budget
        assert others or method not in ("gcr", "uniform") or budget >= 40, budget


def test_what_is_missing_is_stated(video):
    without_basis = replace(make_selection(video), basis=None)
    assert explain(without_basis)[0].why == (f"Selected by gcr as {without_basis.slots[0].role}.",)
    without_refine = explain(make_selection(video, events=[], gate=1.0))
    assert any("Refine did not run" in sentence for reason in without_refine for sentence in reason.why)


def test_without_cover_a_region_represents_its_segment_and_replaces_nothing(selection):
    basis, rng = selection.basis, np.random.default_rng(3)
    frames, query, words = (rng.standard_normal((count, 8)) for count in (len(basis.times_s), 1, len(basis.events)))
    evidence = fs.Evidence(basis.times_s, basis.duration_s, frames, query[0], events=basis.events, event_features=words)
    selection = fs.select_frames(evidence, budget=8, method="gcr", without="cover")
    _, region = first_of(selection, "refined")
    _, spread = first_of(selection, "context")
    assert "represents the omitted segment" in region.why[0] and "replaced" not in " ".join(region.why)
    assert "Cover is" in spread.why[0]


def test_text_far_from_its_frame_is_stated():
    slot = fs.Slot(0, 51.0, "ground", 0.1, fs.Event(62, 65, "Run!"))
    basis = Basis(np.array([51.0]), np.array([0.1]), 100.0)
    reason = explain(fs.Selection((slot,), "text", 1, basis=basis))[0]
    assert reason.why[-1] == (
        "The text at 0:01:02–0:01:05 has no frame; it is shown on the frame at 0:00:51, 11 s away."
    )
