"""Decoding on an NVIDIA GPU: NVDEC through FFmpeg's decoders, frames converted to images in the GPU's memory.

FFmpeg parses the bitstream as for decoding on the CPU, so the same packets may be left out and the same errors are
reported.
"""

import ctypes
import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import av
from av.codec.hwaccel import HWAccel, hwdevices_available

from framesift._utils.machine import release_free_memory
from framesift._utils.requirements import is_installed
from framesift.errors import InputError
from framesift.types.vectors import Array
from framesift.video.blank import FINE_SIDE, SMALL_SIZE
from framesift.video.colour import HLG, PQ, Orientation, read_orientation
from framesift.video.container import LARGE_PIXELS, OpenedVideo, open_video
from framesift.video.decoding import INDEXED, DecodePlan
from framesift.video.planes import PlaneConverter, PlaneLayout
from framesift.video.resampling import resize_axis

# Decoder sessions at a time, as many as an H200 has decoding units. Each takes memory of the host, 9 bytes per pixel in
# the driver and, in FFmpeg's decoders, 4 (H.264) or 6 (HEVC), so that large frames of HEVC, which take less time, get
# fewer.
MOST_SESSIONS = 7
MOST_SESSIONS_LARGE = 5
SEGMENTS_PER_SESSION = 12
# Sessions may take this share of the GPU's free memory, their reference frames and output frames counted as SURFACES.
MEMORY_SHARE = 0.2
SURFACES = 40

# What FFmpeg gives frames on the GPU as, and the bits of a sample; 10 bits come in the upper part of 16.
_FORMATS = {"nv12": 8, "p010le": 16, "p016le": 16}
# Frames stay in the decoder's own surfaces, of which so many more are there: most frames are dropped uncopied.
_NO_COPIES = {"hwaccel_flags": "+unsafe_output", "extra_hw_frames": "12"}
_BLOCKING_SYNC = 4  # CU_CTX_SCHED_BLOCKING_SYNC
_FULL_RANGE = 2
_FIRST = -1  # a stream's priority: before the network

Decode = Literal["auto", "cpu", "cuda"]
DECODES: tuple[Decode, ...] = get_args(Decode)


class UnsuitedVideo(InputError):
    """A video that can be decoded on the CPU only."""


