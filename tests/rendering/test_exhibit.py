"""Exhibits: which frames they contain, the text drawn on them, and the controls of the ablation."""

from dataclasses import replace

import numpy as np
import pytest

import framesift as fs
from framesift.errors import InputError, OptionError
from framesift.rendering import rendered_selection as exhibits
from framesift.rendering.exhibit import events_for
from framesift.video.frames import fetch, frame_numbers, probe
from helpers.showcase import EVENTS, make_selection


@pytest.fixture(scope="module")
def selection(video):
    return make_selection(video)


def arrays(exhibit):
    return [np.asarray(image) for image in exhibit.images()]


def test_images_are_the_selected_frames_of_the_video(video, selection):
    shown = fs.exhibit(video, selection, overlay="none")
    assert list(shown.numbers) == frame_numbers(video, selection.times_s)
    assert np.array_equal(arrays(shown), [array for _, array in fetch(video, selection.times_s)])
    assert {image.size for image in fs.exhibit(video, selection, 32).images()} == {(48, 32)}


def test_times_between_frames_show_the_frame_on_screen(video):
    step_s = 1 / probe(video).fps
    times_s = [0.0, 0.4 * step_s, 2.0 + 0.5 * step_s, 2.0 + 0.9 * step_s]
    evidence = fs.Evidence(times_s=times_s, duration_s=probe(video).duration_s, scores=[1.0, 2.0, 3.0, 4.0])
    shown = fs.exhibit(video, fs.select_frames(evidence, budget=4, method="topk"))
    assert list(shown.numbers) == frame_numbers(video, [0.0, 0.0, 2.0, 2.0])
    assert shown.selection.times_s == times_s
    (_, first), (_, at_2) = fetch(video, [0.0, 2.0])
    assert np.array_equal(arrays(shown), [first, first, at_2, at_2])


@pytest.mark.parametrize("overlay", ["aligned", "blank"])
def test_band_is_drawn_only_on_frames_with_an_event(video, selection, overlay):
    plain, shown = fs.exhibit(video, selection, overlay="none"), fs.exhibit(video, selection, overlay=overlay)
    changed = [not np.array_equal(a, b) for a, b in zip(arrays(plain), arrays(shown), strict=True)]
    assert changed == [slot.event is not None for slot in selection.slots] and any(changed)
    assert any(frame.text for frame in shown.frames) == (overlay == "aligned")


@pytest.mark.parametrize("budget", [1, 2, 4, 8, 16])
def test_shuffled_overlay_moves_every_text_and_is_reproducible(video, budget):
    selection = make_selection(video, budget=budget)
    texts = [frame.text for frame in fs.exhibit(video, selection).frames]
    for seed in range(4):
        once, again = (
            [frame.text for frame in fs.exhibit(video, selection, overlay="shuffled", seed=seed).frames]
            for _ in range(2)
        )
        assert once == again and sorted(once) == sorted(texts)
        moved = [new != old for new, old in zip(once, texts, strict=True)]
        assert moved == [bool(text) and sum(map(bool, texts)) > 1 for text in texts]


def test_cached_and_new_images_come_in_order_of_time(video, selection):
    shown = fs.exhibit(video, selection, overlay="none")
    list(shown.bare_images(selection.times_s[1::2]))
    pictures = dict(shown.bare_images(selection.times_s))
    assert list(pictures) == selection.times_s
    assert all(np.array_equal(pictures[time_s], array) for time_s, array in fetch(video, selection.times_s))


@pytest.mark.parametrize("cache_bytes", [0, 10**9])
def test_images_are_the_same_again_with_and_without_a_cache(video, selection, monkeypatch, cache_bytes):
    monkeypatch.setattr(exhibits, "CACHE_BYTES", cache_bytes)
    shown = fs.exhibit(video, selection)
    assert np.array_equal(arrays(shown), arrays(shown))


@pytest.mark.parametrize(("option", "value"), [("overlay", "loud"), ("size", 0), ("size", "big")])
def test_bad_option_is_named(video, selection, option, value):
    with pytest.raises(OptionError, match=option):
        fs.exhibit(video, selection, **{option: value})


def test_selection_of_a_longer_video_is_rejected(video, selection):
    moved = replace(selection, slots=(replace(selection.slots[0], time_s=1234.5),))
    with pytest.raises(InputError, match=r"the time is 1234\.5 s; expected seconds from 0 to"):
        fs.exhibit(video, moved)


def test_events_for_assigns_the_event_at_the_time_of_each_slot(video, selection):
    plain = make_selection(video, method="uniform", budget=40)
    shown = {slot.time_s: slot.event for slot in events_for(plain, EVENTS).slots}
    # Of the two events at 12 s, the one that started last.
    expected = {2.0: EVENTS[0], 4.0: EVENTS[0], 5.0: None, 10.0: EVENTS[1], 12.0: EVENTS[2], 25.0: None}
    assert {time_s: shown[time_s] for time_s in expected} == expected
    for grounded in (selection, make_selection(video, alpha_ground=0.0)):
        assert events_for(grounded, EVENTS) is grounded
