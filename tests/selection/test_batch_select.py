"""Frames for several questions on one index: without blank frames, inside windows of time, and what is reported."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.batch_select import select_from_vectors
from framesift.types import Basis
from framesift.types.lookup import Objects
from helpers.detector_scenes import Scenes
from helpers.models import make_lookup, options_for

COUNT = 60
QUESTIONS = [fs.Question("What is on the table?"), fs.Question("Which words are in line 12?")]
EVENTS = [fs.Event(k, k + 4.0, f"line {k} of words") for k in range(2, 56, 5)]
FEATURES = np.random.default_rng(2).normal(size=(len(EVENTS), 8))
BLANK = np.isin(np.arange(COUNT), [0, 1, 7, 20, 21, 22, 23, 24, 41, 58, 59])
LEVELS = np.random.default_rng(3).integers(0, 256, (COUNT, 3))
OBJECTS = Objects(("red car",), ("green tree", "blue door"), (("red car", "spatial", "green tree"),))
WINDOW, FIRST, LAST = fs.Window(14.5, 44.0), 15, 44


def make_index(times_s=range(COUNT), *, seed=0, **fields):
    rows = np.random.default_rng(seed).normal(size=(len(times_s), 8))
    return fs.VideoIndex(fs.VideoInfo("film.mp4", times_s[-1] + 1.0), np.array(times_s, float), rows, "test", **fields)


def select(index, method="gcr", *, events=(), features=None, questions=QUESTIONS, budget=8, seed=1, **options):
    rng = np.random.default_rng(seed)
    queries = rng.normal(size=(len(questions), 8))
    rows = rng.normal(size=(len(events), 8)) if features is None else features
    given = {"events": events, "event_features": rows} if len(events) else {}
    return select_from_vectors(index, questions, queries=queries, budget=budget, method=method, **given, **options)


def select_one(index, method, levels=LEVELS, events=EVENTS, features=FEATURES, **options):
    """A selection for one question by any selector, with all that it may need."""
    lookup = make_lookup(8, frames=Scenes(levels, np.zeros(len(levels))), objects=OBJECTS)
    given = {"questions": QUESTIONS[1:], "events": events, "features": features, "lookups": [lookup]}
    return select(index, method, **given, **options_for(method), **options)[0]


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


def json_indices(selection):
    return list(indices_in(json.loads(json.dumps(selection.trace))))


def assert_same(index, selection, part, kept):
    """A selection of the index is that of a part of its candidates, whose k-th one is number kept[k] of all."""
    assert selection.indices == [kept[k] for k in part.indices]
    assert selection.times_s == index.times_s[selection.indices].tolist()
    shown, expected = ([(s.role, s.event and s.event.text) for s in one.slots] for one in (selection, part))
    assert shown == expected
    assert json_indices(selection) == [(at, kept[k]) for at, k in json_indices(part)]


@pytest.mark.parametrize("method", sorted(fs.selectors()))
def test_selection_without_blank_frames_is_that_of_the_other_candidates(method):
    index, kept = make_index(is_blank=BLANK), np.flatnonzero(~BLANK).tolist()
    others = fs.VideoIndex(index.info, index.times_s[kept], index.frames[kept], "test")
    selection = select_one(index, method)
    assert_same(index, selection, select_one(others, method, LEVELS[kept]), kept)
    assert selection.basis.skipped == tuple(np.flatnonzero(BLANK).tolist()) and len(selection.basis.times_s) == COUNT
    assert selection.trace["skipped"] == "11 of 60 candidates show nothing and were skipped"


@pytest.mark.parametrize("method", sorted(fs.selectors()))
def test_window_selects_as_from_a_video_that_is_cut_to_it(method):
    index, part = make_index(is_blank=BLANK), slice(FIRST, LAST + 1)
    selection = select_one(index, method, windows=[WINDOW])
    if "model" in fs.selectors()[method].needs:  # their prompts have the times of the whole video
        assert len(selection) == 8 and all(FIRST <= k <= LAST for _, k in json_indices(selection))
        return
    info = replace(index.info, duration_s=29.5)
    cut = fs.VideoIndex(info, index.times_s[part] - 14.5, index.frames[part], "test", is_blank=BLANK[part])
    inside = [k for k, e in enumerate(EVENTS) if e.end_s > WINDOW.from_s and e.start_s < WINDOW.to_s]
    events = [
        replace(EVENTS[k], start_s=max(EVENTS[k].start_s - 14.5, 0.0), end_s=min(EVENTS[k].end_s - 14.5, 29.5))
        for k in inside
    ]
    expected = select_one(cut, method, LEVELS[part], events, FEATURES[inside])
    assert_same(index, selection, expected, range(FIRST, LAST + 1))
    assert selection.trace["duration_s"] == pytest.approx(29.5)


def test_text_inside_a_gap_is_reported_with_its_distance():
    index = make_index([*range(52), *range(80, 100)])
    inside, near = fs.Event(62, 65, "Run!"), fs.Event(78.5, 79, "Now.")
    for selection in select(index, events=[inside, near]):
        assert {slot.event for slot in selection.slots if slot.event} == {inside, near}
        assert selection.warnings == (
            "the text at 0:01:02–0:01:05 has no frame; it is shown on the frame at 0:00:51, 11 s away",
        )


def test_kept_blank_frames_are_candidates_as_any_other():
    index = make_index(is_blank=BLANK)
    assert select(index, events=EVENTS, blank_frames="keep") == select(make_index(), events=EVENTS)
    with pytest.raises(fs.OptionError, match="blank_frames is 'drop'; expected one of skip, keep"):
        select(index, blank_frames="drop")


def test_event_of_blank_frames_keeps_its_most_relevant_one():
    index, event = make_index(is_blank=np.arange(COUNT) // 20 == 1), fs.Event(25, 29, "Who is there?")
    for selection in select(index, events=[event]):
        relevance = selection.basis.relevance[25:30]
        blank = [(slot.index, slot.role, slot.event) for slot in selection.slots if index.is_blank[slot.index]]
        assert blank == [(25 + int(relevance.argmax()), "ground", event)]
        assert len(selection.basis.skipped) == 19
    for selection in select(index, "topk", events=[event], budget=COUNT):  # a selector that uses no events
        assert selection.indices == [*range(20), *range(40, 60)]


FEW = "3 of 60 candidates show something, for a budget of 8: all of them are selected"


@pytest.mark.parametrize(
    ("shown", "count", "key", "words"),
    [([3, 9, 15], 3, "note", FEW), ([], 8, "skipped", "every candidate is blank: none was skipped")],
)
def test_few_frames_that_show_something_are_all_taken_and_without_any_all_count(shown, count, key, words):
    for selection in select(make_index(is_blank=~np.isin(np.arange(COUNT), shown))):
        assert len(selection) == count and set(shown) <= set(selection.indices)
        assert selection.trace[key] == words


@given(st.integers(0, 2**32 - 1), st.sampled_from(["gcr", "text", "vsi-lite", "topk", "uniform"]))
def test_no_slot_is_blank_but_the_anchor_of_an_event_without_another_frame(seed, method):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 30))
    is_blank = rng.random(count) < rng.random()
    starts = rng.uniform(0, count, rng.integers(0, 7)).tolist()
    events = [fs.Event(start, start + rng.uniform(0, 8), f"line {k}") for k, start in enumerate(starts)]
    index = make_index(range(count), is_blank=is_blank, seed=seed)
    for selection in select(index, method, events=events, budget=int(rng.integers(1, 13))):
        assert selection.times_s == index.times_s[selection.indices].tolist()
        for slot in selection.slots:
            if is_blank[slot.index] and not is_blank.all():
                inside = (index.times_s >= slot.event.start_s) & (index.times_s <= slot.event.end_s)
                assert slot.role == "ground" and is_blank[inside].all()
        if not is_blank.all():
            assert len(selection) >= min(selection.budget, int((~is_blank).sum()))


@given(st.integers(1, COUNT - 1), st.integers(0, 2**32 - 1))
def test_nothing_after_the_time_of_the_question_changes_a_selection(at, seed):
    index, rng = make_index(), np.random.default_rng(seed)
    frames, features = index.frames.copy(), FEATURES.copy()
    frames[at + 1 :] = frames[at + 1 :][::-1]
    later = [k for k, event in enumerate(EVENTS) if event.start_s >= at]
    others = [replace(e, text="other words") if k in later else e for k, e in enumerate(EVENTS)]
    features[later] = rng.normal(size=(len(later), 8))
    for method in ("sift", "gcr", "aks"):
        windows = [fs.Window.until(at)]
        changed = select_one(replace(index, frames=frames), method, LEVELS, others, features, windows=windows)
        assert select_one(index, method, windows=windows) == changed


def test_each_question_has_its_own_window_which_its_basis_records_with_its_events():
    windows = [None, fs.Window.until(10), fs.Window(50)]
    selections = select(make_index(), "uniform", questions=QUESTIONS[:1] * 3, budget=4, windows=windows)
    assert [s.times_s for s in selections] == [[7, 22, 37, 52], [1, 4, 6, 9], [51, 53, 56, 58]]
    assert [s.basis.window for s in selections] == [None, (0.0, 10.0), (50.0, 60.0)]
    basis = select_one(make_index(is_blank=BLANK), "sift", windows=[WINDOW]).basis
    assert basis.window == (14.5, 44.0) and basis.considered == range(FIRST, LAST + 1)
    assert basis.skipped == (20, 21, 22, 23, 24, 41)
    assert basis.events[0] == fs.Event(14.5, 16.0, "line 12 of words")
    assert basis.events[-1] == fs.Event(42.0, 44.0, "line 42 of words")
    assert Basis.from_dict(basis.to_dict()).window == basis.window


def test_windows_without_any_video_are_rejected():
    index = make_index(range(0, 60, 10))
    for window, message in (
        (fs.Window(61), "the window starts at 0:01:01, outside the video, which ends at 0:00:51"),
        (fs.Window(11, 19), "the window from 0:00:11 to 0:00:19 has no candidate frame; the nearest are at 0:00:10"),
        (fs.Window("0:52"), "the window starts at 0:00:52, outside the video"),
    ):
        with pytest.raises(fs.OptionError, match=message):
            select(index, "uniform", windows=[window] * 2)
    for ends, message in (
        ((20, 10), "the window is from 0:00:20 to 0:00:10; expected an end after its start"),
        ((20, 20), "expected an end after its start"),
        ((-1, None), "from_s is -1; expected a time in the video, from 0"),
        (("soon", None), "from_s is 'soon'; expected seconds, or a time such as 1:02"),
    ):
        with pytest.raises(fs.InputError, match=message):
            fs.Window(*ends)
