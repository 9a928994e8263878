"""The simple selectors, the registry, and selection for many questions."""

import inspect
import json
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import framesift as fs
from framesift.errors import BudgetError, UnknownName
from framesift.selection import registry
from framesift.selection.baselines import evenly_spaced
from framesift.selection.gcr.demand import visual_demand
from framesift.types.lookup import Objects
from helpers.detector_scenes import Scenes
from helpers.examples import examples
from helpers.models import RuleModel, make_lookup, options_for
from helpers.selection_cases import cases


@pytest.mark.parametrize(
    ("convention", "expected"),
    [("centres", [12, 37, 62, 87]), ("ends", [0, 33, 66, 99]), ("interior", [20, 40, 60, 80])],
)
def test_uniform_by_each_convention(convention, expected):
    assert evenly_spaced(100, 4, convention).tolist() == expected


@given(st.integers(1, 500), st.integers(1, 500), st.sampled_from(["centres", "ends", "interior"]))
def test_uniform_frames_are_distinct(count, size, convention):
    indices = evenly_spaced(count, min(size, count), convention)
    assert len(set(indices.tolist())) == min(size, count)
    assert indices.min() >= 0 and indices.max() < count


@settings(max_examples=examples(30), deadline=None)
@given(cases(max_frames=40), st.booleans())
def test_every_selector_fills_the_budget_in_order_and_repeats(case, has_nonsense_replies):
    evidence = case.evidence()
    levels = np.random.default_rng(len(evidence)).integers(0, 256, (len(evidence), 3))
    objects = Objects(("red car",), ("blue door",))
    lookup = make_lookup(evidence.vectors.dim, frames=Scenes(levels, evidence.relevance), objects=objects)
    for method in fs.selectors():
        options = options_for(method, RuleModel() if has_nonsense_replies else None)
        given = {"budget": case.budget, "method": method, "lookup": lookup, **options}
        selection = fs.select_frames(evidence, **given)
        assert len(selection) == len(set(selection.indices)) == min(case.budget, len(evidence)), method
        assert selection.indices == sorted(selection.indices), method
        assert (selection.method, selection.budget) == (method, case.budget)
        assert 0 <= selection.trace["looked_at"] <= len(evidence), method
        json.loads(selection.to_json(), parse_constant=pytest.fail)
        assert fs.Selection.from_json(selection.to_json()) == selection, method
        assert fs.select_frames(evidence, **given) == selection, method


def test_selectors_need_vectors_only_where_they_say_so():
    rng = np.random.default_rng(0)
    events = [fs.Event(start, start + 2.0, "words") for start in range(0, 60, 5)]
    given = {"times_s": np.arange(60.0), "duration_s": 60.0, "events": events}
    given |= {"scores": rng.random(60), "event_scores": rng.random(12)}
    scores = fs.Evidence(**given)
    whole = fs.Evidence(**given, frames=rng.normal(size=(60, 4)), query=np.ones(4))
    for name, selector in fs.selectors().items():
        if set(selector.needs) <= {"events"}:
            expected = fs.select_frames(whole, budget=8, method=name)
            assert fs.select_frames(scores, budget=8, method=name) == expected, name
        elif set(selector.needs) <= {"vectors", "events", "words"} and not selector.takes_lookup:
            with pytest.raises(fs.InputError, match="has no (vectors|query): .* or use a selector that needs none"):
                fs.select_frames(scores, budget=8, method=name)


def test_every_published_selector_documents_its_input_cost_and_options():
    for name, selector in fs.selectors().items():
        assert selector.summary and set(selector.needs) <= set(registry.NEEDS), name
        if name not in ("sift", "gcr", "uniform", "topk", "mmr"):
            text = inspect.getdoc(selector.function)
            assert selector.paper, name
            assert all(f"\n{part}" in text for part in ("Input:", "Differs:")) and "Cost:" in text, name
            assert all(re.search(rf"\b{option}\b", text) for option in selector.options), name


