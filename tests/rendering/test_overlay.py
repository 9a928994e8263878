import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage import data

from framesift.rendering.overlay import MOST_BAND, render
from framesift.rendering.typesetting import fonts
from framesift.text.ocr import load_ocr
from helpers.writing_systems import SENTENCES, differs

SIZES = [(64, 64), (384, 384), (1080, 1920), (1920, 1080), (90, 700), (2000, 70)]
LONG = "Somebody wrote this subtitle without any regard for the reader, and it goes on and on until it stops. " * 100
TOWER = "".join(letter + "\u0301\u0302\u0316\u0323" * 50 for letter in "tower")


def plain(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), (90, 140, 200))


def photograph(width: int, height: int) -> Image.Image:
    return Image.fromarray(data.astronaut()).resize((width, height))


def band_of(shown: Image.Image, picture: Image.Image) -> tuple[int, int]:
    """First and last row that changed."""
    rows = np.flatnonzero(differs(shown, picture).any(axis=1))
    return int(rows[0]), int(rows[-1])


@pytest.mark.parametrize(("size", "text"), [((7680, 4320), LONG), *itertools.product(SIZES, ["Yes.", LONG])])
def test_band_lies_along_the_bottom_and_takes_at_most_22_percent(size: tuple[int, int], text: str) -> None:
    picture = plain(*size)
    shown = render(picture, text)
    top, bottom = band_of(shown, picture)
    assert shown.size == size
    assert bottom == size[1] - 1
    assert size[1] - top <= MOST_BAND * size[1]


def test_pixels_above_the_band_stay_bit_for_bit() -> None:
    picture = photograph(640, 360)
    before = picture.tobytes()
    shown = render(picture, "Hello there")
    top = round(360 * (1 - MOST_BAND))
    assert picture.tobytes() == before
    assert shown.crop((0, 0, 640, top)).tobytes() == picture.crop((0, 0, 640, top)).tobytes()


@pytest.mark.parametrize("text", ["Yes.", SENTENCES["Thai"], LONG])
def test_blank_band_is_the_texts_band_without_ink(text: str) -> None:
    picture = plain(640, 360)
    blank = render(picture, text, blank=True)
    assert band_of(blank, picture) == band_of(render(picture, text), picture)
    assert blank.getcolors() is not None and len(blank.getcolors()) == 2


def test_band_lets_a_quarter_of_the_picture_through() -> None:
    shown = render(Image.new("RGB", (640, 360), "white"), "Yes.", blank=True)
    assert shown.getpixel((0, 359)) == (64, 64, 64)


def test_band_grows_with_its_text() -> None:
    picture = plain(640, 360)
    short, long = (band_of(render(picture, text), picture)[0] for text in ("Yes.", LONG))
    assert long < short


@pytest.mark.parametrize("size", SIZES)
def test_ink_stays_clear_of_the_bands_sides(size: tuple[int, int]) -> None:
    picture = plain(*size)
    ink = differs(render(picture, LONG), render(picture, LONG, blank=True))
    assert ink.any()
    assert not ink[:, 0].any() and not ink[:, -1].any()


@pytest.mark.parametrize("script", SENTENCES)
def test_every_script_leaves_ink(script: str) -> None:
    picture = plain(640, 360)
    ink = differs(render(picture, SENTENCES[script]), render(picture, SENTENCES[script], blank=True))
    assert ink.sum() > 500
    assert fonts.missing() == ()


@pytest.mark.parametrize("text", ["", "  \n\t ", "😀", "\u200d\u200e\u202e", "<i></i>", "{\\an8}", "\x00\x07"])
def test_nothing_to_say_leaves_a_copy(text: str) -> None:
    picture = photograph(64, 64)
    shown = render(picture, text)
    assert shown is not picture
    assert shown.tobytes() == picture.tobytes()


@pytest.mark.parametrize("text", [TOWER, "a\ud800b", "\u202eabc", LONG, "x" * 10_000, "\u0301", "༼ つ ◕_◕ ༽つ"])
def test_hostile_text_stays_inside_the_band(text: str) -> None:
    picture = plain(320, 180)
    shown = render(picture, text)
    assert shown.size == picture.size
    assert not differs(shown, picture)[: round(180 * (1 - MOST_BAND))].any()


def test_direction_override_does_not_turn_the_line() -> None:
    picture = plain(640, 360)
    assert (
        render(picture, "abc \u202edef \u2067ghi\u2069 \u200fjkl.").tobytes()
        == render(picture, "abc def ghi jkl.").tobytes()
    )


def test_grey_picture_stays_grey() -> None:
    assert render(Image.new("L", (320, 180), 200), "Hello").mode == "L"


def test_script_without_a_font_gives_no_band(latin_only: None) -> None:
    picture = photograph(320, 180)
    assert render(picture, "สวัสดี?").tobytes() == picture.tobytes()
    assert render(picture, "สวัสดี?", blank=True).tobytes() == picture.tobytes()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(), max_size=80),
    width=st.integers(1, 300),
    height=st.integers(1, 300),
    blank=st.booleans(),
)
def test_any_text_on_any_picture_touches_only_the_band(text: str, width: int, height: int, blank: bool) -> None:
    picture = plain(width, height)
    shown = render(picture, text, blank=blank)
    above = height - int(MOST_BAND * height)
    assert shown.size == picture.size
    assert shown.crop((0, 0, width, above)).tobytes() == picture.crop((0, 0, width, above)).tobytes()


@pytest.mark.parametrize("size", [(1920, 1080), (1080, 1920)])
@pytest.mark.parametrize(
    "text", ["The glacier carved this valley two million years ago", "今天我们来看一看这座城市的历史"]
)
def test_text_reads_back_from_a_frame_of_384(size: tuple[int, int], text: str) -> None:
    shown = render(photograph(*size), text).resize((384, 384), Image.Resampling.LANCZOS)
    read = "".join(line.text for line in load_ocr()(np.asarray(shown)) if line.box[1] > 0.7)
    letters = [c for c in text.casefold() if c.isalnum()]
    assert "".join(c for c in read.casefold() if c.isalnum()) == "".join(letters)
