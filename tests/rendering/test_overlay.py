import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage import data

from framesift.rendering.overlay import MAX_BAND, render
from framesift.text.ocr import load_ocr
from helpers.examples import UNCHECKED, examples
from helpers.writing_systems import SENTENCES, differs

SIZES = [(64, 64), (384, 384), (1920, 1080), (90, 700), (2000, 70)]
LONG = "Somebody wrote this subtitle without any regard for the reader, and it goes on and on until it stops. " * 100
STACKED_MARKS = "".join(letter + "\u0301\u0302\u0316\u0323" * 50 for letter in "tower")


BLUE, THREE_QUARTERS_BLACK = (80, 140, 200), (20, 35, 50)


def plain(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), BLUE)


def photograph(width: int, height: int) -> Image.Image:
    return Image.fromarray(data.astronaut()).resize((width, height))


def band_of(rendered: Image.Image, image: Image.Image) -> tuple[int, int]:
    """First and last row that changed."""
    rows = np.flatnonzero(differs(rendered, image).any(axis=1))
    return int(rows[0]), int(rows[-1])


def test_band_is_at_the_bottom_takes_at_most_22_percent_and_grows_with_its_text() -> None:
    for size in SIZES:
        image = plain(*size)
        bands = [band_of(render(image, text), image) for text in ("Yes.", LONG)]
        assert {bottom for _, bottom in bands} == {size[1] - 1}, size
        short, long = (size[1] - top for top, _ in bands)
        assert short <= MAX_BAND * size[1] >= long and (short < long or size[0] < 100 or size[1] < 100), size


@pytest.mark.parametrize("text", ["Yes.", SENTENCES["Thai"], LONG])
def test_blank_band_has_the_size_of_the_texts_band(text: str) -> None:
    image = plain(640, 360)
    blank = render(image, text, blank=True)
    assert band_of(blank, image) == band_of(render(image, text), image)
    assert {colour for _, colour in blank.getcolors()} == {BLUE, THREE_QUARTERS_BLACK}


@pytest.mark.parametrize("size", SIZES)
def test_text_keeps_a_margin_at_both_sides(size: tuple[int, int]) -> None:
    image = plain(*size)
    ink = differs(render(image, LONG), render(image, LONG, blank=True))
    assert ink.any()
    assert not ink[:, 0].any() and not ink[:, -1].any()


@pytest.mark.parametrize("text", ["", "  \n\t ", "😀", "\u200d\u200e\u202e", "<i></i>", "{\\an8}", "\x00\x07"])
def test_text_without_visible_letters_gives_an_unchanged_copy(text: str) -> None:
    image = photograph(64, 64)
    rendered = render(image, text)
    assert rendered is not image and rendered.tobytes() == image.tobytes()


def test_direction_controls_have_no_effect() -> None:
    image = plain(640, 360)
    controls = render(image, "abc \u202edef \u2067ghi\u2069 \u200fjkl.")
    assert controls.tobytes() == render(image, "abc def ghi jkl.").tobytes()


@pytest.mark.parametrize("blank", [False, True])
def test_script_without_a_font_gives_no_band(latin_only: None, blank: bool) -> None:
    image = photograph(320, 180).convert("L")
    assert render(image, "สวัสดี?", blank=blank).tobytes() == image.tobytes()


def changes_only_the_band(image: Image.Image, text: str, *, blank: bool) -> bool:
    before = image.tobytes()
    rendered = render(image, text, blank=blank)
    assert (rendered.size, rendered.mode) == (image.size, image.mode)
    above = (0, 0, image.width, image.height - int(MAX_BAND * image.height))
    return rendered.crop(above).tobytes() == image.crop(above).tobytes() and image.tobytes() == before


@pytest.mark.parametrize("text", [STACKED_MARKS, "a\ud800b", "\u202eabc", LONG, "x" * 10_000, "\u0301", "༼ つ ◕_◕ ༽つ"])
def test_unusual_text_changes_only_the_band(text: str) -> None:
    assert changes_only_the_band(photograph(320, 180).convert("L"), text, blank=False)


@settings(max_examples=examples(60), suppress_health_check=[*UNCHECKED, HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=80), st.integers(1, 300), st.integers(1, 300), st.booleans())
def test_any_text_on_any_image_changes_only_the_band(text: str, width: int, height: int, blank: bool) -> None:
    assert changes_only_the_band(plain(width, height), text, blank=blank)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ((1920, 1080), "The glacier carved this valley two million years ago"),
        ((1080, 1920), "今天我们来看一看这座城市的历史"),
    ],
)
def test_ocr_reads_the_text_at_384_pixels(size: tuple[int, int], text: str) -> None:
    rendered = render(photograph(*size), text).resize((384, 384), Image.Resampling.LANCZOS)
    read = "".join(line.text for line in load_ocr()(np.asarray(rendered)) if line.top > 0.7)
    letters, expected = ("".join(filter(str.isalnum, words.casefold())) for words in (read, text))
    assert letters == expected
