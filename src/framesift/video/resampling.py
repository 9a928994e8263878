"""Resizing as products with matrices, one for each axis, which a GPU computes far faster than filters of its own."""

from functools import lru_cache
from typing import Any, Literal

import numpy as np

from framesift.types.vectors import Array

# "sws": libswscale's filters, whose bicubic one has B = 0 and C = 0.6; "pillow": Pillow's, with C = 0.5.
Filter = Literal["sws bicubic", "sws bilinear", "nearest", "pillow bicubic", "pillow bilinear", "pillow box"]


def filter_matrix(size: int, target: int, kind: Filter, at: float = 0.5) -> Array:
    """(target, size) float32 that resizes `size` samples. Shrinking widens the filter, which avoids aliasing.

    at: the position of a sample in its interval, 0.5 for the middle. Beyond the border libswscale repeats the last
    sample and Pillow leaves it out.
    """
    matrix = np.zeros((target, size))
    scale = size / target
    middles = (np.arange(target) + 0.5) * scale
    if kind == "nearest":
        matrix[np.arange(target), middles.astype(int)] = 1
        return matrix.astype(np.float32)
    support = {"bicubic": 2.0, "bilinear": 1.0, "box": 0.5}[kind.split()[1]]
    stretch = max(scale, 1.0)
    taps = np.arange(2 * int(np.ceil(support * stretch)) + 2)
    places = np.floor(middles - at - support * stretch).astype(int)[:, None] + taps
    distance = (places - middles[:, None] + at) * (1 / stretch)  # rounded as in Pillow, whose box has sharp edges
    if kind == "pillow box":
        weights = ((distance > -0.5) & (distance <= 0.5)).astype(float)
    elif support == 2:
        weights = _bicubic(np.abs(distance), 0.6 if "sws" in kind else 0.5)
    else:
        weights = np.maximum(1 - np.abs(distance), 0)
    if "pillow" in kind:
        weights = np.where((places >= 0) & (places < size), weights, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    np.add.at(matrix, (np.arange(target)[:, None], places.clip(0, size - 1)), weights)
    return matrix.astype(np.float32)


def resize_axis(values: Any, axis: int, target: int, kind: Filter, at: float = 0.5) -> Any:
    """A tensor of floats with its axis -1 or -2 resized to `target` samples."""
    table = _filter_tensor(values.shape[axis], target, kind, at, values.device, values.dtype)
    if table is None:
        return values
    return values @ table.T if axis == -1 else table @ values


@lru_cache(maxsize=64)
def _filter_tensor(size: int, target: int, kind: Filter, at: float, device: Any, dtype: Any) -> Any:
    """The filter matrix on a device; None if it would change nothing."""
    import torch

    matrix = filter_matrix(size, target, kind, at)
    return None if np.array_equal(matrix, np.eye(size)) else torch.from_numpy(matrix).to(device, dtype)


def _bicubic(x: Array, c: float) -> Array:
    """The cubic filter with B = 0 at the distances x."""
    near = ((2 - c) * x - (3 - c)) * x * x + 1
    far = -c * (((x - 5) * x + 8) * x - 4)
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))
