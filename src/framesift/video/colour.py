"""From a decoded frame to the picture a viewer sees: upright, square pixels, the right colours, RGB.

Scaling and colour conversion are one step of libswscale.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple, cast

import av
import numpy as np
from av.buffer import Buffer
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from framesift.types.vectors import Array
from framesift.video.hdr import HLG, PQ, to_standard_range

# AVColorSpace (the numbers of ITU-T H.273) → libswscale's tables; RGB (0) needs none.
_MATRICES = {
    1: Colorspace.ITU709,
    4: Colorspace.FCC,
    5: Colorspace.ITU601,
    6: Colorspace.ITU601,
    7: Colorspace.SMPTE240M,
    9: Colorspace.BT2020,
    10: Colorspace.BT2020,
}
# Files that do not say: high definition is BT.709, the rest BT.601, as players take it.
HIGH_DEFINITION = 720

# A pixel longer than this many times its width is a slip or an attack: the picture would grow without bound.
WIDEST_PIXEL = 8

# Shrinking widens the filter, so that nothing aliases.
_RESIZED = Interpolation.BICUBIC | Interpolation.ACCURATE_RND
_SAME_SIZE = Interpolation.BILINEAR


class Turn(NamedTuple):
    """What makes a stored picture upright: quarter turns counter-clockwise, after mirroring left to right."""

    quarters: int = 0
    mirrored: bool = False


def turn_of(frame: av.VideoFrame) -> Turn:
    """Read the display matrix, to the nearest quarter turn."""
    # PyAV's stubs know motion vectors only.
    data = cast("Mapping[str, Buffer]", frame.side_data).get("DISPLAYMATRIX")
    if data is None:
        return Turn()
    a, b, _, c, d = np.frombuffer(bytes(data), dtype=np.int32)[:5].tolist()
    mirrored = a * d - b * c < 0
    if mirrored:
        a, b = -a, -b
    # (a, b) is where the matrix sends the x axis, y pointing down: the angle is clockwise.
    return Turn(round(-math.degrees(math.atan2(b, a)) / 90) % 4, mirrored)


def square_pixels(width: int, height: int, aspect: Fraction | None) -> tuple[int, int]:
    """Size with square pixels; the side that is too short grows, so no detail is lost."""
    if not aspect or not 1 / WIDEST_PIXEL <= aspect <= WIDEST_PIXEL:
        return width, height
    if aspect > 1:
        return round(width * aspect), height
    return width, round(height / aspect)


def shrunk(width: int, height: int, short_side: int | None) -> tuple[int, int]:
    """Size with the shorter side at most `short_side`; never larger."""
    shorter = min(width, height)
    if short_side is None or shorter <= short_side:
        return width, height
    return max(1, round(width * short_side / shorter)), max(1, round(height * short_side / shorter))


class Painter:
    """Turns frames of one stream into pictures (H, W, 3) uint8."""

    def __init__(self, aspect: Fraction | None, short_side: int | None = None) -> None:
        self._aspect = aspect
        self._short_side = short_side
        self._scaler = VideoReformatter()  # keeps its tables from picture to picture
        self._turn = Turn()
        self._rotation: int | None = None

    def paint(self, frame: av.VideoFrame) -> Array:
        width, height = shrunk(*square_pixels(frame.width, frame.height, self._aspect), self._short_side)
        is_hdr = frame.color_trc in (PQ, HLG)
        same_size = (width, height) == (frame.width, frame.height)
        rgb = self._scaler.reformat(
            frame,
            width,
            height,
            "rgb48le" if is_hdr else "rgb24",
            src_colorspace=_matrix(frame),
            src_color_range=_range(frame),
            dst_color_range=ColorRange.JPEG,
            interpolation=_SAME_SIZE if same_size else _RESIZED,
        )
        # Looking at a frame's side data ties it into a cycle that outlives it, so that is done when it changes only.
        if frame.rotation != self._rotation:
            self._rotation, self._turn = frame.rotation, turn_of(frame)
        picture = rgb.to_ndarray()
        return upright(to_standard_range(picture, frame.color_trc) if is_hdr else picture, self._turn)


def upright(picture: Array, turn: Turn) -> Array:
    if turn.mirrored:
        picture = picture[:, ::-1]
    return np.ascontiguousarray(np.rot90(picture, turn.quarters))


def _matrix(frame: av.VideoFrame) -> Colorspace | None:
    if frame.format.is_rgb:
        return None
    guess = Colorspace.ITU709 if frame.height >= HIGH_DEFINITION else Colorspace.ITU601
    return _MATRICES.get(frame.colorspace, guess)


def _range(frame: av.VideoFrame) -> ColorRange | None:
    if frame.format.is_rgb:
        return None
    is_full = frame.color_range == ColorRange.JPEG or frame.format.name.startswith("yuvj")
    return ColorRange.JPEG if is_full else ColorRange.MPEG
