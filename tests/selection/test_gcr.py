"""GCR as a whole: equal to the reference implementation, and its invariants on any input."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.gcr.config import GCRConfig
from framesift.selection.gcr.demand import visual_demand
from framesift.selection.gcr.refine import Regions, evidence_values, omitted_regions, representative_frame
from framesift.selection.scores import Ranking
from framesift.selection.similarity_cache import SimilarityCache
from framesift.types.vectors import UnitRows
from helpers.examples import examples
from helpers.gcr_reference import Reference
from helpers.selection_cases import Case, assert_same, cases, vectors


def reference(case: Case) -> Reference:
    c = case
    return Reference(c.times, c.duration, c.frames, c.query, c.events, c.event_vectors, c.demand, c.budget, **c.options)


@pytest.mark.slow
@settings(max_examples=examples(600), deadline=None)
@given(cases())
def test_matches_the_reference(case):
    selection, expected = case.select(), reference(case)
    assert {slot.index: slot.role for slot in selection.slots} == expected.roles
    anchors = {slot.index: slot.event.text for slot in selection.slots if slot.event}
    assert anchors == {index: f"event {event}" for index, event in expected.anchors.items()}
    swaps = [(swap["out"], swap["in"]) for swap in selection.trace["refine"].get("swaps", [])]
    assert swaps == [(out, into) for out, into, _ in expected.swaps]
    margins = [swap["margin"] for swap in selection.trace["refine"].get("swaps", [])]
    assert margins == pytest.approx([margin for *_, margin in expected.swaps], abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(cases(max_frames=150))
def test_matches_the_reference_on_longer_videos(case):
    assert {slot.index: slot.role for slot in case.select().slots} == reference(case).roles


def test_matches_the_reference_on_rows_as_an_index_holds_them():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frames, lines, query = (vectors(rng, count, 16, "held") for count in (60, 15, 1))
        events = [(4.0 * k, 4.0 * k + 3.0) for k in range(15)]
        case = Case([float(k) for k in range(60)], 60.0, frames, query[0], events, lines, 0.5, 16, {"gate": 0.0})
        roles = {slot.index: slot.role for slot in case.select(dtype=np.float32).slots}
        assert roles == reference(case).roles, seed


@settings(max_examples=examples(300), deadline=None)
@given(cases(max_frames=60))
def test_selection_fills_the_budget_within_the_quotas(case):
    selection = case.select()
    times = selection.times_s
    assert len(set(selection.indices)) == len(selection) == min(case.budget, len(case.times))
    assert selection.indices == sorted(selection.indices) and times == sorted(times)
    k_ground, k_visual, k_refine = GCRConfig(**case.options).quotas(case.budget)
    roles = [slot.role for slot in selection.slots]
    assert roles.count("ground") <= k_ground and roles.count("visual") <= k_visual
    swaps = selection.trace["refine"].get("swaps", [])
    assert len(swaps) <= k_refine
    assert all(swap["margin"] > 0 for swap in swaps)
    assert not {swap["out"] for swap in swaps} & {swap["in"] for swap in swaps}
    assert all((slot.event is not None) == (slot.role == "ground") for slot in selection.slots)


@settings(max_examples=examples(200), deadline=None)
@given(cases(max_frames=60))
def test_anchors_are_never_swapped_out(case):
    with_refine = case.select()
    case.options["alpha_refine"] = 0.0
    without = case.select()
    core = {(slot.index, slot.role) for slot in without.slots if slot.role in ("ground", "visual")}
    assert core == {(slot.index, slot.role) for slot in with_refine.slots if slot.role in ("ground", "visual")}


@settings(max_examples=examples(200), deadline=None)
@given(cases(max_frames=60))
def test_float32_and_float64_input_give_the_same_selection(case):
    assert_same(case.select(dtype=np.float32), case.select(dtype=np.float64))


@settings(max_examples=examples(200), deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_order_of_events_only_breaks_ties(case, random):
    # Distinct starts exclude the last rule, "the earlier event".
    case.events = [(start + 1e-6 * k, end + 1e-6 * k) for k, (start, end) in enumerate(case.events)]
    case.duration += 1.0
    order = list(range(len(case.events)))
    random.shuffle(order)
    assert case.select().slots == case.select(order=order).slots


@settings(max_examples=examples(100), deadline=None)
@given(cases(max_frames=60))
def test_json_round_trip_is_lossless(case):
    selection = case.select()
    assert fs.Selection.from_json(selection.to_json()) == selection
    json.loads(selection.to_json(), parse_constant=pytest.fail)


def video(count=40, budget=8, **options) -> Case:
    rng = np.random.default_rng(7)
    frames = rng.standard_normal((count // 5, 16)).repeat(5, axis=0) + 0.1 * rng.standard_normal((count, 16))
    events = [(k * 4.0, k * 4.0 + 3.0) for k in range(count // 4)]
    vectors = rng.standard_normal((len(events), 16))
    times = [float(k) for k in range(count)]
    return Case(times, float(count), frames, frames[12], events, vectors, 0.5, budget, options)


@pytest.mark.parametrize(("budget", "quotas"), [(1, (0, 0, 0)), (8, (2, 1, 1)), (32, (8, 4, 4)), (64, (16, 8, 8))])
def test_quotas_are_shares_rounded_half_up(budget, quotas):
    assert GCRConfig().quotas(budget) == quotas


def test_rounding_half_up_tolerates_binary_fractions():
    assert GCRConfig(alpha_ground=0.29).quotas(50)[0] == 15


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


def test_closed_gate_skips_refine():
    refine = video(gate=1.0).select().trace["refine"]
    assert refine["ran"] is False and refine["gap_share"] < 1.0 and "gate" in refine["reason"]


def test_trace_lists_the_cues_of_the_demand():
    case = video()
    case.demand = visual_demand("What colour is the car?")
    ground = case.select().trace["ground"]
    assert ground["visual_demand"] == 0.8 and ground["demand_cues"] == ["visual: colour"]


def test_demand_options_apply_to_the_rules():
    case = video(demand_visual=0.6)
    case.demand = visual_demand("What colour is the car?")
    assert case.select().trace["ground"]["visual_demand"] == 0.6


def test_demand_options_without_effect_are_rejected():
    with pytest.raises(fs.OptionError, match="demand_visual would change nothing"):
        video(demand_visual=0.6).select()


def test_events_outside_the_video_are_dropped_and_counted():
    case = video()
    case.events += [(90.0, 95.0), (-5.0, -1.0)]
    case.event_vectors = np.concatenate((case.event_vectors, case.event_vectors[:2]))
    evidence = case.evidence()
    trace = fs.select_frames(evidence, budget=8).trace["ground"]
    assert trace["events_outside"] == 2 and len(trace["events"]) == len(case.events) - 2


def test_unknown_option_lists_all_options():
    with pytest.raises(fs.OptionError, match=r"no option 'alpha'; its options are alpha_ground = 0.25, alpha_visual"):
        video(alpha=0.5).select()


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), "half", True])
def test_option_out_of_range_is_rejected(value):
    for name in ("alpha_ground", "gate", "mmr_weight", "demand_neutral"):
        with pytest.raises(fs.OptionError, match=f"{name} is .*; expected a number from 0 to 1"):
            GCRConfig(**{name: value})


def test_of_identical_frames_the_earlier_are_selected():
    case = video(count=60, budget=4)
    case.frames = np.ones((60, 16))
    case.events = []
    assert case.select().indices == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_frame_region_is_represented_by_its_first_frame(dtype):
    # Both frames are equally close to their mean, whatever the rounding.
    rows = UnitRows(np.random.default_rng(3).standard_normal((400, 12))).rows.astype(dtype)
    starts = np.arange(0, 400, 2)
    regions = Regions(starts, starts + 2)
    assert [representative_frame(UnitRows(rows), regions, k) for k in range(200)] == starts.tolist()


def test_region_with_the_vector_of_a_selected_frame_has_no_novelty():
    rows = UnitRows(np.random.default_rng(3).standard_normal((200, 12))).rows.astype(np.float32)
    frames = UnitRows(np.concatenate((rows.repeat(2, axis=0), -rows[:1])))  # every second frame repeats the last
    cache = SimilarityCache(frames, range(0, 400, 2))
    regions = omitted_regions(cache.selected, 401)
    ranking = Ranking(frames.products(rows[:1])[:, 0])
    values = evidence_values(ranking, cache, regions, np.zeros(0, dtype=int), top_mean=2)
    assert values.normalised[:-1, 1].tolist() == [0.0] * 199


def test_without_ground_its_slots_go_to_context():
    whole, without = video().select(), video(without="ground").select()
    roles = [slot.role for slot in without.slots]
    assert len(without) == 8 and "ground" not in roles and roles.count("visual") == 1
    assert whole.trace["quotas"]["ground"] == 2 and without.trace["quotas"]["ground"] == 0
    assert without.trace["options"]["without"] == "ground"


def test_without_cover_regions_then_uniform_frames_fill_the_budget():
    selection = video(without="cover").select()
    roles = [slot.role for slot in selection.slots]
    regions = selection.trace["refine"]["regions"]
    assert (roles.count("ground"), roles.count("refined"), roles.count("context")) == (
        2,
        len(regions),
        6 - len(regions),
    )
    assert all(region["outcome"] == "swapped in" for region in regions)
    assert "Cover is left out" in selection.trace["note"]


def test_without_cover_and_events_the_frames_are_evenly_spaced():
    case = video(without="cover")
    case.events, case.event_vectors = [], case.event_vectors[:0]
    times = case.select().times_s
    assert max(b - a for a, b in pairwise(times)) <= 7


def test_without_refine_the_initial_selection_is_final():
    case = video(without="refine", gate=0.0)
    refine = case.select().trace["refine"]
    case.options["alpha_refine"] = 0.0
    del case.options["without"]
    assert refine["ran"] is False and refine["reason"] == "it is left out"
    assert video(without="refine", gate=0.0).select().indices == case.select().indices


def test_unknown_stage_lists_all_stages():
    with pytest.raises(fs.OptionError, match="without is 'read'; expected one of nothing, ground, cover, refine"):
        video(without="read").select()
