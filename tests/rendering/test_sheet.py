from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageColor

from framesift.rendering.contact_sheet import Card, sheet
from framesift.rendering.palette import ROLE_COLOURS
from helpers.writing_systems import SENTENCES

RED = (250, 0, 0)


def card(role: str = "ground", *, size: tuple[int, int] = (160, 90), text: str = "") -> Card:
    return Card(Image.new("RGB", size, RED), "0:01:23", role, text, is_damaged=False)


def box_of(image: Image.Image, colour: tuple[int, int, int]) -> tuple[int, int]:
    """Width and height of the area in this colour."""
    rows, columns = np.nonzero((np.asarray(image) == colour).all(axis=2))
    return int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1


@pytest.mark.parametrize(("count", "width"), [(0, 1600), (1, 1600), (64, 1600), (9, 1), (9, 60), (9, 320), (9, 5000)])
def test_sheet_has_the_given_width_and_a_bounded_height(count, width):
    drawn = sheet([card(text="some words")] * count, title="Why?", width=width)
    assert drawn.width == width and drawn.height <= max(3000, 3 * width)


@pytest.mark.parametrize("size", [(160, 90), (90, 160), (100, 100), (900, 20), (1, 1)])
def test_thumbnail_keeps_its_aspect_ratio(size):
    drawn = sheet([card(size=size)], title="")
    width, height = box_of(drawn, RED)
    assert abs(width * size[1] - height * size[0]) <= max(size)


@pytest.mark.parametrize("role", ROLE_COLOURS)
def test_strip_has_the_colour_of_the_role(role):
    drawn = sheet([card(role)], title="")
    assert box_of(drawn, ImageColor.getrgb(ROLE_COLOURS[role]))[0] > 100


def test_damaged_frame_is_marked():
    plain, marked = (np.asarray(sheet([replace(card(), is_damaged=flag)], title="")) for flag in (False, True))
    assert plain.shape == marked.shape and (plain != marked).any()


def test_long_title_takes_at_most_three_lines():
    one, many, more = (sheet([card()], title="word " * count).height for count in (1, 300, 3000))
    assert one < many == more


def test_every_script_unknown_roles_and_nan_are_drawn():
    cards = [card(text=text * 5) for text in SENTENCES.values()] + [card("custom"), card("")]
    cards.append(Card(Image.new("L", (10, 10)), "", "", "", is_damaged=False))
    assert sheet(cards, title=SENTENCES["Arabic"]).width == 1600
