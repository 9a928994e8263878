"""Text and VSI-lite against reference implementations."""

import numpy as np
import pytest

import framesift as fs
from helpers.curves import KINDS, LONG, SMALL_CASES, curve, curve_evidence, select_indices
from helpers.gcr_reference import first_best, min_max
from helpers.subtitle_scores import reference_subtitle_scores


def candidates(times, event):
    inside = [i for i, t in enumerate(times) if event.start_s <= t <= event.end_s]
    middle = (event.start_s + event.end_s) / 2
    return inside or [min(range(len(times)), key=lambda i: abs(times[i] - middle))]


def reference_text(evidence, budget):
    """Frame → event, None for the frames that fill the budget."""
    times, scores = evidence.times_s.tolist(), evidence.relevance.tolist()
    size = min(budget, len(times))
    relevance = evidence.event_relevance.tolist()
    pending = sorted(range(len(relevance)), key=lambda e: (-relevance[e], evidence.events[e].start_s))
    event_of = {}
    while pending and len(event_of) < size:
        next_round = []
        for e in pending:
            free = [i for i in candidates(times, evidence.events[e]) if i not in event_of]
            if len(event_of) == size:
                break
            if free:
                event_of[first_best(free, lambda i: scores[i])] = evidence.events[e]
                next_round.append(e)
        pending = next_round
    for i in sorted(range(len(times)), key=lambda i: (-scores[i], i)):
        if len(event_of) < size and i not in event_of:
            event_of[i] = None
    return event_of


def reference_vsi_lite(evidence, budget, weight=0.4):
    visual, subtitles = min_max(evidence.relevance.tolist()), min_max(reference_subtitle_scores(evidence))
    fused = [(1 - weight) * a + weight * b for a, b in zip(visual, subtitles, strict=True)]
    return sorted(sorted(range(len(fused)), key=lambda i: (-round(fused[i], 11), i))[:budget])


def test_text_matches_the_reference_on_small_cases():
    for kind, count, budget in SMALL_CASES:
        evidence = curve_evidence(kind, count)
        expected = reference_text(evidence, budget)
        selection = fs.select_frames(evidence, budget=budget, method="text")
        assert {slot.index: slot.event for slot in selection.slots} == expected, (kind, count, budget)


def test_text_gives_frames_with_an_event_the_role_ground():
    slots = fs.select_frames(curve_evidence("random", 37), budget=32, method="text").slots
    assert {slot.role for slot in slots} == {"ground", "visual"}
    assert all((slot.role == "ground") == (slot.event is not None) for slot in slots)


@pytest.mark.parametrize("kind", KINDS)
def test_text_matches_the_reference_on_a_long_video(kind):
    evidence = curve_evidence(kind, LONG)
    assert select_indices(evidence, 32, "text") == sorted(reference_text(evidence, 32))


def test_text_without_events_is_topk():
    evidence = fs.Evidence(range(20), 20.0, np.ones((20, 2)), [1.0, 0.0], scores=curve("random", 20))
    assert select_indices(evidence, 5, "text") == select_indices(evidence, 5, "topk")


def test_vsi_lite_matches_the_reference_on_small_cases():
    for kind, count, budget in SMALL_CASES:
        evidence = curve_evidence(kind, count)
        expected = reference_vsi_lite(evidence, budget)
        assert select_indices(evidence, budget, "vsi-lite") == expected, (kind, count, budget)


@pytest.mark.parametrize("kind", KINDS)
def test_vsi_lite_matches_the_reference_on_a_long_video(kind):
    evidence = curve_evidence(kind, LONG)
    assert select_indices(evidence, 32, "vsi-lite") == reference_vsi_lite(evidence, 32)


def test_vsi_lite_frames_carry_the_event_they_were_selected_for():
    line = fs.Event(10.0, 12.0, "the line")
    evidence = fs.Evidence(range(40), 40.0, np.eye(40), np.ones(40), [line], event_scores=[0.9])
    slots = fs.select_frames(evidence, budget=5, method="vsi-lite").slots
    assert [slot.index for slot in slots] == [9, 10, 11, 12, 13]
    assert all(slot.event == line and slot.role == "ground" for slot in slots)


def test_vsi_lite_ignores_events_of_low_relevance():
    line = fs.Event(10.0, 12.0, "the line")
    evidence = fs.Evidence(range(40), 40.0, np.eye(40), np.ones(40), [line], event_scores=[0.2])
    slots = fs.select_frames(evidence, budget=5, method="vsi-lite").slots
    assert [slot.index for slot in slots] == [0, 1, 2, 3, 4]
    assert all(slot.event is None and slot.role == "visual" for slot in slots)