@settings(max_examples=examples(150), deadline=None)
@given(cases(max_frames=40), st.integers(1, 5))
def test_select_many_equals_one_selection_per_question(case, count):
    rng = np.random.default_rng(count)
    queries = rng.standard_normal((count, case.frames.shape[1]))
    questions = ["Why does he go?", "What colour is it?", "What now?"][:count] + ["And then?"] * max(0, count - 3)
    index = fs.VideoIndex(fs.VideoInfo("x", case.duration), case.times, case.frames, "none")
    events = [fs.Event(*times, f"event {k}") for k, times in enumerate(case.events)]
    features = {"events": events, "event_features": case.event_vectors} if events else {}
    many = fs.select_many(
        index, questions, queries=queries, budget=case.budget, method="gcr", **features, **case.options
    )
    for question, query, selection in zip(questions, queries, many, strict=True):
        expected = replace(case, query=query, demand=visual_demand(question)).select()
        slots = [[(slot.index, slot.role, slot.event) for slot in one.slots] for one in (selection, expected)]
        assert slots[0] == slots[1]


def test_select_many_needs_one_vector_per_question():
    index = fs.VideoIndex(fs.VideoInfo("x", 3.0), [0.0, 1.0, 2.0], np.eye(3), "none")
    with pytest.raises(fs.InputError, match="queries has 1 rows for 2 questions"):
        fs.select_many(index, ["a?", "b?"], queries=np.eye(3)[:1], budget=2)
    assert fs.select_many(index, [], queries=np.eye(3)[:0], budget=2) == []


def small_evidence():
    return fs.Evidence([0.0, 1.0, 2.0], 3.0, np.eye(3), [1.0, 0.5, 0.2])


def test_budget_must_be_a_whole_number():
    assert len(fs.select_frames(small_evidence(), budget=np.int64(2))) == 2
    for budget in (0, -1, 2.0, "4", None, True):
        with pytest.raises(BudgetError, match="expected a whole number of at least 1"):
            fs.select_frames(small_evidence(), budget=budget)


INVALID_OPTIONS = [
    ("uniform", {"convention": "random"}, "expected one of centres, ends, interior"),
    ("uniform", {"step": 2}, "uniform has no option 'step'; its options are convention = 'centres'"),
    ("topk", {"k": 2}, "topk has no option 'k'; it has none"),
    ("mmr", {"weight": 2.0}, "weight is 2.0; expected a number from 0 to 1"),
    ("aks", {"depth": -1}, "depth is -1; expected a whole number of at least 0"),
    ("aks", {"t1": "high"}, "t1 is 'high'; expected a finite number"),
    ("bolt", {"alpha": 0}, "alpha is 0; expected a number above 0"),
    ("q-frame", {"logs": 1}, "logs is 1; expected True or False"),
    ("q-frame", {"seed": 0.5}, "seed is 0.5; expected a whole number of at least 0"),
    ("mdp3", {"segment_frames": -1}, "segment_frames is -1; expected a whole number of at least 0"),
    ("wfs-sb", {"logit_scale": 0}, "logit_scale is 0; expected a number above 0"),
    ("vsi-lite", {"reach_s": -1}, "reach_s is -1; expected a number of at least 0"),
    ("tspo", {"choose": "best"}, "choose is 'best'; expected one of top, bins"),
    ("q-gate", {"weights": True}, "weights is True; expected one number each for objects, relevance, subtitles"),
    ("q-gate", {"weights": (1, 2)}, r"weights is \(1, 2\); expected one number each for objects, relevance, subtitles"),
    ("q-gate", {"weights": (0, 0, 0)}, "weights are all 0; expected at least one above 0"),
    ("qca", {"segments": 0}, "segments is 0; expected a whole number of at least 1"),
    ("memorycard", {"pool": 8}, "expected a pool from max_sessions to 16 × min_sessions"),
    ("memorycard", {"min_sessions": 5, "max_sessions": 4}, "expected a pool from max_sessions to 16 × min_sessions"),
    ("sift", {"width_s": 0}, "width_s is 0; expected"),
    ("sift", {"low": 0.5, "high": 0.4}, "high is 0.4"),
    ("gcr", {"gate": -0.1}, "gate is -0.1; expected a number from 0 to 1"),
    ("gcr", {"alpha_ground": float("nan")}, "alpha_ground is nan; expected a number from 0 to 1"),
    ("gcr", {"mmr_weight": True}, "mmr_weight is True; expected a number from 0 to 1"),
    ("gcr", {"alpha": 0.5}, r"no option 'alpha'; its options are alpha_ground = 0.25, alpha_visual"),
    ("gcr", {"demand_visual": 0.6}, "demand_visual would change nothing"),
    ("gcr", {"without": "read"}, "without is 'read'; expected one of nothing, ground, cover, refine"),
]


