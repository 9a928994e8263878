"""Frames that show what an earlier one shows, compared by small pictures, in which noise averages out."""

import numpy as np
from PIL import Image

from framesift.types.vectors import Array

SMALL_SIZE = (64, 36)  # cells
# The largest difference of a cell's mean colour, of 255 levels, between two frames that show the same. Each letter
# typed on a recorded screen is more, and so is the motion of a talking head (docs/indexing.md).
MOST_LEVELS = 4


def small_picture(picture: Image.Image) -> Array:
    """(36, 64, 3) int16: the mean colours of the cells of a picture."""
    small: Array = np.asarray(picture.resize(SMALL_SIZE, Image.Resampling.BOX)).astype(np.int16)
    return small


def is_unchanged(small: Array, encoded: Array) -> bool:
    """Whether two small pictures differ by almost nothing in every cell."""
    return int(np.abs(small - encoded).max()) <= MOST_LEVELS
