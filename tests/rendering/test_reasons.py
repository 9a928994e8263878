"""Why a frame was chosen, in sentences that agree with the trace."""

from dataclasses import replace

import numpy as np
import pytest

import framesift as fs
from framesift.rendering.reasons import reasons
from helpers.showcase import make_selection


@pytest.fixture(scope="module")
def selection(video):
    """One that has every role."""
    for seed in range(40):
        made = make_selection(video, budget=8, seed=seed)
        if {slot.role for slot in made.slots} == {"ground", "visual", "context", "refined"}:
            return made
    pytest.fail("no seed gave every role")


def _of(selection, role):
    return next((s, r) for s, r in zip(selection.slots, reasons(selection), strict=True) if s.role == role)


def test_ground_names_the_event_and_its_rank(selection):
    slot, reason = _of(selection, "ground")
    rows = sorted(selection.trace["ground"]["events"], key=lambda row: -row["score"])
    place = [row["index"] for row in rows].index(slot.index)
    assert slot.event.text in reason.why[0]
    assert f"{place + 1}{'st' if place == 0 else 'nd'} of 4 events" in reason.why[0]


def test_visual_tells_the_best_frame_left_out(selection):
    _, reason = _of(selection, "visual")
    left = set(range(len(selection.basis.times_s))) - set(selection.indices)
    best = max(left, key=lambda k: selection.basis.relevance[k])
    assert reason.nearly[0].time_s == selection.basis.times_s[best]


def test_refined_tells_what_it_replaced(selection):
    slot, reason = _of(selection, "refined")
    swap = next(swap for swap in selection.trace["refine"]["swaps"] if swap["in"] == slot.index)
    assert reason.nearly[0].time_s == selection.basis.times_s[swap["out"]]
    assert f"{swap['margin']:.2f} more" in reason.why[1]


def test_context_tells_what_it_is_unlike(selection):
    slot, reason = _of(selection, "context")
    row = next(row for row in selection.trace["cover"]["context"] if row["index"] == slot.index)
    assert f"{row['redundancy']:.2f}" in reason.why[0]
    assert "Refine valued it" in reason.why[1]


@pytest.mark.parametrize("budget", [1, 2, 8, 40, 99])
@pytest.mark.parametrize("method", ["gcr", "uniform", "topk", "mmr"])
def test_every_slot_of_every_method_gets_a_sentence(video, method, budget):
    told = reasons(make_selection(video, method=method, budget=budget))
    assert all(reason.why and all(text.endswith(".") for text in reason.why) for reason in told)


def test_nothing_that_was_chosen_is_called_left_out(video):
    for method in ("gcr", "uniform"):
        selection = make_selection(video, method=method)
        chosen = set(selection.times_s)
        told = reasons(selection)
        assert not [
            near for reason in told for near in reason.nearly if near.time_s in chosen and "left out" in near.sentence
        ]


def test_selection_without_a_basis_still_says_its_role(video):
    bare = replace(make_selection(video), basis=None)
    assert reasons(bare)[0].why == (f"Chosen by gcr as {bare.slots[0].role}.",)


def test_video_without_events_or_refine(video):
    made = make_selection(video, events=[], gate=1.0)
    assert isinstance(made, fs.Selection)
    assert "Refine did not run" in " ".join(" ".join(reason.why) for reason in reasons(made))


def test_without_cover_a_region_speaks_for_its_stretch_and_replaces_nothing(selection):
    case = selection.basis
    rng = np.random.default_rng(3)
    evidence = fs.Evidence(
        times_s=case.times_s,
        duration_s=case.duration_s,
        frames=rng.standard_normal((len(case.times_s), 8)),
        query=rng.standard_normal(8),
        events=case.events,
        event_features=rng.standard_normal((len(case.events), 8)),
    )
    made = fs.select_frames(evidence, budget=8, without="cover")
    _, region = _of(made, "refined")
    _, spread = _of(made, "context")
    assert "speaks for the stretch" in region.why[0] and "replaced" not in " ".join(region.why)
    assert "Cover is left out" in spread.why[0]
