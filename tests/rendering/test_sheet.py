import numpy as np
import pytest
from PIL import Image, ImageColor

from framesift.rendering.contact_sheet import Card, sheet
from framesift.rendering.palette import ROLE_COLOURS
from helpers.writing_systems import SENTENCES

RED = (250, 0, 0)


def card(role: str = "ground", *, size: tuple[int, int] = (160, 90), text: str = "") -> Card:
    return Card(Image.new("RGB", size, RED), "0:01:23", role, 0.5, text)


def box_of(image: Image.Image, colour: tuple[int, int, int]) -> tuple[int, int]:
    """Width and height of what has the colour."""
    rows, columns = np.nonzero((np.asarray(image) == colour).all(axis=2))
    return int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1


@pytest.mark.parametrize("count", [0, 1, 8, 32, 64, 256])
def test_sheet_has_its_width_and_a_sensible_height(count: int) -> None:
    made = sheet([card(text="word")] * count, title="Why?")
    assert made.width == 1600
    assert made.height <= 3000


@pytest.mark.parametrize("size", [(160, 90), (90, 160), (100, 100), (900, 20), (1, 1)])
def test_thumbnail_keeps_its_shape(size: tuple[int, int]) -> None:
    made = sheet([card(), card(), card(size=size)][-1:], title="")
    width, height = box_of(made, RED)
    assert abs(width * size[1] - height * size[0]) <= max(size)


@pytest.mark.parametrize("role", ROLE_COLOURS)
def test_strip_has_the_colour_of_the_role(role: str) -> None:
    made = sheet([card(role)], title="")
    assert box_of(made, ImageColor.getrgb(ROLE_COLOURS[role]))[0] > 100


def test_unknown_role_is_drawn_too() -> None:
    assert sheet([card("somebody's own"), card("")], title="?").width == 1600


def test_long_title_takes_three_lines_at_most() -> None:
    one, many, more = (sheet([card()], title="word " * count).height for count in (1, 300, 3000))
    assert one < many == more


def test_every_script_fits_under_its_card() -> None:
    made = sheet([card(text=text * 5) for text in SENTENCES.values()], title=SENTENCES["Arabic"])
    assert made.width == 1600


@pytest.mark.parametrize("width", [1, 60, 320, 5000])
def test_any_width_is_kept(width: int) -> None:
    assert sheet([card(text="some words")] * 9, title="Why?", width=width).width == width


def test_relevance_that_is_no_number_does_not_matter() -> None:
    assert sheet([Card(Image.new("L", (10, 10)), "", "", float("nan"))], title="").width == 1600
