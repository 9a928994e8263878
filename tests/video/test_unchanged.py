"""Frames that show the same differ by less than noise in every cell of a small picture."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.video.blank import is_unchanged, reduce_picture, small_picture

SCREEN = np.full((448, 796, 3), 240, np.uint8)


def same(one, other):
    return is_unchanged(small_picture(reduce_picture(one)), small_picture(reduce_picture(other)))


@given(st.integers(0, 448 - 14), st.integers(0, 796 - 9))
@settings(max_examples=30, deadline=None)
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
