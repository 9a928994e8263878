"""Frames that need no look of their own: those that show nothing, and those that show what an earlier one shows.

Blank is one colour over the whole frame, as in black, white and the end of a fade. Frames are compared by small
pictures, in which noise averages out.
"""

import numpy as np
from PIL import Image

from framesift.types.vectors import Array

# Pixels of the shorter side after averaging: noise and grain fade, strokes of text and stars remain.
FINE_SIDE = 128
COARSE_SIZE = (32, 18)  # cells in which smooth shading is compared
# The largest differences in a blank frame, of 255 levels, chosen by eye on fades of film frames: below them nothing can
# be made out on a usual display. Single pixels are noisier than the mean of a cell.
FINE_LEVELS = 20
COARSE_LEVELS = 8
OUTLIERS = 0.0005  # share of the pixels that may differ more: a few stars or one letter are more than that
# Clocks, counters and logos lie along the edge and in the corners, also of frames that show nothing.
EDGE = 0.08
CORNER = 1 / 6
# Letterbox and pillarbox bars: dark up to this level, equal on both sides of a picture of at least this share.
BAR_LEVEL = 24
PICTURE_SHARE = 0.3
MIDDLE = PICTURE_SHARE * (0.5 - CORNER)  # from the middle to the corners of the smallest picture between bars


SMALL_SIZE = (64, 36)  # cells
# The largest difference of a cell's mean colour, of 255 levels, between two frames that show the same. Each letter
# typed on a recorded screen is more, and so is the motion of a talking head (docs/indexing.md).
MOST_LEVELS = 4


def is_blank(image: Array) -> bool:
    """Whether an image (H, W, 3) uint8 RGB shows nothing. Titles, stars and dark but visible scenes show something.

    Letterbox and pillarbox bars, the edge and the corners of the picture do not count.
    """
    return is_blank_picture(reduce_picture(image))


def reduce_picture(image: Array) -> Image.Image:
    """An image (H, W, 3) uint8 RGB reduced by averaging, to 128 to 255 pixels on its shorter side if it has more."""
    picture = Image.fromarray(image)
    return picture.reduce(max(min(picture.size) // FINE_SIDE, 1))


def is_blank_picture(picture: Image.Image) -> bool:
    """As `is_blank`, of a picture that is already reduced."""
    if _has_contrast(picture):
        return False
    picture = _without_overlays(picture.crop(_picture_box(picture)))
    below, above = _spread(picture.convert("L").histogram(), picture.width * picture.height)
    if max(below, above) > FINE_LEVELS:
        return False
    cells = picture.resize(COARSE_SIZE, Image.Resampling.BOX)
    return max(high - low for low, high in cells.getextrema()) <= COARSE_LEVELS  # type: ignore[misc]


def _has_contrast(picture: Image.Image) -> bool:
    """Whether the middle alone, which no bar, edge or corner reaches, differs more than a blank frame may.

    This decides on most frames, in a fraction of the time.
    """
    across, down = (max(int(MIDDLE * side) - 2, 0) for side in picture.size)  # bars may differ by two lines
    x, y = picture.width // 2, picture.height // 2
    middle = picture.crop((x - across, y - down, x + across, y + down))
    levels = np.sort(np.asarray(middle.convert("L")), axis=None)
    outliers = int(OUTLIERS * picture.width * picture.height) + 1
    return len(levels) > 2 * outliers and int(levels[-1 - outliers]) - int(levels[outliers]) > 2 * FINE_LEVELS


def _picture_box(picture: Image.Image) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of the picture between black bars, above and below or left and right."""
    brightest = np.asarray(picture.convert("L"))
    first, last = [0, 0], [picture.width, picture.height]
    for axis in (0, 1):
        size = last[axis]
        bright = np.flatnonzero(brightest.max(axis=axis) > BAR_LEVEL)
        if len(bright) == 0:
            break
        bars = int(bright[0]), size - 1 - int(bright[-1])
        if abs(bars[0] - bars[1]) <= 2 and size - sum(bars) >= PICTURE_SHARE * size:
            # One line more: the border between bar and picture is blurred.
            first[axis], last[axis] = bars[0] + (bars[0] > 0), size - bars[1] - (bars[1] > 0)
    return (*first, *last)  # type: ignore[return-value]


def _without_overlays(picture: Image.Image) -> Image.Image:
    """The picture without its edge, and with corners in its most frequent colours."""
    width, height = picture.size
    across, down = int(EDGE * width), int(EDGE * height)
    inner = picture.crop((across, down, width - across, height - down))
    histogram = np.reshape(inner.histogram(), (3, 256))
    colour = tuple(histogram.argmax(axis=1).tolist())
    across, down = int(CORNER * width) - across, int(CORNER * height) - down
    for left in (0, inner.width - across):
        for top in (0, inner.height - down):
            inner.paste(colour, (left, top, left + across, top + down))
    return inner


def _spread(histogram: list[int], count: int) -> tuple[int, int]:
    """The levels from the median down to the lowest and up to the highest, without outliers."""
    shares = np.cumsum(histogram) / count
    low, middle, high = (int(np.searchsorted(shares, share)) for share in (OUTLIERS, 0.5, 1 - OUTLIERS))
    return middle - low, high - middle


def small_picture(picture: Image.Image) -> Array:
    """(36, 64, 3) int16: the mean colours of the cells of a picture."""
    small: Array = np.asarray(picture.resize(SMALL_SIZE, Image.Resampling.BOX)).astype(np.int16)
    return small


def is_unchanged(small: Array, encoded: Array) -> bool:
    """Whether two small pictures differ by almost nothing in every cell."""
    return int(np.abs(small - encoded).max()) <= MOST_LEVELS
