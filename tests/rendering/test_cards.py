"""Memory cards: which text belongs to which frame, and a header that never enlarges the canvas."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import framesift as fs
from framesift.rendering.cards import BACKGROUND, MAX_HEADER, MemoryCard, memory_cards, render_card
from framesift.types import Basis
from helpers.examples import UNCHECKED
from helpers.showcase import make_selection, make_video

CARD = MemoryCard("Card 1 of 3 · 00:00–00:20 · frame at 00:05", "Arrival", "We have to follow our passions. " * 9)


def selection_of(times_s, events=(), duration_s=60.0, method="uniform", **trace):
    slots = tuple(fs.Slot(k, time_s, "context", 0.0) for k, time_s in enumerate(times_s))
    basis = Basis(np.array(times_s), np.zeros(len(times_s)), duration_s, tuple(events))
    return fs.Selection(slots, method, len(slots), trace, basis)


def heard(selection):
    return [card.heard for card in memory_cards(selection)]


def test_a_text_belongs_to_the_frame_around_which_its_middle_lies():
    events = [fs.Event(12, 20, "b"), fs.Event(0, 18, "a"), fs.Event(19, 23, "c"), fs.Event(59, 60, "d")]
    assert heard(selection_of([10.0, 30.0], events)) == ["a b", "c d"]
    assert heard(selection_of([10.0, 30.0], [fs.Event(20, 20, "in the middle")])) == ["", "in the middle"]
    assert heard(selection_of([10.0], [fs.Event(60, 60, "at the end")])) == ["at the end"]


@settings(suppress_health_check=[*UNCHECKED, HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.floats(0, 60), min_size=1, max_size=12, unique=True).map(sorted),
    st.lists(st.floats(0, 60), max_size=30),
)
def test_every_text_is_on_one_card(times_s, starts):
    events = [fs.Event(start, 60.0 if start > 55 else start + 5, f"<{k}>") for k, start in enumerate(starts)]
    said = " ".join(heard(selection_of(times_s, events))).split()
    assert sorted(said) == sorted(f"<{k}>" for k in range(len(starts)))


def test_frames_of_one_session_share_its_topic_and_text():
    rows = [
        {"start_s": 0.0, "end_s": 20.0, "topic": "Arrival", "summary": "", "frames": 2},
        {"start_s": 20.0, "end_s": 60.0, "topic": "Chase", "summary": "", "frames": 1},
    ]
    events = [fs.Event(1, 3, "Hello."), fs.Event(18, 24, "Run!")]
    cards = memory_cards(selection_of([2.0, 15.0, 20.0], events, method="memorycard", sessions=rows))
    assert [card.text.split("\n") for card in cards] == [
        ["Card 1 of 2 · 00:00–00:20 · frame at 00:02", "Topic: Arrival", "Heard: Hello."],
        ["Card 1 of 2 · 00:00–00:20 · frame at 00:15", "Topic: Arrival", "Heard: Hello."],
        ["Card 2 of 2 · 00:20–01:00 · frame at 00:20", "Topic: Chase", "Heard: Run!"],
    ]


def test_sessions_that_cannot_be_read_are_an_error():
    for rows in ([{"start_s": 0}], [{"start_s": "nan", "end_s": 1, "topic": ""}], 3, ["a"]):
        with pytest.raises(fs.InputError, match="sessions of this selection can't be read; select the frames again"):
            memory_cards(selection_of([1.0], method="memorycard", sessions=rows))


def test_a_selection_without_basis_has_cards_without_speech():
    selection = fs.Selection((fs.Slot(0, 3.0, "context", 0.0),), "uniform", 1)
    assert memory_cards(selection)[0].text == "Card 1 of 1 · 00:00–00:03 · frame at 00:03"


@settings(max_examples=40, deadline=None, suppress_health_check=[*UNCHECKED, HealthCheck.function_scoped_fixture])
@given(st.integers(1, 400), st.integers(1, 400), st.sampled_from(["RGB", "L", "RGBA"]))
def test_the_canvas_keeps_its_size(width, height, mode):
    image = Image.new(mode, (width, height), 200 if mode == "L" else "red")
    assert render_card(image, CARD).size == (width, height)
    assert image.size == (width, height)


def test_the_whole_frame_is_below_the_header():
    # A frame with a corner of its own colour at each end.
    image = Image.new("RGB", (640, 360), "gray")
    corners = {"red": (0, 0), "lime": (580, 0), "blue": (0, 300), "yellow": (580, 300)}
    for colour, at in corners.items():
        image.paste(colour, (*at, at[0] + 60, at[1] + 60))
    pixels = np.asarray(render_card(image, CARD)).astype(int)
    for colour in corners:
        reference = np.asarray(Image.new("RGB", (1, 1), colour))[0, 0].astype(int)
        assert (np.abs(pixels - reference).max(axis=2) < 30).sum() > 1500, colour
    rows = np.flatnonzero((np.abs(pixels - (128, 128, 128)).max(axis=2) < 10).sum(axis=1) > 100)
    assert rows[0] <= MAX_HEADER * 360 + 1 and rows[-1] == 359


def test_the_header_is_only_as_high_as_its_text():
    parts = [MemoryCard(CARD.heading), MemoryCard(CARD.heading, CARD.topic), CARD]
    for width, height in [(640, 360), (426, 190), (384, 384), (320, 240), (1920, 1080), (360, 640)]:
        image = Image.new("RGB", (width, height), "white")
        pixels = [np.asarray(render_card(image, card).convert("L")) for card in parts]
        # The first row with the frame in it.
        headers = [int(np.flatnonzero((rows > 250).mean(axis=1) > 0.5)[0]) for rows in pixels]
        assert 0 < headers[0] < headers[1] < headers[2] <= MAX_HEADER * height, (width, height)


def test_a_frame_too_small_for_text_is_unchanged():
    image = Image.new("RGB", (32, 20), "red")
    assert render_card(image, CARD).tobytes() == image.tobytes()
    large = Image.new("RGB", (320, 180), "red")
    assert render_card(large, MemoryCard("")).tobytes() == large.tobytes()


def test_exhibit_with_cards_has_their_text_and_the_size_of_the_video(tmp_path):
    video = make_video(tmp_path, size=(320, 180))
    selection = make_selection(video, method="uniform", budget=3)
    exhibit = fs.exhibit(video, selection, overlay="memorycard")
    assert [frame.text for frame in exhibit.frames] == [card.text for card in memory_cards(selection)]
    pictures = list(exhibit.pictures())
    assert {picture.size for picture in pictures} == {(320, 180)}
    dark = Image.new("RGB", (1, 1), BACKGROUND).getpixel((0, 0))
    assert all(picture.getpixel((0, 0)) == dark for picture in pictures)
    folder = exhibit.save(tmp_path / "out")
    saved = json.loads((folder / "selection.json").read_text(encoding="utf-8"))
    assert saved["overlay"]["mode"] == "memorycard"
    assert saved["slots"][0]["text"].startswith("Card 1 of 3")


def test_reader_sees_cards_and_no_text_in_the_prompt(tmp_path):
    from framesift.readers.prompts import compose

    video = make_video(tmp_path, size=(320, 180))
    exhibit = fs.exhibit(video, make_selection(video, method="uniform", budget=3))
    prompt = compose(exhibit, fs.Question("What?"), "memorycard")
    cards = exhibit.with_overlay("memorycard").pictures()
    assert [image.tobytes() for image in prompt.images] == [image.tobytes() for image in cards]
    assert "Heard" not in prompt.text
