"""Frames for several questions on one index, and what is reported about them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.batch_select import select_from_vectors
from framesift.types.lookup import Objects
from helpers.detector_scenes import ColourDetector, Scenes
from helpers.models import make_lookup, random_model

QUESTIONS = [fs.Question("What is on the table?"), fs.Question("Who leaves?")]


def make_index(times_s, *, seed=0, duration_s=None, dim=8, **fields):
    rng = np.random.default_rng(seed)
    info = fs.VideoInfo("film.mp4", float(times_s[-1]) + 1 if duration_s is None else duration_s)
    return fs.VideoIndex(info, np.asarray(times_s, float), rng.normal(size=(len(times_s), dim)), "test", **fields)


def select(index, *, events=(), budget=8, method="gcr", seed=1, questions=QUESTIONS, **options):
    rng = np.random.default_rng(seed)
    return select_from_vectors(
        index,
        questions,
        queries=rng.normal(size=(len(questions), index.vectors.dim)),
        events=events,
        event_features=rng.normal(size=(len(events), index.vectors.dim)) if events else None,
        budget=budget,
        method=method,
        **options,
    )


def test_selection_has_the_warnings_of_the_index():
    index = make_index(range(20), warnings=("no frames from 0:00:05 to 0:00:09",))
    assert [s.warnings for s in select(index)] == [index.warnings] * 2


def test_text_inside_a_gap_is_reported_with_its_distance():
    index = make_index([*range(52), *range(80, 100)])
    inside, near = fs.Event(62, 65, "Run!"), fs.Event(78.5, 79, "Now.")
    for selection in select(index, events=[inside, near]):
        assert {slot.event for slot in selection.slots if slot.event} == {inside, near}
        assert selection.warnings == (
            "the text at 0:01:02–0:01:05 has no frame; it is shown on the frame at 0:00:51, 11 s away",
        )


BLANK = np.isin(np.arange(60), [0, 1, 7, 20, 21, 22, 23, 24, 41, 58, 59])
EVENTS = [fs.Event(k, k + 4.0, f"line {k}") for k in range(3, 55, 9)]
OBJECTS = Objects(("red car",), ("green tree", "blue door"), (("red car", "spatial", "green tree"),))


def runnable_methods():
    """Every selector that needs no trained weights, with the options it can't do without."""
    needed = {"detector": ColourDetector(), "model": random_model()}
    return {
        name: {option: value for option, value in needed.items() if option in selector.options}
        for name, selector in fs.selectors().items()
        if "network" not in selector.needs
    }


INDEX_KEYS = {"index", "closest", "first", "last", "in", "out", "picked", "visual", "opened", "peaks"}
OTHER_NUMBERS = {"options", "quotas"}


def indices_in(trace, at=()):
    """(path, value) of every candidate index in a trace."""
    if isinstance(trace, dict):
        for key, value in trace.items():
            if key not in OTHER_NUMBERS:
                yield from indices_in(value, (*at, key))
    elif isinstance(trace, list):
        for position, value in enumerate(trace):
            yield from indices_in(value, (*at, position))
    elif isinstance(trace, int) and next(key for key in reversed(at) if isinstance(key, str)) in INDEX_KEYS:
        yield at, trace


@pytest.mark.parametrize("method", sorted(runnable_methods()))
def test_selection_without_blank_frames_is_that_of_the_other_candidates(method):
    rng = np.random.default_rng(3)
    levels, kept = rng.integers(0, 256, (60, 3)), np.flatnonzero(~BLANK)
    index, query = make_index(range(60), is_blank=BLANK), rng.normal(size=8)
    features, options = rng.normal(size=(len(EVENTS), 8)), runnable_methods()[method]
    got = select_from_vectors(
        index,
        QUESTIONS[:1],
        queries=query[None],
        events=EVENTS,
        event_features=features,
        budget=8,
        method=method,
        visual_demand=0.5,
        lookups=[make_lookup(8, frames=Scenes(levels, np.zeros(60)), objects=OBJECTS)],
        **options,
    )[0]
    reduced = fs.Evidence(
        index.times_s[kept],
        index.info.duration_s,
        index.frames[kept],
        query,
        EVENTS,
        features,
        visual_demand=0.5,
    )
    lookup = make_lookup(8, frames=Scenes(levels[kept], np.zeros(len(kept))), objects=OBJECTS)
    expected = fs.select_frames(reduced, budget=8, method=method, lookup=lookup, **options)
    assert got.indices == [int(kept[k]) for k in expected.indices]
    assert got.times_s == index.times_s[got.indices].tolist()
    assert [(s.role, s.event) for s in got.slots] == [(s.role, s.event) for s in expected.slots]
    assert list(indices_in(got.trace)) == [
        (at, int(kept[k])) for at, k in indices_in(json.loads(json.dumps(expected.trace)))
    ]
    assert got.basis.skipped == tuple(np.flatnonzero(BLANK).tolist())
    assert len(got.basis.times_s) == 60
    assert got.trace["skipped"] == "11 of 60 candidates show nothing and were skipped"


