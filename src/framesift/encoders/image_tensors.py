"""Images as a network's input: uploaded as bytes, then resized and normalised on the network's device.

The values are those of transformers' PIL processors, to one level in 255.
"""

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from framesift.encoders.base import check_image, to_rgb
from framesift.types.vectors import Array
from framesift.video.resampling import Filter, resize_axis

Size = tuple[int, int]  # height, width
Resample = Literal["bicubic", "bilinear"]
# Images uploaded at a time, which bounds the page-locked memory on the host.
UPLOADED = 16
COPYING_THREADS = 4


@dataclass(frozen=True)
class ImageLayout:
    """How a model's images are resized, cropped and normalised.

    size: of the result, or a function of an image's size. crop: the size of the centre that is kept after resizing.
    mean, std: per channel, of values from 0 to 1.
    """

    size: Size | Callable[[Size], Size]
    mean: Sequence[float] = (0.5, 0.5, 0.5)
    std: Sequence[float] = (0.5, 0.5, 0.5)
    resample: Resample = "bicubic"
    crop: Size | None = None

    def size_of(self, image: Size) -> Size:
        """The size to which an image of this size is resized."""
        return self.size(image) if callable(self.size) else self.size


def prepare_images(images: Sequence[Any], layout: ImageLayout, *, device: Any = "cpu", dtype: Any = None) -> Any:
    """(n, 3, height, width) normalised tensor on the device, float32 unless another dtype is given.

    images: PIL images, uint8 RGB arrays or uint8 RGB tensors (height, width, 3). Their sizes may differ; after
    resizing and cropping they must be the same.
    """
    import torch

    prepared = []
    for _, group in itertools.groupby(images, _size):
        same = list(group)
        step = len(same) if isinstance(same[0], torch.Tensor) else UPLOADED
        for start in range(0, len(same), step):
            pixels = stack_images(same[start : start + step], device)
            values = resize_images(pixels, layout.size_of(tuple(pixels.shape[-2:])), layout.resample)
            prepared.append(_normalise(_crop(values, layout.crop), layout).to(dtype or torch.float32))
    return torch.cat(prepared)


def _size(image: Any) -> tuple[int, ...]:
    return tuple(getattr(image, "shape", getattr(image, "size", ())))


def stack_images(images: Sequence[Any], device: Any) -> Any:
    """(n, 3, height, width) uint8 tensor on the device, of images of one size."""
    import torch

    if isinstance(images[0], torch.Tensor):
        return torch.stack(list(images)).to(device).permute(0, 3, 1, 2)
    is_cuda = torch.device(device).type == "cuda"
    first = _as_array(images[0])
    pixels = torch.empty((len(images), *first.shape), dtype=torch.uint8, pin_memory=is_cuda)
    rows = pixels.numpy()

    def copy(number: int) -> None:
        rows[number] = _as_array(images[number])

    with ThreadPoolExecutor(COPYING_THREADS) as pool:
        list(pool.map(copy, range(len(images))))
    return pixels.to(device, non_blocking=is_cuda).permute(0, 3, 1, 2)


def resize_images(pixels: Any, size: Size, resample: Resample = "bicubic") -> Any:
    """(n, 3, *size) float32 tensor of whole levels from 0 to 255, as Pillow resizes: the width, then the height.

    Pillow 13 begins with the height where that shrinks much more, which changes bright and dark edges by some levels.
    """
    import torch

    # In float16 the levels are exact and the weights nearly so; products of float32 would take far longer on a GPU.
    values = pixels.to(torch.float16 if pixels.is_cuda else torch.float32)
    kind: Filter = "pillow bicubic" if resample == "bicubic" else "pillow bilinear"
    for axis in (-1, -2):
        values = resize_axis(values, axis, size[axis], kind).add_(0.5).floor_().clamp_(0, 255)
    return values.float()


def _as_array(image: Any) -> Array:
    return np.asarray(to_rgb(image)) if hasattr(image, "getbands") else check_image(image)


def _crop(values: Any, size: Size | None) -> Any:
    if size is None:
        return values
    top, left = ((have - want) // 2 for have, want in zip(values.shape[-2:], size, strict=True))
    return values[..., top : top + size[0], left : left + size[1]]


def _normalise(values: Any, layout: ImageLayout) -> Any:
    mean, std = (_per_channel(tuple(numbers), values.device) for numbers in (layout.mean, layout.std))
    return (values / 255 - mean) / std


@lru_cache(maxsize=64)
def _per_channel(numbers: tuple[float, ...], device: Any) -> Any:
    import torch

    return torch.tensor(numbers, device=device).view(3, 1, 1)