def test_unknown_selectors_and_invalid_options_are_rejected():
    with pytest.raises(UnknownName, match=r"no selector 'best'; expected one of sift, gcr, uniform, topk, mmr, "):
        fs.select_frames(small_evidence(), budget=2, method="best")
    for method, options, message in INVALID_OPTIONS:
        with pytest.raises(fs.OptionError, match=message):
            fs.select_frames(small_evidence(), budget=2, method=method, **options)


def last(evidence, budget, *, skip=0):
    """The last frames."""
    count = len(evidence)
    indices = range(count - skip - min(budget, count - skip), count - skip)
    return fs.Selection.of(evidence, indices, "context")


def test_function_is_a_method_under_its_own_name():
    selection = fs.select_frames(small_evidence(), budget=2, method=last, skip=1)
    assert (selection.indices, selection.method) == ([0, 1], "last")
    with pytest.raises(fs.OptionError, match="last has no option 'jump'; its options are skip = 0"):
        fs.select_frames(small_evidence(), budget=2, method=last, jump=1)


def test_lambdas_partials_objects_and_selectors_are_methods():
    class Last:
        def __call__(self, evidence, budget):
            return last(evidence, budget)

    methods = {
        "lambda": lambda evidence, budget: last(evidence, budget),
        "last": partial(last, skip=1),
        "Last": Last(),
        "mine": fs.Selector("mine", last, "The last frames.", needs=("events",)),
    }
    for name, method in methods.items():
        assert fs.select_frames(small_evidence(), budget=2, method=method).method == name


def test_result_of_a_function_is_checked():
    def returning(indices, **trace):
        slots = tuple(fs.Slot(index, 0.0, "visual", np.float32(0.5)) for index in indices)
        return lambda evidence, budget: fs.Selection(slots, "", budget, trace)

    for method, message in {
        returning([]): r"lambda selected the frames \[\]; expected 1 to 2 different indices",
        returning([0, 1, 2]): "expected 1 to 2 different indices",
        returning([1, 1]): "expected 1 to 2 different indices",
        returning([-1]): "different indices from 0 to 2",
        returning([3]): "different indices from 0 to 2",
        returning([1], weights=np.ones(3)): "the trace of lambda can't be written .*; expected JSON values",
        (lambda evidence, budget: [0, 1]): "lambda returned a list; expected a Selection",
        (lambda evidence: None): "lambda can't be called with an evidence and a budget",
        3: "int can.t be called with an evidence and a budget",
    }.items():
        with pytest.raises(fs.InputError, match=message):
            fs.select_frames(small_evidence(), budget=2, method=method)


def test_numpy_numbers_of_a_function_can_be_written():
    def best(evidence, budget):
        index = evidence.relevance.argmax()
        return fs.Selection((fs.Slot(index, evidence.times_s[index], "visual", evidence.relevance[index]),), "", budget)

    selection = fs.select_frames(small_evidence(), budget=2, method=best)
    assert fs.Selection.from_json(selection.to_json()) == selection
