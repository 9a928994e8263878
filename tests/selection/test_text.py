"""Text and VSI-lite: what the subtitles alone, and with relevance, choose."""

import numpy as np

import framesift as fs
from helpers.curves import LONG, curve, long, picked, small, video
from helpers.gcr_reference import first_best, min_max
from helpers.spoken_scores import literal_said


def candidates(times, event):
    inside = [i for i, t in enumerate(times) if event.start_s <= t <= event.end_s]
    middle = (event.start_s + event.end_s) / 2
    return inside or [min(range(len(times)), key=lambda i: abs(times[i] - middle))]


def literal_text(evidence, budget):
    """Frame → event, None for the frames that fill up."""
    times, scores = evidence.times_s.tolist(), evidence.relevance.tolist()
    size = min(budget, len(times))
    worth = evidence.event_relevance.tolist()
    waiting = sorted(range(len(worth)), key=lambda e: (-worth[e], evidence.events[e].start_s))
    carried = {}
    while waiting and len(carried) < size:
        still = []
        for e in waiting:
            free = [i for i in candidates(times, evidence.events[e]) if i not in carried]
            if len(carried) == size:
                break
            if free:
                carried[first_best(free, lambda i: scores[i])] = evidence.events[e]
                still.append(e)
        waiting = still
    for i in sorted(range(len(times)), key=lambda i: (-scores[i], i)):
        if len(carried) < size and i not in carried:
            carried[i] = None
    return carried


def literal_vsi_lite(evidence, budget, weight=0.4):
    seen, said = min_max(evidence.relevance.tolist()), min_max(literal_said(evidence))
    fused = [(1 - weight) * a + weight * b for a, b in zip(seen, said, strict=True)]
    return sorted(sorted(range(len(fused)), key=lambda i: (-round(fused[i], 11), i))[:budget])


@small
def test_text_as_described(kind, count, budget):
    evidence = video(kind, count)
    expected = literal_text(evidence, budget)
    selection = fs.select_frames(evidence, budget=budget, method="text")
    assert {slot.index: slot.event for slot in selection.slots} == expected
    assert all((slot.role == "ground") == (slot.event is not None) for slot in selection.slots)


@long
def test_text_on_a_long_video(kind):
    evidence = video(kind, LONG)
    assert picked(evidence, 32, "text") == sorted(literal_text(evidence, 32))


def test_text_without_events_is_topk():
    evidence = fs.Evidence(range(20), 20.0, np.ones((20, 2)), [1.0, 0.0], scores=curve("random", 20))
    assert picked(evidence, 5, "text") == picked(evidence, 5, "topk")


@small
def test_vsi_lite_as_described(kind, count, budget):
    evidence = video(kind, count)
    assert picked(evidence, budget, "vsi-lite") == literal_vsi_lite(evidence, budget)


@long
def test_vsi_lite_on_a_long_video(kind):
    evidence = video(kind, LONG)
    assert picked(evidence, 32, "vsi-lite") == literal_vsi_lite(evidence, 32)


def test_vsi_lite_frames_carry_the_line_they_were_chosen_for():
    line = fs.Event(10.0, 12.0, "the line")
    evidence = fs.Evidence(range(40), 40.0, np.eye(40), np.ones(40), [line], event_scores=[0.9])
    slots = fs.select_frames(evidence, budget=5, method="vsi-lite").slots
    assert [slot.index for slot in slots] == [9, 10, 11, 12, 13]
    assert all(slot.event == line and slot.role == "ground" for slot in slots)


def test_vsi_lite_drops_lines_that_fit_badly():
    line = fs.Event(10.0, 12.0, "the line")
    evidence = fs.Evidence(range(40), 40.0, np.eye(40), np.ones(40), [line], event_scores=[0.2])
    slots = fs.select_frames(evidence, budget=5, method="vsi-lite").slots
    assert [slot.index for slot in slots] == [0, 1, 2, 3, 4]
    assert all(slot.event is None and slot.role == "visual" for slot in slots)
