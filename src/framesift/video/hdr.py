"""High dynamic range to the ordinary kind, so that a picture looks to a model as its neighbours from other files do.

The curves are those of ITU-R BT.2100, white is at 203 cd/m² as in ITU-R BT.2408, and what is brighter is pressed
together below full white. libswscale can do the same, but takes seconds to prepare for each file.
"""

from functools import cache

import numpy as np

from framesift.types.vectors import Array

PQ, HLG = 16, 18  # transfer characteristics, by the numbers of ITU-T H.273
WHITE = 203.0  # cd/m²
HLG_PEAK = 1000.0  # cd/m² of the display that HLG's system gamma of 1.2 is for
KNEE = 0.8  # of white: where the shoulder begins

_ROWS = 64  # worked on at a time, so that large pictures need no large copies
_LUMINANCE = np.array([0.2627, 0.6780, 0.0593], np.float32)
_BT2020_TO_BT709 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]], np.float32
)


def to_standard_range(picture: Array, transfer: int) -> Array:
    """(H, W, 3) uint16 RGB, BT.2020 with PQ or HLG, to uint8 RGB, BT.709 with sRGB's curve."""
    out = np.empty(picture.shape, np.uint8)
    curve, encode = _linear(transfer), _srgb()
    for row in range(0, len(picture), _ROWS):
        light = curve[picture[row : row + _ROWS]]
        if transfer == HLG:
            light *= (light @ _LUMINANCE)[..., None] ** 0.2
            light *= HLG_PEAK / WHITE
        light = (light @ _BT2020_TO_BT709.T).clip(0.0)
        over = KNEE + (1 - KNEE) * -np.expm1((KNEE - light) / (1 - KNEE))
        light = np.where(light > KNEE, over, light)
        out[row : row + _ROWS] = encode[(light * (len(encode) - 1)).astype(np.int32)]
    return out


@cache
def _linear(transfer: int) -> Array:
    """(65536,) float32: light for each code; PQ's in units of white, HLG's of the scene."""
    code = np.linspace(0.0, 1.0, 65536)
    if transfer == HLG:
        bright = (np.exp((code - 0.55991073) / 0.17883277) + 0.28466892) / 12
        return np.where(code <= 0.5, code**2 / 3, bright).astype(np.float32)
    power = code ** (32 / 2523)
    linear = np.maximum(power - 3424 / 4096, 0.0) / (2413 / 128 - 2392 / 128 * power)
    return (10_000.0 / WHITE * linear ** (16384 / 2610)).astype(np.float32)


@cache
def _srgb() -> Array:
    """(65536,) uint8: sRGB's code for light from 0 to 1."""
    light = np.linspace(0.0, 1.0, 65536)
    code = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    codes: Array = np.rint(255 * code).astype(np.uint8)
    return codes
