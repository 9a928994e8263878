"""Conversion of decoded planes to upright RGB images by tensor operations, for frames that are in a GPU's memory.

The images are those of `FrameConverter` to rounding: the same filters, chroma positions and matrices. Resized to an
even width they differ by up to 3 levels of 255. Resizing is a product with a matrix for each axis.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from framesift.types.vectors import Array
from framesift.video.colour import HIGH_DEFINITION, Orientation, shrunk_size, square_pixel_size
from framesift.video.resampling import Filter, resize_axis

# (Kr, Kb) by the numbers of ITU-T H.273.
_BT709, _BT601 = (0.2126, 0.0722), (0.299, 0.114)
_WEIGHTS = {
    1: _BT709,
    4: (0.30, 0.11),
    5: _BT601,
    6: _BT601,
    7: (0.212, 0.087),
    9: (0.2627, 0.0593),
    10: (0.2627, 0.0593),
}
# Where a chroma sample lies between its two columns of pixels, if the file does not say: FFmpeg's decoders of these
# codecs report the left one, as their standards have it, and the others nothing, for which libswscale takes the middle.
LEFT_CHROMA = frozenset({"h264", "hevc"})


class PlaneLayout(NamedTuple):
    """How to read the planes of frames in 4:2:0.

    bits: the largest value is 2^bits − 1; formats that store 10 bits in the upper part of 16 count as 16. colorspace:
    by the numbers of ITU-T H.273.
    """

    bits: int = 8
    is_full_range: bool = False
    colorspace: int = 2
    orientation: Orientation = Orientation()


class PlaneConverter:
    """Converts the frames of one stream to images (N, H, W, 3) uint8 RGB on their device.

    dtype: of the products; float16 is exact to a tenth of a level and takes a fraction of the time on a GPU.
    """

    def __init__(
        self, aspect: Fraction | None, short_side: int | None = None, *, codec: str = "h264", dtype: Any = None
    ) -> None:
        self._aspect = aspect
        self._short_side = short_side
        self._chroma_at = 0.25 if codec in LEFT_CHROMA else 0.5
        self._dtype = dtype

    def convert(self, luma: Any, chroma: Any, layout: PlaneLayout) -> Any:
        """The images, a tensor, of luma (N, H, W) and chroma (N, 2, H / 2, W / 2): uint8 or uint16 tensors."""
        import torch

        count, rows, columns = luma.shape
        width, height = shrunk_size(*square_pixel_size(columns, rows, self._aspect), self._short_side)
        kind: Filter = "sws bicubic" if (height, width) != (rows, columns) else "sws bilinear"
        # libswscale converts 8-bit frames of the same size without interpolating the chroma.
        chroma_kind: Filter = "nearest" if kind == "sws bilinear" and layout.bits == 8 else kind
        # It computes the chroma of two columns at a time, unless their number is odd.
        pair = 2 - width % 2
        luma = self._resized(luma, layout.bits, (height, width), (kind, 0.5))
        chroma = self._resized(chroma, layout.bits, (height, width // pair), (chroma_kind, self._chroma_at))
        planes = torch.empty((count, 3, height, width), device=luma.device)
        planes[:, 0] = luma
        planes[:, 1:].view(count, 2, height, -1, pair).copy_(chroma[..., None])
        matrix, offset = _colour_tensors(layout.colorspace, rows >= HIGH_DEFINITION, layout.is_full_range, luma.device)
        if pair == 2:
            rgb = _rounded_rgb(planes, matrix, offset)
        else:
            rgb = (matrix @ planes.flatten(2)).add_(offset).view_as(planes)
        return _turn(rgb.permute(0, 2, 3, 1).add_(0.5).clamp_(0, 255).to(torch.uint8), layout.orientation)

    def _resized(self, planes: Any, bits: int, size: tuple[int, int], how: tuple[Filter, float]) -> Any:
        """(…, *size): the planes on a scale of 8 bits. how: the filter, and the place of a sample in its columns."""
        import torch

        dtype = self._dtype or torch.float32
        kind, across_at = how
        # 16 bits do not fit into float16.
        values = planes.to(dtype) if bits == 8 else (planes.to(torch.float32) * 2.0 ** (8 - bits)).to(dtype)
        return resize_axis(resize_axis(values, -2, size[0], kind), -1, size[1], kind, across_at)


def _rounded_rgb(planes: Any, matrix: Any, offset: Any) -> Any:
    """RGB as libswscale rounds it where it computes two columns at a time: down, and each product by itself."""
    import torch

    weights = (matrix * 8192).round() / 8192  # of 13 bits
    black = (128 * (matrix[0, 1] + matrix[0, 2]) + offset[0, 0]) / -matrix[0, 0]
    planes = (planes * 8).floor_() / 8
    luma = ((planes[:, 0] - black) * weights[0, 0]).floor_()
    u, v = planes[:, 1] - 128, planes[:, 2] - 128
    green = (u * weights[1, 1]).floor_() + (v * weights[1, 2]).floor_()
    # The half is what is added before the last rounding.
    return (
        torch.stack((luma + (v * weights[0, 2]).floor_(), luma + green, luma + (u * weights[2, 1]).floor_()), 1) - 0.5
    )


@lru_cache(maxsize=64)
def _colour_tensors(colorspace: int, is_large: bool, is_full_range: bool, device: Any) -> list[Any]:
    import torch

    return [torch.from_numpy(array).to(device) for array in rgb_matrix(colorspace, is_large, is_full_range)]


def rgb_matrix(colorspace: int, is_large: bool, is_full_range: bool) -> tuple[Array, Array]:
    """(3, 3) and (3, 1) float32: RGB = matrix · (Y, U, V) + offset, in levels of 8 bits."""
    red, blue = _WEIGHTS.get(colorspace, _BT709 if is_large else _BT601)
    green = 1 - red - blue
    scale, chroma_scale, black = (1.0, 1.0, 0) if is_full_range else (255 / 219, 255 / 224, 16)
    u, v = 2 * (1 - blue) * chroma_scale, 2 * (1 - red) * chroma_scale
    matrix = np.array([[scale, 0, v], [scale, -blue / green * u, -red / green * v], [scale, u, 0]])
    offset = -matrix @ np.array([[black], [128], [128]])
    return matrix.astype(np.float32), offset.astype(np.float32)


def _turn(images: Any, orientation: Orientation) -> Any:
    import torch

    if orientation.mirrored:
        images = images.flip(2)
    if orientation.quarters:
        images = torch.rot90(images, orientation.quarters, (1, 2))
    return images.contiguous()
