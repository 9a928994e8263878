"""Frames from elsewhere, with their times: arrays, PIL images, or a decoder such as torchcodec's."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from framesift.errors import InputError
from framesift.types import VideoInfo
from framesift.types.vectors import Array, validate_times

NAME = "<frames>"  # in the place of a path
FRAME_ATTRIBUTES = ("get_frames_played_at", "__array__", "__array_interface__")  # of decoders, arrays and PIL images
RATE = 1.0  # of a decoder without times: frames per second


def are_frames(video: object, times_s: object) -> bool:
    """Whether a video was given as frames, and not as a path or several."""
    first = video[0] if isinstance(video, Sequence) and video else video
    return times_s is not None or any(hasattr(first, name) for name in FRAME_ATTRIBUTES)


class GivenFrames:
    """The frames of a video without a file: a `FrameSource` by position.

    frames: (N, H, W, 3) uint8, a list of such images or of PIL images, or an object with `metadata` and
    `get_frames_played_at(seconds)`. times_s (N,): when they are shown; a decoder needs none and is asked once a second.
    """

    def __init__(self, frames: Any, times_s: Sequence[float] | Array | None) -> None:
        self._frames, self._is_decoder = frames, hasattr(frames, "get_frames_played_at")
        facts: Any = getattr(frames, "metadata", None)
        if times_s is None:
            if not self._is_decoder:
                raise InputError("frames were given without times; expected times_s, in seconds, one for each")
            times_s = np.arange(facts.begin_stream_seconds, facts.end_stream_seconds, 1 / RATE)
        times = np.asarray(times_s, dtype=np.float64)
        count = len(times) if self._is_decoder else len(frames)
        gap_s = float(times[-1] - times[-2]) if len(times) > 1 else 1.0
        duration_s = facts.end_stream_seconds if self._is_decoder else float(times[-1]) + gap_s if count else 0.0
        self.times_s = validate_times(times, duration_s, count)
        height, width = self.decode([0])[0].shape[:2]
        self.size, self.info = (width, height), VideoInfo(NAME, duration_s, width, height, 1 / gap_s if gap_s else 0.0)

    def __len__(self) -> int:
        return len(self.times_s)

    def decode(self, indices: Sequence[int]) -> list[Array]:
        """The images at these positions, as RGB."""
        if self._is_decoder:
            data = self._frames.get_frames_played_at(self.times_s[list(indices)].tolist()).data
            rows = np.asarray(data.cpu() if hasattr(data, "cpu") else data)
            images = list(rows if rows.shape[-1] == 3 else rows.transpose(0, 2, 3, 1))
        else:
            given = [self._frames[index] for index in indices]
            images = [np.asarray(one.convert("RGB") if hasattr(one, "convert") else one) for one in given]
        for index, image in zip(indices, images, strict=True):
            if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
                got = f"has the shape {image.shape} and the type {image.dtype}"
                raise InputError(f"frame {index} {got}; expected (height, width, 3) of uint8")
        return images

    def find(self, times_s: Sequence[float]) -> list[int]:
        """The positions of the frames shown at these times."""
        shown = np.searchsorted(self.times_s, times_s, side="right") - 1
        return [int(position) for position in shown.clip(0)]

    def images(self, indices: Sequence[int], *, size: tuple[int, int]) -> list[Array]:
        return resize_all(self.decode(indices), size)

    def scores(self, indices: Sequence[int]) -> Array:  # noqa: ARG002 (of the protocol)
        raise InputError("frames can't be scored without an encoder; select from their index")


def resize_all(images: Sequence[Array], size: tuple[int, int]) -> list[Array]:
    """The images scaled to this width and height."""
    from PIL import Image

    return [np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR)) for image in images]
