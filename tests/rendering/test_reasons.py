"""The sentences that explain a selection agree with its trace."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import framesift as fs
from framesift.rendering.reasons import explain
from framesift.types import Basis
from framesift.types.selection import Chance
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


def test_ground_quotes_the_text_and_states_its_rank_apart(selection):
    slot, reason = first_of(selection, "ground")
    rows = sorted(selection.trace["ground"]["events"], key=lambda row: -row["score"])
    place = [row["index"] for row in rows].index(slot.index)
    assert reason.why == (f"Shown because someone says: “{slot.event.text}”",)
    assert f"ranks {place + 1}{'st' if place == 0 else 'nd'} of 4 with" in reason.details[0]
    assert reason.strength == rows[place]["score"]


def test_text_of_the_screen_is_not_called_said():
    slot = fs.Slot(0, 1.0, "ground", 0.1, fs.Event(0, 2, "EXIT", source="screen"))
    basis = Basis(np.array([1.0]), np.array([0.1]), 2.0)
    assert explain(fs.Selection((slot,), "text", 1, basis=basis))[0].why == ("Shown because the screen shows: “EXIT”",)


def test_visual_names_the_best_omitted_frame(selection):
    slot, reason = first_of(selection, "visual")
    rank = 1 + int((selection.basis.relevance > slot.relevance).sum())
    assert reason.why[0].startswith("Best match") if rank == 1 else f"{rank}" in reason.why[0]
    left = set(range(len(selection.basis.times_s))) - set(selection.indices)
    best = max(left, key=lambda k: selection.basis.relevance[k])
    assert reason.alternatives[0].time_s == selection.basis.times_s[best]


def test_refined_names_the_frame_it_replaced(selection):
    slot, reason = first_of(selection, "refined")
    swap = next(swap for swap in selection.trace["refine"]["swaps"] if swap["in"] == slot.index)
    assert reason.alternatives[0].time_s == selection.basis.times_s[swap["out"]]
    assert f"{swap['margin']:.2f} more" in reason.details[1]


def test_context_states_its_similarity_to_earlier_frames(selection):
    slot, reason = first_of(selection, "context")
    row = next(row for row in selection.trace["cover"]["context"] if row["index"] == slot.index)
    assert f"{row['redundancy']:.2f}" in reason.details[0]
    assert "Refine kept it" in reason.details[1]


def test_picture_below_chance_is_called_no_closer_than_chance():
    slot = fs.Slot(0, 1.0, "visual", 0.1)
    basis = Basis(np.array([1.0]), np.array([0.1]), 2.0, chance=Chance(0.0, 0.2, stands_out=False))
    basis = replace(basis, times_s=np.array([1.0, 1.5]), relevance=np.array([0.1, 0.05]))
    assert explain(fs.Selection((slot,), "topk", 1, basis=basis))[0].why[0] == (
        "The closest of 2 pictures, though no closer than chance."
    )


def test_context_covers_the_time_between_its_neighbours():
    times_s = np.arange(0.5, 300)
    evidence = fs.Evidence(times_s, 300.0, scores=np.zeros(300))
    selection = fs.select_frames(evidence, budget=3, method="uniform")
    assert [reason.why[0] for reason in explain(selection)] == [
        "Covers 0:00–2:30, which no other frame shows.",
        "Covers 0:50–4:10, which no other frame shows.",
        "Covers 2:30–5:00, which no other frame shows.",
    ]


CAUSES = {
    "ground": "Shown because someone says:",
    "visual": ("Best match", "Looks like", "Covers"),
    "context": "Covers",
    "refined": "Shows the part at",
}


@settings(max_examples=examples(80))
@given(cases(max_frames=40), st.sampled_from(["gcr", "sift"]), st.sampled_from([0.25, 0.75]))
def test_role_and_first_sentence_give_the_same_cause(case, method, max_share):
    options = case.options if method == "gcr" else {"max_share": max_share}
    selection = fs.select_frames(case.evidence(), budget=case.budget, method=method, **options)
    for slot, reason in zip(selection.slots, explain(selection), strict=True):
        assert reason.why[0].startswith(CAUSES[slot.role]), (slot, reason)
        assert 0.0 <= reason.strength <= 1.0


@pytest.mark.parametrize("method", ["gcr", "uniform", "topk", "mmr"])
def test_every_slot_gets_sentences_and_none_is_called_omitted(video, method):
    for budget in (1, 2, 8, 40, 99):
        selection = make_selection(video, method=method, budget=budget)
        explained = explain(selection)
        assert all(reason.why and reason.details for reason in explained), budget
        others = [other for reason in explained for other in reason.alternatives if "omitted" in other.sentence]
        assert not {other.time_s for other in others} & set(selection.times_s), budget
        assert others or method not in ("gcr", "uniform") or budget >= 40, budget


def test_what_is_missing_is_stated(video):
    without_basis = replace(make_selection(video), basis=None)
    assert explain(without_basis)[0].why == (f"Selected by gcr as {without_basis.slots[0].role}.",)
    without_refine = explain(make_selection(video, events=[], gate=1.0))
    assert any("Refine did not run" in sentence for reason in without_refine for sentence in reason.details)


def test_without_cover_a_region_represents_its_segment_and_replaces_nothing(selection):
    basis, rng = selection.basis, np.random.default_rng(3)
    frames, query, words = (rng.standard_normal((count, 8)) for count in (len(basis.times_s), 1, len(basis.events)))
    evidence = fs.Evidence(basis.times_s, basis.duration_s, frames, query[0], events=basis.events, event_features=words)
    selection = fs.select_frames(evidence, budget=8, method="gcr", without="cover")
    _, region = first_of(selection, "refined")
    _, spread = first_of(selection, "context")
    assert "represents the segment" in region.details[0] and "replaced" not in " ".join(region.details)
    assert "Cover is" in spread.details[0]


def test_text_far_from_its_frame_is_stated():
    slot = fs.Slot(0, 51.0, "ground", 0.1, fs.Event(62, 65, "Run!"))
    basis = Basis(np.array([51.0]), np.array([0.1]), 100.0)
    reason = explain(fs.Selection((slot,), "text", 1, basis=basis))[0]
    assert reason.why[-1] == (
        "The text at 0:01:02–0:01:05 has no frame; it is shown on the frame at 0:00:51, 11 s away."
    )
