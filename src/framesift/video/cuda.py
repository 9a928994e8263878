"""Decoding on an NVIDIA GPU: NVDEC through FFmpeg's decoders, frames converted to images in the GPU's memory.

FFmpeg parses the bitstream as for decoding on the CPU, so the same packets may be left out and the same errors are
reported.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import av
from av.codec.hwaccel import HWAccel, hwdevices_available

from framesift._utils.optional import is_installed
from framesift._utils.records import shown
from framesift.errors import InputError, OptionError
from framesift.types.vectors import Array
from framesift.video.blank import FINE_SIDE
from framesift.video.colour import Orientation, read_orientation
from framesift.video.container import OpenedVideo, open_video
from framesift.video.decoding import INDEXED
from framesift.video.planes import Picture, PlaneConverter

# Decoder sessions at a time: more than the seven decoding units of an H200, as some of them wait for Python; each takes
# a tenth of a second to open and tens of megabytes on the host.
MOST_SESSIONS = 10
SEGMENTS_PER_SESSION = 12
# A session may take this share of the GPU's free memory, its reference frames and output frames counted as SURFACES.
MEMORY_SHARE = 0.02
SURFACES = 40

# What FFmpeg gives frames on the GPU as, and the bits of a sample; 10 bits come in the upper part of 16.
_FORMATS = {"nv12": 8, "p010le": 16, "p016le": 16}
_BLOCKING_SYNC = 4  # CU_CTX_SCHED_BLOCKING_SYNC
_FULL_RANGE = 2

Decode = Literal["auto", "cpu", "cuda"]
DECODES: tuple[Decode, ...] = get_args(Decode)


def check_decode(decode: object) -> None:
    """Reject a place of decoding that is not known; whether this machine has it shows when a video is decoded."""
    if decode not in DECODES:
        raise OptionError(f"decode is {shown(decode)}; expected one of {', '.join(DECODES)}")


class UnsuitedVideo(InputError):
    """A video that can be decoded on the CPU only."""


@dataclass(frozen=True, eq=False)
class CudaImage:
    """An image in the GPU's memory.

    pixels: tensor (H, W, 3) uint8 RGB. reduced: an array, the image averaged over blocks to a shorter side of 128 to
    255 pixels.
    """

    pixels: Any
    reduced: Array

    def download(self) -> Array:
        """The image as an array."""
        array: Array = self.pixels.cpu().numpy()
        return array


@cache
def why_not_cuda(number: int = 0) -> str:
    """Why videos can't be decoded on this GPU; empty if they can."""
    if not is_installed("torch"):
        return "PyTorch is not installed: pip install 'framesift[siglip]'"
    import torch

    if not torch.cuda.is_available():
        return "PyTorch finds no NVIDIA GPU"
    if number >= torch.cuda.device_count():
        return f"there is no GPU {number}; PyTorch finds {torch.cuda.device_count()}"
    if "cuda" not in hwdevices_available():
        return "this build of PyAV has no CUDA support: pip install --only-binary=av av"
    try:
        _share_context(number)
        av.CodecContext.create("h264", "r", hwaccel=_hwaccel(number))
    except (OSError, av.error.FFmpegError, ValueError, RuntimeError) as error:
        return f"the GPU's video decoder can't be opened ({error})"
    return ""


