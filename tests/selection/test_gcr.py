"""GCR as a whole: equal to the reference implementation on any input, and what its trace says."""

import numpy as np
import pytest
from hypothesis import given, settings

from framesift.selection.gcr.demand import visual_demand
from framesift.selection.gcr.method import GCRConfig
from helpers.examples import examples
from helpers.gcr_reference import Reference
from helpers.selection_cases import Case, assert_same, cases


@pytest.mark.parametrize("without", ["", "ground", "cover", "refine"])
@settings(max_examples=examples(450), deadline=None)
@given(c=cases(max_frames=60))
def test_matches_the_reference(without, c):
    c.options["without"] = without
    given = (c.times, c.duration, c.frames, c.query, c.events, c.event_vectors, c.demand, c.budget)
    expected = Reference(*given, **c.options)
    selection = c.select()
    assert {slot.index: slot.role for slot in selection.slots} == expected.roles
    anchors = {slot.index: slot.event.text for slot in selection.slots if slot.event}
    assert anchors == {index: f"event {event}" for index, event in expected.anchors.items()}
    swaps = selection.trace["refine"].get("swaps", [])
    assert [(swap["out"], swap["in"]) for swap in swaps] == [(out, into) for out, into, _ in expected.swaps]
    margins = [margin for *_, margin in expected.swaps]
    assert [swap["margin"] for swap in swaps] == pytest.approx(margins, abs=1e-9)


@settings(max_examples=examples(200), deadline=None)
@given(cases(max_frames=60))
def test_float32_and_float64_input_give_the_same_selection(case):
    assert_same(case.select(dtype=np.float32), case.select(dtype=np.float64))


def video(count=40, budget=8, **options) -> Case:
    rng = np.random.default_rng(7)
    frames = rng.standard_normal((count // 5, 16)).repeat(5, axis=0) + 0.1 * rng.standard_normal((count, 16))
    events = [(k * 4.0, k * 4.0 + 3.0) for k in range(count // 4)]
    vectors = rng.standard_normal((len(events), 16))
    times = [float(k) for k in range(count)]
    return Case(times, float(count), frames, frames[12], events, vectors, 0.5, budget, options)


def test_quotas_are_shares_rounded_half_up():
    quotas = {budget: GCRConfig().quotas(budget) for budget in (1, 8, 32, 64)}
    assert quotas == {1: (0, 0, 0), 8: (2, 1, 1), 32: (8, 4, 4), 64: (16, 8, 8)}
    assert GCRConfig(alpha_ground=0.29).quotas(50)[0] == 15  # 14.5, but for the binary fraction


def test_few_candidates_are_all_selected_with_a_note():
    selection = video(count=20, budget=50).select()
    assert selection.indices == list(range(20))
    assert "20 candidates for a budget of 50" in selection.trace["note"]
    assert {"ground", "visual", "context"} == {slot.role for slot in selection.slots}


def test_trace_lists_every_event():
    case = video()
    events = case.select().trace["ground"]["events"]
    assert [event["position"] for event in events] == list(range(len(case.events)))
    assert [event["outcome"] for event in events].count("anchored") == 2
    best = sorted(events, key=lambda event: -event["score"])[:2]
    assert all(event["outcome"] == "anchored" and event["index"] is not None for event in best)


def test_trace_lists_every_region():
    selection = video(gate=0.0).select()
    refine = selection.trace["refine"]
    taken = set(selection.indices) - {s["in"] for s in refine["swaps"]} | {s["out"] for s in refine["swaps"]}
    inside = {f for region in refine["regions"] for f in range(region["first"], region["last"] + 1)}
    assert inside == set(range(40)) - taken
    assert all(region["outcome"] for region in refine["regions"])
    for region in refine["regions"]:
        assert region["value"] == pytest.approx(sum(region["normalised"].values()) / 3)


def test_trace_lists_the_cues_of_the_demand():
    case = video()
    case.demand = visual_demand("What colour is the car?")
    ground = case.select().trace["ground"]
    assert ground["visual_demand"] == 0.8 and ground["demand_cues"] == ["visual: colour"]
    case.options["demand_visual"] = 0.6
    assert case.select().trace["ground"]["visual_demand"] == 0.6


def test_stages_that_are_left_out_are_in_the_trace():
    ground, cover, refine = (video(without=stage, gate=0.0).select() for stage in ("ground", "cover", "refine"))
    assert ground.trace["quotas"]["ground"] == 0 and ground.trace["options"]["without"] == "ground"
    assert "Cover is left out" in cover.trace["note"]
    assert all(region["outcome"] == "swapped in" for region in cover.trace["refine"]["regions"])
    assert refine.trace["refine"]["ran"] is False and refine.trace["refine"]["reason"] == "it is left out"
    closed = video(gate=1.0).select().trace["refine"]
    assert closed["ran"] is False and closed["gap_share"] < 1.0 and "gate" in closed["reason"]
