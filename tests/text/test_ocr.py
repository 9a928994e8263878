"""Text on screen, read for real from pictures drawn here."""

import sys

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from framesift.errors import MissingExtra
from framesift.text import ocr as screentext
from framesift.text.ocr import Line, Sighting, clean, read_screen, rows, same_picture, thumbnail, without_logos

WIDTH, HEIGHT = 480, 270
needs_reader = pytest.mark.skipif(
    not screentext.available()[0], reason="screen text is read with rapidocr: pip install 'framesift[screentext]'"
)


def picture(*texts, shade=40, size=22):
    """Texts as (x, y, words) on a plain ground; x None: centred."""
    image = Image.new("RGB", (WIDTH, HEIGHT), (shade, shade + 20, shade + 40))
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size)
    for x, y, words in texts:
        left = (WIDTH - draw.textlength(words, font=font)) / 2 if x is None else x
        draw.text((left, y), words, font=font, fill="white")
    return np.asarray(image)


def subtitle(words, **kwargs):
    return picture((None, 230, words), **kwargs)


def read_all(pictures, **kwargs):
    return read_screen(enumerate(pictures), duration_s=float(len(pictures)), **kwargs)


def told(events):
    return [(event.start_s, event.end_s, event.text) for event in events]


@pytest.fixture
def readings(monkeypatch):
    """The pictures that are really read, counted; the reading itself is left as it is."""
    counted = []
    load = screentext.load_reader

    def load_counting():
        read = load()
        return lambda picture: counted.append(picture) or read(picture)

    monkeypatch.setattr(screentext, "load_reader", load_counting)
    return counted


@needs_reader
def test_text_lasts_from_first_to_last_sighting():
    shown = subtitle("Nothing to worry about")
    events = read_all([picture(), shown, shown, shown, picture()])
    assert told(events) == [(1, 3, "Nothing to worry about")]
    assert events[0].source == "screen"


@needs_reader
def test_each_burned_in_subtitle_is_one_event():
    lines = ["You broke my heart", "I should just crush you", "The world has changed"]
    pictures = [subtitle(line, shade=40 + 30 * k) for line in lines for k in range(2)]
    assert told(read_all(pictures)) == [(2 * k, 2 * k + 1, line) for k, line in enumerate(lines)]


@needs_reader
def test_subtitle_of_two_lines_is_one_event():
    shown = picture((None, 204, "You have your robotics"), (None, 232, "and I want to go to space"))
    assert told(read_all([shown])) == [(0, 0, "You have your robotics and I want to go to space")]


@needs_reader
def test_unchanged_pictures_are_read_once(readings):
    events = read_all([subtitle("Quiet on set")] * 6)
    assert len(readings) == 1
    assert told(events) == [(0, 5, "Quiet on set")]


@needs_reader
def test_a_changed_line_in_an_unchanged_picture_is_noticed(readings):
    events = read_all([subtitle("Two minutes left"), subtitle("Speed up please")])
    assert len(readings) == 2
    assert [event.text for event in events] == ["Two minutes left", "Speed up please"]


@needs_reader
def test_permanent_logo_is_no_event():
    logo = (360, 8, "ACME TV")
    pictures = [picture(logo, shade=20 + 25 * k) for k in range(6)]
    pictures[2] = picture(logo, (None, 230, "There she is"), shade=90)
    assert [event.text for event in read_all(pictures)] == ["There she is"]


@needs_reader
def test_the_only_slide_of_a_still_video_is_an_event():
    assert [event.text for event in read_all([picture((20, 8, "Lecture three"))] * 8)] == ["Lecture three"]