class CudaDecoder:
    """Decodes segments of a video on one GPU, in several sessions."""

    def __init__(self, number: int = 0) -> None:
        self._number = number

    @contextmanager
    def open(self, path: str, workers: int) -> Iterator[OpenedVideo]:  # noqa: ARG002 (one thread each)
        with ExitStack() as stack:
            try:
                _share_context(self._number)
                video = stack.enter_context(open_video(path, threads=1, hwaccel=_hwaccel(self._number)))
            except (OSError, InputError) as error:
                raise UnsuitedVideo("the GPU's video decoder can't be opened") from error
            yield video

    def count_workers(self, video: OpenedVideo, segments: Sequence[Sequence[int]]) -> int:
        """How many sessions to open."""
        import torch

        if video.container.format.name not in INDEXED:
            return 1
        free, _ = torch.cuda.mem_get_info(self._number)
        session_bytes = SURFACES * 3 * video.stream.width * video.stream.height // 2
        fitting = int(MEMORY_SHARE * MOST_SESSIONS * free / session_bytes)
        return max(1, min(MOST_SESSIONS, len(segments) // SEGMENTS_PER_SESSION + 1, fitting))

    def converter(self, video: OpenedVideo, short_side: int | None) -> "CudaConverter":
        return CudaConverter(video, short_side, self._number)


class CudaConverter:
    """Converts the frames of one session to images in the GPU's memory."""

    def __init__(self, video: OpenedVideo, short_side: int | None, number: int) -> None:
        import torch

        self._torch = torch
        self._device = torch.device("cuda", number)
        self._size = (video.stream.width, video.stream.height)
        self._planes = PlaneConverter(
            video.stream.sample_aspect_ratio, short_side, codec=video.codec, dtype=torch.float16
        )
        self._rotation: int | None = None
        self._orientation = Orientation()

    def convert(self, frame: av.VideoFrame) -> CudaImage:
        """Convert a frame; UnsuitedVideo if it was not decoded on the GPU, or in a format that is not supported."""
        if frame.sw_format is None:
            raise UnsuitedVideo("the GPU does not decode this codec, profile or size")
        bits = _FORMATS.get(frame.sw_format.name)
        if bits is None or frame.width % 2 or frame.height % 2 or (frame.width, frame.height) != self._size:
            what = f"{frame.sw_format.name} of {frame.width} × {frame.height}"
            raise UnsuitedVideo(f"frames are {what} on the GPU; expected 4:2:0 of even size, as in the stream's header")
        if frame.rotation != self._rotation:
            self._rotation, self._orientation = frame.rotation, read_orientation(frame)
        torch = self._torch
        # FFmpeg copies frames in the default stream, in which the following operations are ordered after the copy.
        with torch.cuda.device(self._device), torch.cuda.stream(torch.cuda.default_stream(self._device)):
            luma, chroma = (torch.from_dlpack(plane.__dlpack__(stream=None)) for plane in frame.planes)
            picture = Picture(
                luma,
                chroma.permute(2, 0, 1),
                bits,
                frame.color_range == _FULL_RANGE,
                frame.colorspace,
                frame.color_trc,
                self._orientation,
            )
            pixels = self._planes.convert(picture)
            return CudaImage(pixels, reduce_image(pixels).cpu().numpy())


def reduce_image(pixels: Any) -> Any:
    """Average a tensor (H, W, 3) uint8 over blocks, to a shorter side of 128 to 255; as Pillow's `Image.reduce`."""
    import torch
    from torch.nn.functional import avg_pool2d

    factor = max(min(pixels.shape[:2]) // FINE_SIDE, 1)
    planes = pixels.permute(2, 0, 1)[None].float()
    means = avg_pool2d(planes, factor, ceil_mode=True, count_include_pad=False)
    return (means[0].permute(1, 2, 0) + 0.5).to(torch.uint8)


def _hwaccel(number: int) -> HWAccel:
    return HWAccel("cuda", device=str(number), is_hw_owned=True)


def _share_context(number: int) -> None:
    """Let FFmpeg use PyTorch's context: it refuses one with other flags than its own, and PyTorch sets its own."""
    import torch

    torch.zeros(1, device=f"cuda:{number}")  # creates the context
    library = ctypes.CDLL("libcuda.so.1")
    device = ctypes.c_int()
    library.cuInit(0)
    library.cuDeviceGet(ctypes.byref(device), number)
    status = library.cuDevicePrimaryCtxSetFlags_v2(device, _BLOCKING_SYNC)
    if status:
        raise OSError(f"cuDevicePrimaryCtxSetFlags failed with {status}")
