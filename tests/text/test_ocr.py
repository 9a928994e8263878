"""Screen text, read with the real OCR models from drawn frames."""

import sys

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from framesift.errors import MissingExtra
from framesift.text import ocr
from framesift.text.ocr import ScreenLine, join_rows, read_screen
from helpers.subtitle_files import triples

WIDTH, HEIGHT = 480, 270


def draw_frame(*texts, shade=40, size=22):
    """Draw texts, (x, y, text), on a plain background; x None: centred."""
    image = Image.new("RGB", (WIDTH, HEIGHT), (shade, shade + 20, shade + 40))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size)
    for x, y, words in texts:
        left = (WIDTH - draw.textlength(words, font=font)) / 2 if x is None else x
        draw.text((left, y), words, font=font, fill="white")
    return np.asarray(image)


def subtitle(words, **kwargs):
    return draw_frame((None, 230, words), **kwargs)


def read_all(frames, **kwargs):
    return read_screen(enumerate(frames), duration_s=float(len(frames)), **kwargs)


def test_each_burned_in_subtitle_is_one_event_from_its_first_to_its_last_appearance():
    lines = ["You broke my heart", "The world has changed"]
    frames = [subtitle(line, shade=40 + 30 * k) for line in lines for k in range(2)]
    events = read_all([draw_frame(), *frames])
    assert triples(events) == [(2 * k + 1, 2 * k + 2, line) for k, line in enumerate(lines)]
    assert {event.source for event in events} == {"screen"}


TWO_LINES = draw_frame((None, 204, "You have your robotics"), (None, 232, "and I want to go to space"))
CHANGED = [*[subtitle("Two minutes left")] * 3, subtitle("Speed up please")]


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([TWO_LINES], [(0, 0, "You have your robotics and I want to go to space")]),
        (CHANGED, [(0, 2, "Two minutes left"), (3, 3, "Speed up please")]),
        ([draw_frame((20, 8, "Lecture three"))] * 8, [(0, 7, "Lecture three")]),
    ],
    ids=["two lines are one event", "a changed line is read", "the only slide is an event"],
)
def test_text_that_is_drawn_becomes_events(frames, expected):
    assert triples(read_all(frames)) == expected


def test_models_come_from_the_wheel_without_a_download(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", refuse)
    noise = np.random.default_rng(0).integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    frames = [draw_frame(), noise, subtitle("This is Celia")]
    assert [event.text for event in read_all(frames)] == ["This is Celia"]


def test_progress_ends_at_the_last_frame():
    calls = []
    read_all([draw_frame()] * 3, progress=lambda stage, done, total: calls.append((done, total)))
    assert calls == [(0, 3.0), (0, 3.0), (1, 3.0), (2, 3.0)]  # first before the model is loaded


def line(text, *, confidence=0.9, box=(0.3, 0.85, 0.7, 0.92)):
    return ScreenLine(text, confidence, *box)


EDGE = (0.02, 0.02, 0.3, 0.08)
LOGO = [line("ACME TV NEWS", box=EDGE)]
LOVE = [line("I love you")]
# What is read in each frame: the events.
READINGS = {
    "small differences merge into the most confident reading": (
        [[line("Be tander to her", confidence=0.8)], [line("Be tender to her")], [line("Be tender to hen")]],
        [(0, 2, "Be tender to her")],
    ),
    "a text missed once is one event": ([LOVE, [], LOVE], [(0, 2, "I love you")]),
    "the same much later is a new one": ([LOVE, [], [], [], LOVE], [(0, 0, "I love you"), (4, 4, "I love you")]),
    "a running clock at the edge is a logo": ([[line(f"REC 00:1{k}:{k}{k}", box=EDGE)] for k in range(6)], []),
    "a partly read logo is dropped": ([*[LOGO] * 4, [line("ACM", box=(0.02, 0.02, 0.1, 0.08))], *[LOGO] * 5], []),
    "permanent text in the middle is kept": (
        [[line("The theory of everything", box=(0.2, 0.45, 0.8, 0.55))]] * 10,
        [(0, 9, "The theory of everything")],
    ),
}


@pytest.mark.parametrize("case", READINGS)
def test_readings_with_errors_become_events(case, monkeypatch):
    readings, expected = READINGS[case]
    remaining = iter(readings)
    monkeypatch.setattr(ocr, "load_ocr", lambda: lambda frame: next(remaining))
    assert triples(read_all([draw_frame(shade=20 + 20 * k) for k in range(len(readings))])) == expected


def test_only_boxes_side_by_side_are_one_line():
    adjoining = [line("LATER", box=(0.52, 0.5, 0.64, 0.56)), line("40 YEARS", box=(0.3, 0.5, 0.5, 0.56))]
    distant = [line("HOME 2", box=(0.0, 0.0, 0.12, 0.06)), line("LIVE", box=(0.9, 0.0, 1.0, 0.06))]
    assert [part.text for part in join_rows(adjoining)] == ["40 YEARS LATER"]
    assert [part.text for part in join_rows(distant)] == ["HOME 2", "LIVE"]


def test_frames_that_differ_only_by_noise_are_read_once(monkeypatch):
    noise, read = np.random.default_rng(1).normal(0, 6, (HEIGHT, WIDTH, 3)), []
    shown = subtitle("Memory override in progress")
    noisy = (shown + noise).clip(0, 255).astype(np.uint8)
    monkeypatch.setattr(ocr, "load_ocr", lambda: lambda frame: read.append(frame.shape) or [])
    read_all([shown, noisy, shown[:200]])
    assert read == [(HEIGHT, WIDTH, 3), (200, WIDTH, 3)]


@pytest.mark.parametrize("package", ["rapidocr", "onnxruntime"])
def test_missing_extra_is_reported_with_its_remedy(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'framesift\[screentext\]'"):
        read_screen([], duration_s=1.0)
