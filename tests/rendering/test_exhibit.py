"""The exhibit: the right frames, the right words on them, and the controls of the ablation."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ImageChops

import framesift as fs
from framesift.errors import InputError, OptionError
from framesift.rendering import exhibit as build
from framesift.video.frames import fetch, frame_numbers
from helpers.showcase import EVENTS, QUESTION, make_selection


@pytest.fixture(scope="module")
def selection(video):
    return make_selection(video)


def test_shows_the_very_frames_that_were_selected(video, selection):
    shown = fs.exhibit(video, selection, overlay="none")
    assert list(shown.numbers) == frame_numbers(video, selection.times_s)
    for picture, (_, array) in zip(shown.pictures(), fetch(video, selection.times_s), strict=True):
        assert np.array_equal(np.asarray(picture), array)


def test_draws_on_frames_with_an_event_and_on_no_other(video, selection):
    plain, drawn = fs.exhibit(video, selection, overlay="none"), fs.exhibit(video, selection)
    changed = [
        ImageChops.difference(a, b).getbbox() is not None
        for a, b in zip(plain.pictures(), drawn.pictures(), strict=True)
    ]
    assert changed == [slot.event is not None for slot in selection.slots]
    assert any(changed)


def test_size_is_the_shorter_side(video, selection):
    assert {picture.size for picture in fs.exhibit(video, selection, 32).pictures()} == {(48, 32)}


def test_scales_shrink_frames_by_their_rank_of_relevance(video):
    selection = make_selection(video, method="topk", budget=6)
    shown = fs.exhibit(video, selection, scales=((1, 1 / 2), (2, 1 / 4)))
    widths = [picture.width for picture in shown.pictures()]
    ranked = sorted(zip(selection.slots, widths, strict=True), key=lambda pair: -pair[0].relevance)
    assert [width for _, width in ranked] == [48, 24, 24, 24, 24, 24]


def test_knows_its_question(video, selection):
    assert fs.exhibit(video, selection).question == QUESTION


def test_blank_has_no_words_but_the_same_band(video, selection):
    blank = fs.exhibit(video, selection, overlay="blank")
    assert {frame.text for frame in blank.frames} == {""}
    shown = [np.asarray(p) for p in blank.pictures()]
    plain = [np.asarray(p) for p in fs.exhibit(video, selection, overlay="none").pictures()]
    with_event = [k for k, slot in enumerate(selection.slots) if slot.event]
    assert all((shown[k] != plain[k]).any() for k in with_event)


def test_shuffled_puts_every_text_on_another_frame_and_repeats(video):
    selection = make_selection(video, budget=16)
    texts = [frame.text for frame in fs.exhibit(video, selection).frames]
    once, again = (fs.exhibit(video, selection, overlay="shuffled", seed=3).frames for _ in range(2))
    assert [f.text for f in once] == [f.text for f in again]
    assert sorted(f.text for f in once) == sorted(texts)
    assert all(f.text != text for f, text in zip(once, texts, strict=True) if text)


@given(st.lists(st.sampled_from(["", "a", "b", "c", "d"]), max_size=12), st.integers(0, 5))
def test_shuffling_moves_words_only_among_frames_that_have_some(texts, seed):
    shuffled = build._shuffled(texts, seed)
    assert sorted(shuffled) == sorted(texts)
    assert [bool(t) for t in shuffled] == [bool(t) for t in texts]


def test_another_overlay_decodes_nothing_again(video, selection, monkeypatch):
    shown = fs.exhibit(video, selection)
    list(shown.pictures())
    monkeypatch.setattr(build, "fetch", lambda *a, **k: pytest.fail("decoded again"))
    assert len(list(shown.with_overlay("blank").pictures())) == len(selection)


def test_pictures_too_large_to_keep_are_decoded_again(video, selection, monkeypatch):
    monkeypatch.setattr(build, "KEPT_BYTES", 0)
    shown = fs.exhibit(video, selection)
    first, second = ([p.tobytes() for p in shown.pictures()] for _ in range(2))
    assert first == second and not shown._bare


@pytest.mark.parametrize(
    ("option", "value"), [("overlay", "loud"), ("size", 0), ("size", "big"), ("scales", ((4, 2.0),))]
)
def test_bad_option_is_named(video, selection, option, value):
    with pytest.raises(OptionError, match=option):
        fs.exhibit(video, selection, **{option: value})


def test_selection_of_another_video_is_refused(video, selection):
    moved = replace(selection, slots=(replace(selection.slots[0], time_s=1.2345),))
    with pytest.raises(InputError, match=r"1\.23"):
        fs.exhibit(video, moved)


def test_events_for_gives_each_slot_what_is_on_screen(video):
    plain = make_selection(video, method="uniform", budget=40)
    shown = {slot.time_s: slot.event for slot in fs.events_for(plain, EVENTS).slots}
    assert shown[2.0] == shown[4.0] == EVENTS[0]
    assert shown[10.0] == EVENTS[1]
    assert shown[12.0] == EVENTS[2]  # of two, the one that came last
    assert shown[5.0] is None and shown[25.0] is None


def test_events_for_leaves_a_grounded_selection_alone(video, selection):
    assert fs.events_for(selection, EVENTS) is selection
    without = make_selection(video, alpha_ground=0.0)
    assert fs.events_for(without, EVENTS) is without
