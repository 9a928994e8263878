"""Frames that show nothing, and frames that show the same: they differ by less than noise in every cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFilter

from framesift.video.blank import is_blank, is_unchanged, reduce_picture, small_picture

SIZE = (640, 360)
SCREEN = np.full((448, 796, 3), 240, np.uint8)


def plain(colour=(0, 0, 0), size=SIZE):
    return Image.new("RGB", size, colour)


def scene(seed=0, size=SIZE):
    """A picture with large and small shapes, as sharp as film."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (9, 16, 3), dtype=np.uint8)).resize(size, Image.Resampling.BICUBIC)
    return coarse.filter(ImageFilter.GaussianBlur(2))


def write(image, text, place, fill=(230, 230, 230), size=18):
    ImageDraw.Draw(image).text(place, text, fill=fill, font_size=size)
    return image


def with_noise(image, sigma, seed=0):
    noise = np.random.default_rng(seed).normal(0, sigma, (image.height, image.width, 1))
    return Image.fromarray((np.asarray(image) + noise).clip(0, 255).astype(np.uint8))


def faded(image, share, to=0):
    return Image.fromarray((np.asarray(image) * share + to * (1 - share)).round().astype(np.uint8))


def letterboxed(image, bar):
    frame = plain(size=(image.width, image.height + 2 * bar))
    frame.paste(image, (0, bar))
    return frame


def candle():
    image = plain((3, 3, 4))
    ImageDraw.Draw(image).ellipse((310, 190, 316, 204), fill=(255, 210, 120))
    return image


def stars():
    pixels = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    rng = np.random.default_rng(1)
    for row, column in zip(rng.integers(60, 300, 40), rng.integers(60, 580, 40), strict=True):
        pixels[row : row + 2, column : column + 2] = 220
    return Image.fromarray(pixels)


BLANK = {
    "black": plain(),
    "compressed black": with_noise(plain((4, 4, 4)), 1.5),
    "grain": with_noise(plain((8, 8, 8)), 4),
    "white": plain((255, 255, 255)),
    "one colour": plain((20, 40, 160)),
    "end of a fade to black": faded(scene(), 0.02),
    "end of a fade to white": faded(scene(), 0.02, to=255),
    "white between black bars": letterboxed(plain((255, 255, 255)), 50),
    "grey in a vertical frame": Image.fromarray(np.rot90(np.asarray(letterboxed(plain((90, 90, 90)), 160))).copy()),
    "counter in the corner": write(plain(), "1000k 784x350 14127", (8, 4), size=14),
    "station logo in the corner": write(plain(), "TV 1", (570, 28), size=22),
    "tiny": plain(size=(16, 9)),
    "one pixel": plain(size=(1, 1)),
}
SHOWN = {
    "scene": scene(),
    "dark scene": faded(scene(), 0.1),
    "fog": faded(scene(), 0.1, to=220),
    "snow": faded(scene(), 0.06, to=255),
    "title": write(plain(), "Tears of Steel", (250, 170)),
    "small title": write(plain(), "a film by", (290, 175), size=11),
    "subtitle on black": write(plain(), "What was that?", (250, 310)),
    "slide with little text": write(plain((255, 255, 255)), "Thank you", (280, 160), fill=(40, 40, 40)),
    "candle in the dark": candle(),
    "stars": stars(),
    "dark scene between black bars": letterboxed(faded(scene(), 0.1), 50),
    "two colours of equal brightness": Image.fromarray(np.uint8([[[90, 30, 30], [30, 61, 30]]])).resize(SIZE, 0),
}


@pytest.mark.parametrize("scale", [1, 2])
@pytest.mark.parametrize(("images", "expected"), [(BLANK, True), (SHOWN, False)])
def test_frames_that_show_nothing_are_blank(images, expected, scale):
    enlarged = {name: image.resize((image.width * scale, image.height * scale)) for name, image in images.items()}
    assert [name for name, image in enlarged.items() if is_blank(np.asarray(image)) != expected] == []


def same(one, other):
    return is_unchanged(small_picture(reduce_picture(one)), small_picture(reduce_picture(other)))


@given(st.integers(0, 448 - 14), st.integers(0, 796 - 9))
def test_a_letter_anywhere_on_the_screen_is_a_change(y, x):
    typed = SCREEN.copy()
    typed[y : y + 14, x : x + 9] = 40
    assert not same(SCREEN, typed)


def test_noise_below_the_limit_is_none():
    noise = np.random.default_rng(0).integers(-3, 4, SCREEN.shape)
    assert same(SCREEN, (SCREEN + noise).clip(0, 255).astype(np.uint8))


def test_a_change_of_colour_alone_is_a_change():
    red, green = SCREEN.copy(), SCREEN.copy()
    red[100:200, 100:200], green[100:200, 100:200] = (200, 0, 0), (0, 102, 0)
    assert not same(red, green)
