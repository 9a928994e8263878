"""Exhibits: which frames they contain, the text drawn on them, and the controls of the ablation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ImageChops

import framesift as fs
from framesift.errors import InputError, OptionError
from framesift.rendering import rendered_selection as exhibits
from framesift.rendering.exhibit import events_for
from framesift.video.frames import fetch, frame_numbers, probe
from helpers.showcase import EVENTS, QUESTION, make_selection


@pytest.fixture(scope="module")
def selection(video):
    return make_selection(video)


def test_images_are_the_selected_frames_of_the_video(video, selection):
    shown = fs.exhibit(video, selection, overlay="none")
    assert list(shown.numbers) == frame_numbers(video, selection.times_s)
    for image, (_, array) in zip(shown.images(), fetch(video, selection.times_s), strict=True):
        assert np.array_equal(np.asarray(image), array)


def test_times_between_frames_show_the_frame_on_screen(video):
    step_s = 1 / probe(video).fps
    times_s = [0.0, 0.4 * step_s, 2.0 + 0.5 * step_s, 2.0 + 0.9 * step_s]
    evidence = fs.Evidence(times_s=times_s, duration_s=probe(video).duration_s, scores=[1.0, 2.0, 3.0, 4.0])
    shown = fs.exhibit(video, fs.select_frames(evidence, budget=4, method="topk"))
    first, at_2 = frame_numbers(video, [0.0, 2.0])
    assert shown.numbers == (first, first, at_2, at_2)
    assert shown.selection.times_s == times_s
    images = dict(fetch(video, [0.0, 2.0]))
    for image, time_s in zip(shown.images(), (0.0, 0.0, 2.0, 2.0), strict=True):
        assert np.array_equal(np.asarray(image), images[time_s])


def test_text_is_drawn_only_on_frames_with_an_event(video, selection):
    plain, drawn = fs.exhibit(video, selection, overlay="none"), fs.exhibit(video, selection)
    changed = [
        ImageChops.difference(a, b).getbbox() is not None for a, b in zip(plain.images(), drawn.images(), strict=True)
    ]
    assert changed == [slot.event is not None for slot in selection.slots]
    assert any(changed)


def test_size_is_the_shorter_side(video, selection):
    assert {image.size for image in fs.exhibit(video, selection, 32).images()} == {(48, 32)}


def test_question_is_that_of_the_selection(video, selection):
    assert fs.exhibit(video, selection).question == QUESTION


def test_blank_overlay_has_the_band_without_text(video, selection):
    blank = fs.exhibit(video, selection, overlay="blank")
    assert {frame.text for frame in blank.frames} == {""}
    shown = [np.asarray(p) for p in blank.images()]
    plain = [np.asarray(p) for p in fs.exhibit(video, selection, overlay="none").images()]
    with_event = [k for k, slot in enumerate(selection.slots) if slot.event]
    assert all((shown[k] != plain[k]).any() for k in with_event)


def test_shuffled_overlay_moves_every_text_and_is_reproducible(video):
    selection = make_selection(video, budget=16)
    texts = [frame.text for frame in fs.exhibit(video, selection).frames]
    once, again = (fs.exhibit(video, selection, overlay="shuffled", seed=3).frames for _ in range(2))
    assert [f.text for f in once] == [f.text for f in again]
    assert sorted(f.text for f in once) == sorted(texts)
    assert all(f.text != text for f, text in zip(once, texts, strict=True) if text)


@given(st.lists(st.sampled_from(["", "a", "b", "c", "d"]), max_size=12), st.integers(0, 5))
def test_shuffling_moves_texts_only_among_frames_that_have_one(texts, seed):
    shuffled = exhibits._shuffle(texts, seed)
    assert sorted(shuffled) == sorted(texts)
    assert [bool(t) for t in shuffled] == [bool(t) for t in texts]


def test_another_overlay_does_not_decode_again(video, selection, monkeypatch):
    shown = fs.exhibit(video, selection)
    list(shown.images())
    monkeypatch.setattr(exhibits, "fetch_available", lambda *a, **k: pytest.fail("decoded again"))
    assert len(list(shown.with_overlay("blank").images())) == len(selection)


def test_cached_and_new_images_come_in_order_of_time(video, selection):
    shown = fs.exhibit(video, selection, overlay="none")
    times_s = selection.times_s
    list(shown.bare_images(times_s[1::2]))
    pictures = dict(shown.bare_images(times_s))
    assert list(pictures) == times_s
    for time_s, array in fetch(video, times_s):
        assert np.array_equal(np.asarray(pictures[time_s]), array)


def test_images_beyond_the_cache_are_decoded_again(video, selection, monkeypatch):
    monkeypatch.setattr(exhibits, "CACHE_BYTES", 0)
    shown = fs.exhibit(video, selection)
    first, second = ([p.tobytes() for p in shown.images()] for _ in range(2))
    assert first == second and not shown._decoded


@pytest.mark.parametrize(("option", "value"), [("overlay", "loud"), ("size", 0), ("size", "big")])
def test_bad_option_is_named(video, selection, option, value):
    with pytest.raises(OptionError, match=option):
        fs.exhibit(video, selection, **{option: value})


def test_selection_of_a_longer_video_is_rejected(video, selection):
    moved = replace(selection, slots=(replace(selection.slots[0], time_s=1234.5),))
    with pytest.raises(InputError, match=r"the time is 1234\.5 s; expected seconds from 0 to"):
        fs.exhibit(video, moved)


def test_events_for_assigns_the_event_at_the_time_of_each_slot(video):
    plain = make_selection(video, method="uniform", budget=40)
    shown = {slot.time_s: slot.event for slot in events_for(plain, EVENTS).slots}
    assert shown[2.0] == shown[4.0] == EVENTS[0]
    assert shown[10.0] == EVENTS[1]
    assert shown[12.0] == EVENTS[2]  # of two, the one that started last
    assert shown[5.0] is None and shown[25.0] is None


def test_events_for_returns_a_grounded_selection_unchanged(video, selection):
    assert events_for(selection, EVENTS) is selection
    without = make_selection(video, alpha_ground=0.0)
    assert events_for(without, EVENTS) is without