@needs_reader
def test_pictures_without_text_give_nothing():
    noise = np.random.default_rng(0).integers(0, 255, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    assert read_all([picture(), noise]) == []


@needs_reader
def test_models_come_from_the_wheel_and_nothing_is_fetched(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr("socket.socket.connect", refuse)
    assert [event.text for event in read_all([subtitle("This is Celia")])] == ["This is Celia"]


@needs_reader
def test_progress_ends_at_the_last_picture():
    calls = []
    read_all([picture()] * 3, progress=lambda stage, done, total: calls.append((done, total)))
    assert calls == [(0, 3.0), (1, 3.0), (2, 3.0)]


def test_no_pictures_give_no_events(monkeypatch):
    monkeypatch.setattr(screentext, "load_reader", lambda: lambda picture: [])
    assert read_screen([], duration_s=10.0) == []


def line(text, *, confidence=0.9, box=(0.3, 0.85, 0.7, 0.92)):
    return Line(text, confidence, box)


@pytest.fixture
def scripted(monkeypatch):
    """Readings given one by one, for what drawn pictures can't show: a reader's own slips."""

    def use(*per_picture):
        left = iter(per_picture)
        monkeypatch.setattr(screentext, "load_reader", lambda: lambda picture: next(left))
        return read_all([picture(shade=20 + 20 * k) for k in range(len(per_picture))])

    return use


def test_small_differences_merge_into_the_most_confident_reading(scripted):
    events = scripted(
        [line("Be tander to her", confidence=0.8)], [line("Be tender to her")], [line("Be tender to hen")]
    )
    assert told(events) == [(0, 2, "Be tender to her")]


def test_text_missed_once_stays_one_event(scripted):
    assert told(scripted([line("I love you")], [], [line("I love you")])) == [(0, 2, "I love you")]


def test_the_same_text_much_later_is_a_new_event(scripted):
    again = [line("I love you")]
    assert told(scripted(again, [], [], [], again)) == [(0, 0, "I love you"), (4, 4, "I love you")]


def test_running_clock_at_the_edge_is_a_logo(scripted):
    def clock(k):
        return Line(f"REC 00:1{k}:{k}{k}", 0.95, (0.02, 0.02, 0.3, 0.08))

    assert scripted(*([clock(k)] for k in range(6))) == []


def test_half_read_logo_goes_with_the_logo():
    box = (0.02, 0.02, 0.3, 0.08)
    logo = Sighting(line("ACME TV NEWS", box=box), line("ACME TV NEWS", box=box), 0.0, 9.0, pictures=9)
    half = Sighting(line("ACM", box=(0.02, 0.02, 0.1, 0.08)), line("ACM"), 4.0, 4.0)
    assert without_logos([logo, half], 10) == []


def test_lasting_text_in_the_middle_is_no_logo():
    title = line("The theory of everything", box=(0.2, 0.45, 0.8, 0.55))
    sighting = Sighting(title, title, 0.0, 9.0, pictures=10)
    assert without_logos([sighting], 10) == [sighting]


def test_boxes_side_by_side_are_one_line():
    parts = [line("40 YEARS", box=(0.3, 0.5, 0.5, 0.56)), line("LATER", box=(0.52, 0.5, 0.64, 0.56))]
    assert [part.text for part in rows(parts[::-1])] == ["40 YEARS LATER"]


def test_texts_far_apart_on_one_row_stay_apart():
    parts = [line("HOME 2", box=(0.0, 0.0, 0.12, 0.06)), line("LIVE", box=(0.9, 0.0, 1.0, 0.06))]
    assert [part.text for part in rows(parts)] == ["HOME 2", "LIVE"]


def test_control_characters_are_stripped():
    assert clean("pay\x1b[31m\u202enow\x00\u2066 \ufeff!") == "pay [31m now !"


def test_joiners_that_belong_to_the_spelling_stay():
    assert clean("می\u200cخواهم") == "می\u200cخواهم"


def test_compression_noise_is_the_same_picture():
    shown = subtitle("Memory override in progress")
    noise = np.random.default_rng(1).normal(0, 6, shown.shape)
    noisy = (shown + noise).clip(0, 255).astype(np.uint8)
    assert same_picture(thumbnail(shown), thumbnail(noisy))


def test_pictures_of_another_size_differ():
    assert not same_picture(thumbnail(picture()), thumbnail(picture()[:200]))


def test_absent_extra_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setattr(screentext.importlib.util, "find_spec", lambda name: None)
    usable, why = screentext.available()
    assert not usable and "pip install 'framesift[screentext]'" in why
    with pytest.raises(MissingExtra, match="rapidocr"):
        read_screen([], duration_s=1.0)


def test_asking_whether_it_can_run_imports_no_reader(monkeypatch):
    monkeypatch.delitem(sys.modules, "rapidocr", raising=False)
    screentext.available()
    assert "rapidocr" not in sys.modules