@dataclass(frozen=True, eq=False)
class CudaImage:
    """An image in the GPU's memory.

    pixels: tensor (H, W, 3) uint8 RGB. reduced, small: arrays, the image averaged over blocks to a shorter side of 128
    to 255 pixels, and as `blank.small_picture` does. All are there once `wait` has returned.
    """

    pixels: Any
    reduced: Array
    small: Array
    copied: Any = None  # an event of the GPU

    def wait(self) -> None:
        """Wait for the GPU, without the interpreter's lock."""
        if self.copied is not None:
            self.copied.synchronize()


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
        self._opening = threading.Lock()

    @contextmanager
    def open(self, path: str, workers: int) -> Iterator[OpenedVideo]:  # noqa: ARG002 (one thread each)
        with ExitStack() as stack:
            try:
                # One after the other: FFmpeg decodes some frames on the CPU to find out about the stream.
                with self._opening:
                    _share_context(self._number)
                    video = stack.enter_context(open_video(path, threads=1, hwaccel=_hwaccel(self._number)))
                    context = video.stream.codec_context
                    context.options = {**context.options, **_NO_COPIES}
                    release_free_memory()
            except (OSError, InputError) as error:
                raise UnsuitedVideo("the GPU's video decoder can't be opened") from error
            yield video

    def count_workers(self, video: OpenedVideo, segments: Sequence[DecodePlan]) -> int:
        """How many sessions to open."""
        import torch

        if video.container.format.name not in INDEXED:
            return 1
        free, _ = torch.cuda.mem_get_info(self._number)
        pixels = video.stream.width * video.stream.height
        most = MOST_SESSIONS_LARGE if pixels > LARGE_PIXELS and video.codec != "h264" else MOST_SESSIONS
        fitting = int(MEMORY_SHARE * free / (SURFACES * 3 * pixels // 2))
        return max(1, min(most, len(segments) // SEGMENTS_PER_SESSION + 1, fitting))

    def converter(self, video: OpenedVideo, short_side: int | None) -> "CudaConverter":
        return CudaConverter(video, short_side, self._number)


class CudaConverter:
    """Converts the frames of one session to images in the GPU's memory, several at a time: each step is one call."""

    batch_size = 8

    def __init__(self, video: OpenedVideo, short_side: int | None, number: int) -> None:
        import torch

        self._torch = torch
        self._device = torch.device("cuda", number)
        self._stream = torch.cuda.Stream(self._device, priority=_FIRST)  # type: ignore[no-untyped-call]
        self._size = (video.stream.width, video.stream.height)
        self._planes = PlaneConverter(
            video.stream.sample_aspect_ratio, short_side, codec=video.codec, dtype=torch.float16
        )
        self._rotation: int | None = None
        self._orientation = Orientation()

    def convert_batch(self, frames: Sequence[av.VideoFrame]) -> list[CudaImage]:
        """Convert frames; UnsuitedVideo if one was not decoded on the GPU, or in a format that is not supported."""
        layouts = list(map(self._layout, frames))
        images = []
        for layout, group in itertools.groupby(zip(layouts, frames, strict=True), key=lambda pair: pair[0]):
            images += self._convert([frame for _, frame in group], layout)
        return images

    def _convert(self, frames: Sequence[av.VideoFrame], layout: PlaneLayout) -> list[CudaImage]:
        torch = self._torch
        default = torch.cuda.default_stream(self._device)
        # FFmpeg works in the default stream, for all sessions: only the copy out of the decoder's surfaces, which it
        # will reuse there, belongs into it. What follows would hold up the other sessions beside a busy network.
        with torch.cuda.device(self._device), torch.cuda.stream(default):
            planes = [[torch.from_dlpack(plane.__dlpack__(stream=None)) for plane in frame.planes] for frame in frames]
            luma, chroma = (torch.stack(tensors) for tensors in zip(*planes, strict=True))
        self._stream.wait_stream(default)
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            for planes in (luma, chroma):
                planes.record_stream(self._stream)
            return describe_images(self._planes.convert(luma, chroma.permute(0, 3, 1, 2), layout))

    def _layout(self, frame: av.VideoFrame) -> PlaneLayout:
        if frame.sw_format is None:
            raise UnsuitedVideo("the GPU does not decode this codec, profile or size")
        if frame.color_trc in (PQ, HLG):
            raise UnsuitedVideo("frames of high dynamic range are converted on the CPU")
        bits = _FORMATS.get(frame.sw_format.name)
        if bits is None or frame.width % 2 or frame.height % 2 or (frame.width, frame.height) != self._size:
            what = f"{frame.sw_format.name} of {frame.width} × {frame.height}"
            raise UnsuitedVideo(f"frames are {what} on the GPU; expected 4:2:0 of even size, as in the stream's header")
        if frame.rotation != self._rotation:
            self._rotation, self._orientation = frame.rotation, read_orientation(frame)
        is_full_range = frame.color_range == _FULL_RANGE
        return PlaneLayout(bits, is_full_range, frame.colorspace, self._orientation)


def describe_images(pixels: Any) -> list[CudaImage]:
    """The images of a tensor (N, H, W, 3) uint8 RGB; the caller's thread does not wait for the GPU."""
    import torch

    reduced = reduce_images(pixels)
    arrays = []
    for tensor in (reduced, shrink_images(reduced)):
        copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
        arrays.append(copy.copy_(tensor, non_blocking=True).numpy())
    copied = None
    if pixels.is_cuda:
        copied = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        copied.record()
    return [CudaImage(*image) for image in zip(pixels, *arrays, [copied] * len(pixels), strict=True)]


def reduce_images(pixels: Any) -> Any:
    """Average images (N, H, W, 3) uint8 over blocks to a shorter side of 128 to 255, as Pillow's `Image.reduce`."""
    import torch
    from torch.nn.functional import avg_pool2d

    factor = max(min(pixels.shape[1:3]) // FINE_SIDE, 1)
    planes = pixels.permute(0, 3, 1, 2).float()
    means = avg_pool2d(planes, factor, ceil_mode=True, count_include_pad=False)
    return (means.permute(0, 2, 3, 1) + 0.5).to(torch.uint8)


def shrink_images(images: Any) -> Any:
    """(N, 36, 64, 3) int16: the mean colours of the cells of images (N, H, W, 3) uint8, as Pillow computes them."""
    import torch

    values = images.permute(0, 3, 1, 2).float()
    for size, axis in zip(SMALL_SIZE, (-1, -2), strict=True):
        values = resize_axis(values, axis, size, "pillow box").add_(0.5).floor_()
    return values.permute(0, 2, 3, 1).to(torch.int16)


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