def test_kept_blank_frames_are_candidates_as_any_other():
    index = make_index(range(60), is_blank=BLANK)
    assert select(index, events=EVENTS, blank_frames="keep") == select(make_index(range(60)), events=EVENTS)
    with pytest.raises(fs.OptionError, match="blank_frames is 'drop'; expected one of skip, keep"):
        select(index, blank_frames="drop")


def test_anchor_of_an_event_is_its_best_frame_that_shows_something():
    index = make_index(range(60), is_blank=np.arange(60) != 32)
    event = fs.Event(30, 34, "Look!")
    for selection in select(index, events=[event]):
        assert [(slot.index, slot.event) for slot in selection.slots] == [(32, event)]


def test_event_of_blank_frames_keeps_its_most_relevant_one():
    index = make_index(range(60), is_blank=(np.arange(60) >= 20) & (np.arange(60) < 40))
    event = fs.Event(25, 29, "Who is there?")
    for selection in select(index, events=[event]):
        relevance = selection.basis.relevance[25:30]
        blank = [(slot.index, slot.role, slot.event) for slot in selection.slots if index.is_blank[slot.index]]
        assert blank == [(25 + int(relevance.argmax()), "ground", event)]
        assert len(selection.basis.skipped) == 19


def test_selector_without_events_takes_no_blank_frame_for_one():
    index = make_index(range(60), is_blank=(np.arange(60) >= 20) & (np.arange(60) < 40))
    for selection in select(index, events=[fs.Event(25, 29, "Who is there?")], method="topk", budget=60):
        assert selection.indices == [*range(20), *range(40, 60)]


def test_video_of_blank_frames_keeps_all():
    for selection in select(make_index(range(20), is_blank=np.ones(20, dtype=bool))):
        assert len(selection) == 8
        assert selection.trace["skipped"] == "every candidate is blank: none was skipped"


def test_fewer_frames_that_show_something_than_the_budget_are_all_taken():
    shown = [3, 9, 15]
    for selection in select(make_index(range(20), is_blank=~np.isin(np.arange(20), shown))):
        assert selection.indices == shown
        assert selection.trace["note"] == (
            "3 of 20 candidates show something, for a budget of 8: all of them are selected"
        )


@given(st.integers(0, 2**32 - 1), st.sampled_from(["gcr", "text", "vsi-lite", "topk", "uniform"]))
def test_no_slot_is_blank_but_the_anchor_of_an_event_without_another_frame(seed, method):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 30))
    is_blank = rng.random(count) < rng.random()
    starts = rng.uniform(0, count, rng.integers(0, 7)).tolist()
    events = [fs.Event(start, start + rng.uniform(0, 8), f"line {k}") for k, start in enumerate(starts)]
    index = make_index(range(count), is_blank=is_blank, seed=seed)
    for selection in select(index, events=events, method=method, budget=int(rng.integers(1, 13))):
        assert selection.times_s == index.times_s[selection.indices].tolist()
        for slot in selection.slots:
            if is_blank[slot.index] and not is_blank.all():
                inside = (index.times_s >= slot.event.start_s) & (index.times_s <= slot.event.end_s)
                assert slot.role == "ground" and is_blank[inside].all()
        if not is_blank.all():
            assert len(selection) >= min(selection.budget, int((~is_blank).sum()))
