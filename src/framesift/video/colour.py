"""Conversion of decoded frames to upright RGB images with square pixels, correct colours, standard dynamic range.

Scaling and colour conversion are one step of libswscale.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple, cast

import av
import numpy as np
from av.buffer import Buffer
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from framesift.types.vectors import Array

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
# Without a colour space in the file: BT.709 for high definition, else BT.601, as players assume.
HIGH_DEFINITION = 720

# A more extreme pixel aspect ratio is an error or an attack: the image would grow without bound.
MAX_PIXEL_ASPECT = 8

# libswscale widens the filter when shrinking, which avoids aliasing.
_RESIZED = Interpolation.BICUBIC | Interpolation.ACCURATE_RND
_SAME_SIZE = Interpolation.BILINEAR


# High dynamic range: the curves of ITU-R BT.2100, with white at 203 cd/m² as in ITU-R BT.2408. What is brighter is
# compressed below full white. libswscale can do the same, but takes seconds to set up for each file.
PQ, HLG = 16, 18  # transfer characteristics, by the numbers of ITU-T H.273
WHITE = 203.0  # cd/m²
HLG_PEAK = 1000.0  # cd/m², the display peak for HLG's system gamma of 1.2
KNEE = 0.8  # share of white above which highlights are compressed

_ROWS = 64  # converted at a time, to bound memory
LUMINANCE = np.array([0.2627, 0.6780, 0.0593], np.float32)
BT2020_TO_BT709 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]], np.float32
)


class Orientation(NamedTuple):
    """How to turn a stored image upright: mirror left to right, then rotate by quarter turns counter-clockwise."""

    quarters: int = 0
    mirrored: bool = False


def read_orientation(frame: av.VideoFrame) -> Orientation:
    """Read the display matrix, to the nearest quarter turn."""
    # PyAV's stubs type motion vectors only.
    data = cast("Mapping[str, Buffer]", frame.side_data).get("DISPLAYMATRIX")
    if data is None:
        return Orientation()
    a, b, _, c, d = np.frombuffer(bytes(data), dtype=np.int32)[:5].tolist()
    mirrored = a * d - b * c < 0
    if mirrored:
        a, b = -a, -b
    # (a, b) is the image of the x axis, y pointing down: the angle is clockwise.
    return Orientation(round(-math.degrees(math.atan2(b, a)) / 90) % 4, mirrored)


def square_pixel_size(width: int, height: int, aspect: Fraction | None) -> tuple[int, int]:
    """The size with square pixels; the shorter dimension is scaled up, so no detail is lost."""
    if not aspect or not 1 / MAX_PIXEL_ASPECT <= aspect <= MAX_PIXEL_ASPECT:
        return width, height
    if aspect > 1:
        return round(width * aspect), height
    return width, round(height / aspect)


def shrunk_size(width: int, height: int, short_side: int | None) -> tuple[int, int]:
    """The size with the shorter side at most `short_side`; never enlarged."""
    shorter = min(width, height)
    if short_side is None or shorter <= short_side:
        return width, height
    return max(1, round(width * short_side / shorter)), max(1, round(height * short_side / shorter))


class FrameConverter:
    """Converts the frames of one stream to images (H, W, 3) uint8 RGB."""

    batch_size = 1

    def __init__(self, aspect: Fraction | None, short_side: int | None = None) -> None:
        self._aspect = aspect
        self._short_side = short_side
        self._scaler = VideoReformatter()  # caches its tables between frames
        self._orientation = Orientation()
        self._rotation: int | None = None

    def convert(self, frame: av.VideoFrame) -> Array:
        width, height = shrunk_size(*square_pixel_size(frame.width, frame.height, self._aspect), self._short_side)
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
        # Reading a frame's side data creates a reference cycle that outlives it: only when the rotation changes.
        if frame.rotation != self._rotation:
            self._rotation, self._orientation = frame.rotation, read_orientation(frame)
        image = rgb.to_ndarray()
        return orient(to_standard_range(image, frame.color_trc) if is_hdr else image, self._orientation)

    def convert_batch(self, frames: Sequence[av.VideoFrame]) -> list[Array]:
        return list(map(self.convert, frames))


def orient(image: Array, orientation: Orientation) -> Array:
    if orientation.mirrored:
        image = image[:, ::-1]
    return np.ascontiguousarray(np.rot90(image, orientation.quarters))


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


def to_standard_range(image: Array, transfer: int) -> Array:
    """Convert (H, W, 3) uint16 RGB, BT.2020 with PQ or HLG, to uint8 RGB, BT.709 with the sRGB curve."""
    out = np.empty(image.shape, np.uint8)
    curve, encode = light_of_codes(transfer), srgb_of_light()
    for row in range(0, len(image), _ROWS):
        light = curve[image[row : row + _ROWS]]
        if transfer == HLG:
            light *= (light @ LUMINANCE)[..., None] ** 0.2
            light *= HLG_PEAK / WHITE
        light = (light @ BT2020_TO_BT709.T).clip(0.0)
        over = KNEE + (1 - KNEE) * -np.expm1((KNEE - light) / (1 - KNEE))
        light = np.where(light > KNEE, over, light)
        out[row : row + _ROWS] = encode[(light * (len(encode) - 1)).astype(np.int32)]
    return out


@cache
def light_of_codes(transfer: int) -> Array:
    """(65536,) float32: linear light per code value; PQ in units of white, HLG scene-referred."""
    code = np.linspace(0.0, 1.0, 65536)
    if transfer == HLG:
        bright = (np.exp((code - 0.55991073) / 0.17883277) + 0.28466892) / 12
        return np.where(code <= 0.5, code**2 / 3, bright).astype(np.float32)
    power = code ** (32 / 2523)
    linear = np.maximum(power - 3424 / 4096, 0.0) / (2413 / 128 - 2392 / 128 * power)
    return (10_000.0 / WHITE * linear ** (16384 / 2610)).astype(np.float32)


@cache
def srgb_of_light() -> Array:
    """(65536,) uint8: the sRGB code value for linear light from 0 to 1."""
    light = np.linspace(0.0, 1.0, 65536)
    code = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    codes: Array = np.rint(255 * code).astype(np.uint8)
    return codes
