"""A window of time: only what lies in it takes part in a selection."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framesift as fs
from framesift.selection.batch_select import select_from_vectors
from framesift.types import Basis
from helpers.detector_scenes import Scenes
from helpers.models import make_lookup
from selection.test_batch_select import OBJECTS, indices_in, make_index
from selection.test_selectors import options_for

COUNT, FIRST, LAST = 60, 15, 44
WINDOW = fs.Window(14.5, 44.0)
BLANK = np.isin(np.arange(COUNT), [3, 20, 21, 22, 50])
EVENTS = [fs.Event(k, k + 4.0, f"line {k} of words") for k in range(2, 56, 5)]
LEVELS = np.random.default_rng(3).integers(0, 256, (COUNT, 3))
QUESTION = fs.Question("Which words are in line 12?")


def select(index, events, features, levels, method, **options):
    return select_from_vectors(
        index,
        [QUESTION],
        queries=np.random.default_rng(1).normal(size=(1, 8)),
        events=events,
        event_features=features,
        budget=8,
        method=method,
        lookups=[make_lookup(8, frames=Scenes(levels, np.zeros(len(levels))), objects=OBJECTS)],
        **options_for(fs.selectors()[method], 8),
        **options,
    )[0]


def uses_prompts(method):
    return "model" in fs.selectors()[method].needs


def cut():
    """The index of the window as a video of its own, and its events with their positions."""
    index = make_index(range(COUNT), is_blank=BLANK)
    part = slice(FIRST, LAST + 1)
    info = replace(index.info, duration_s=WINDOW.to_s - WINDOW.from_s)
    times_s = index.times_s[part] - WINDOW.from_s
    video = fs.VideoIndex(info, times_s, index.frames[part], index.encoder, is_blank=BLANK[part])
    inside = [k for k, e in enumerate(EVENTS) if e.end_s > WINDOW.from_s and e.start_s < WINDOW.to_s]
    events = [
        fs.Event(max(e.start_s - WINDOW.from_s, 0.0), min(e.end_s, WINDOW.to_s) - WINDOW.from_s, e.text)
        for e in (EVENTS[k] for k in inside)
    ]
    return video, events, inside


def test_window_selects_as_from_a_video_that_is_cut_to_it():
    index, features = make_index(range(COUNT), is_blank=BLANK), np.random.default_rng(2).normal(size=(len(EVENTS), 8))
    video, events, inside = cut()
    for method in fs.selectors():
        if uses_prompts(method):  # their prompts have the times of the whole video
            continue
        got = select(index, EVENTS, features, LEVELS, method, windows=[WINDOW])
        expected = select(video, events, features[inside], LEVELS[FIRST : LAST + 1], method)
        assert got.indices == [FIRST + k for k in expected.indices], method
        assert got.times_s == [index.times_s[k] for k in got.indices], method
        roles = [(s.role, s.event and s.event.text) for s in got.slots]
        assert roles == [(s.role, s.event and s.event.text) for s in expected.slots], method
        trace = list(indices_in(json.loads(json.dumps(expected.trace))))
        assert list(indices_in(json.loads(json.dumps(got.trace)))) == [(at, FIRST + k) for at, k in trace], method
        assert got.trace["duration_s"] == pytest.approx(29.5), method


def test_methods_that_ask_a_model_select_inside_the_window():
    index, features = make_index(range(COUNT)), np.random.default_rng(2).normal(size=(len(EVENTS), 8))
    for method in filter(uses_prompts, fs.selectors()):
        got = select(index, EVENTS, features, LEVELS, method, windows=[WINDOW])
        assert len(got) == 8 and got.indices[0] >= FIRST and got.indices[-1] <= LAST, method
        assert all(FIRST <= k <= LAST for _, k in indices_in(json.loads(json.dumps(got.trace)))), method


@given(st.integers(1, 59), st.integers(0, 2**32 - 1))
def test_nothing_after_the_time_of_the_question_changes_a_selection(at, seed):
    rng = np.random.default_rng(seed)
    index, features = make_index(range(COUNT)), rng.normal(size=(len(EVENTS), 8))
    frames = index.frames.copy()
    frames[at + 1 :] = frames[at + 1 :][::-1]
    later = [k for k, event in enumerate(EVENTS) if event.start_s >= at]
    others = [replace(e, text="other words") if k in later else e for k, e in enumerate(EVENTS)]
    changed = features.copy()
    changed[later] = rng.normal(size=(len(later), 8))
    for method in ("sift", "gcr", "aks"):
        windows = [fs.Window.until(at)]
        before = select(index, EVENTS, features, LEVELS, method, windows=windows)
        after = select(replace(index, frames=frames), others, changed, LEVELS, method, windows=windows)
        assert before == after


def test_basis_records_the_window_and_its_events():
    index, features = make_index(range(COUNT), is_blank=BLANK), np.random.default_rng(2).normal(size=(len(EVENTS), 8))
    basis = select(index, EVENTS, features, LEVELS, "sift", windows=[WINDOW]).basis
    assert basis.window == (14.5, 44.0) and basis.considered == range(FIRST, LAST + 1)
    assert basis.skipped == (20, 21, 22)
    assert basis.events[0] == fs.Event(14.5, 16.0, "line 12 of words")
    assert basis.events[-1] == fs.Event(42.0, 44.0, "line 42 of words")
    assert Basis.from_dict(basis.to_dict()).window == basis.window


def test_each_question_has_its_own_window():
    index = make_index(range(COUNT))
    selections = select_from_vectors(
        index,
        [QUESTION] * 3,
        queries=np.ones((3, 8)),
        budget=4,
        method="uniform",
        windows=[None, fs.Window.until(10), fs.Window(50)],
    )
    assert [s.times_s for s in selections] == [[7, 22, 37, 52], [1, 4, 6, 9], [51, 53, 56, 58]]
    assert [s.basis.window for s in selections] == [None, (0.0, 10.0), (50.0, 60.0)]


def test_windows_without_any_video_are_rejected():
    index = make_index(range(0, 60, 10))
    for window, message in (
        (fs.Window(61), "the window starts at 0:01:01, outside the video, which ends at 0:00:51"),
        (fs.Window(11, 19), "the window from 0:00:11 to 0:00:19 has no candidate frame; the nearest are at 0:00:10"),
        (fs.Window("0:52"), "the window starts at 0:00:52, outside the video"),
    ):
        with pytest.raises(fs.OptionError, match=message):
            select(index, (), None, LEVELS, "uniform", windows=[window])
    for ends, message in (
        ((20, 10), "the window is from 0:00:20 to 0:00:10; expected an end after its start"),
        ((20, 20), "expected an end after its start"),
        ((-1, None), "from_s is -1; expected a time in the video, from 0"),
        (("soon", None), "from_s is 'soon'; expected seconds, or a time such as 1:02"),
    ):
        with pytest.raises(fs.InputError, match=message):
            fs.Window(*ends)
