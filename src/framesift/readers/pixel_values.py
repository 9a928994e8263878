"""Frames as a local model's inputs: pixel tensors and the placeholder tokens that represent them.

transformers' video processors need torchvision, and its image processors run on the CPU; so frames are resized and
normalised on the model's device, and laid out here by the models' own rules.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Protocol

from framesift.encoders.image_tensors import (
    UPLOADED,
    ImageLayout,
    Size,
    prepare_images,
    resize_images,
    stack_images,
)

if TYPE_CHECKING:
    from PIL.Image import Image

FramesAs = Literal["video", "pictures"]
QWEN_MIN_PIXELS = 56 * 56
QWEN_VIDEO_MIN_PIXELS = 128 * 28 * 28  # per frame; both are the model's defaults
# Per channel, of values from 0 to 1: what Qwen's vision encoder, like CLIP, was trained with.
QWEN_MEAN = (0.48145466, 0.4578275, 0.40821073)
QWEN_STD = (0.26862954, 0.26130258, 0.27577711)
LLAVA_SIDE = 384
LLAVA_MEAN = 0.5


@dataclass(frozen=True)
class PreparedFrames:
    """Model inputs for some frames. placeholders: one token list for the video, or one for each image."""

    placeholders: list[list[str]]
    tensors: dict[str, Any] = field(default_factory=dict)


class FrameLayout(Protocol):
    """How a family of models takes frames.

    specials: the tokens that its tokenizer must have. kinds: the placeholder tokens by the number that transformers
    gives to images (1) and videos (2). is_marked: whether the frames of a video have text between them.
    """

    @property
    def specials(self) -> tuple[str, ...]: ...

    @property
    def kinds(self) -> dict[str, int]: ...

    @property
    def is_marked(self) -> bool: ...

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:
        """Prepare frames as one video; placeholders: one list for all, or one for each frame if it is marked."""

    def images(self, images: Sequence["Image"], *, device: Any = "cpu") -> PreparedFrames:
        """Prepare frames as separate images."""

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:
        """The placeholder tokens of so many frames of one size (height, width)."""


@dataclass(frozen=True)
class QwenFrames:
    """Qwen2.5-VL: patches of 14 × 14, two frames deep; 2 × 2 of them make one token.

    A video's token covers two frames; an image is repeated to the same depth. max_pixels: of one frame.
    """

    max_pixels: int
    patch: int = 14
    merge: int = 2
    depth: int = 2
    mean: Sequence[float] = QWEN_MEAN
    std: Sequence[float] = QWEN_STD
    min_pixels: int = QWEN_MIN_PIXELS
    video_min_pixels: int = QWEN_VIDEO_MIN_PIXELS

    specials = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    kinds = {"<|image_pad|>": 1, "<|video_pad|>": 2}  # noqa: RUF012 (a constant)
    is_marked = False

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:
        """Prepare one video. gap_s: seconds from one frame to the next, which determine their positions."""
        import torch

        patches, (height, width) = self._patches(images, self.video_min_pixels, device)
        missing = -len(patches) % self.depth
        patches = torch.cat([patches, patches[-1:].expand(missing, -1, -1, -1, -1)])
        times = len(patches) // self.depth
        # (times, patches, channel, depth, y, x): consecutive frames are the layers of a patch.
        rows = patches.view(times, self.depth, *patches.shape[1:]).permute(0, 2, 3, 1, 4, 5)
        tensors = {
            "pixel_values_videos": rows.reshape(times * height * width, -1),
            "video_grid_thw": torch.tensor([[times, height, width]]),
            "second_per_grid_ts": torch.tensor([self.depth * gap_s]),
        }
        return PreparedFrames([self._placeholders("<|video_pad|>", times * height * width)], tensors)

    def images(self, images: Sequence["Image"], *, device: Any = "cpu") -> PreparedFrames:
        """Prepare separate images."""
        import torch

        rows, grids = self._repeated(images, self.min_pixels, device)
        tensors = {"pixel_values": rows, "image_grid_thw": torch.tensor([[1, *grid] for grid in grids])}
        return PreparedFrames([self._placeholders("<|image_pad|>", math.prod(grid)) for grid in grids], tensors)

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:
        """The placeholder tokens of so many frames of one size (height, width)."""
        per_image = math.prod(self._size(size, self.min_pixels)) // (self.patch * self.merge) ** 2
        per_pair = math.prod(self._size(size, self.video_min_pixels)) // (self.patch * self.merge) ** 2
        return math.ceil(frames / self.depth) * per_pair + 2 if frames_as == "video" else frames * (per_image + 2)

    def _repeated(self, images: Sequence["Image"], min_pixels: int, device: Any) -> tuple[Any, list[Size]]:
        """(patches of all images, values) with each image as every layer, and the images' grids."""
        import torch

        rows, grids = [], []
        for group in runs_of_one_size(images):
            patches, grid = self._patches(group, min_pixels, device)
            rows.append(patches.unsqueeze(3).expand(-1, -1, -1, self.depth, -1, -1).reshape(-1, self._values))
            grids += [grid] * len(group)
        return torch.cat(rows), grids

    @property
    def _values(self) -> int:
        return 3 * self.depth * self.patch**2

    def _size(self, image: Size, min_pixels: int) -> Size:
        return qwen_size(image, unit=self.patch * self.merge, pixels=(min_pixels, max(self.max_pixels, min_pixels)))

    def _patches(self, images: Sequence["Image"], min_pixels: int, device: Any) -> tuple[Any, Size]:
        """(frames, patches, 3, patch, patch) float32 and the grid's height and width."""
        unit = self.patch * self.merge
        layout = ImageLayout(partial(self._size, min_pixels=min_pixels), self.mean, self.std)
        pixels = prepare_images(images, layout, device=device)
        height, width = pixels.shape[-2] // unit, pixels.shape[-1] // unit
        # The patches of one token come one after the other.
        blocks = pixels.unflatten(3, (width, self.merge, self.patch)).unflatten(2, (height, self.merge, self.patch))
        patches = blocks.permute(0, 2, 5, 3, 6, 1, 4, 7).flatten(1, 4)
        return patches, (height * self.merge, width * self.merge)

    def _placeholders(self, pad: str, patches: int) -> list[str]:
        return ["<|vision_start|>", *[pad] * (patches // self.merge**2), "<|vision_end|>"]


@dataclass(frozen=True)
class LlavaFrames:
    """LLaVA-OneVision and LLaVA-Video: squares of 384 pixels, 27 × 27 patches, which a video pools to 14 × 14.

    newline: the place of the learned line break in a video: "one_token" at its end (LLaVA-OneVision), "grid" after
    every row of every frame (LLaVA-Video). pool: how 27 becomes 14 ("bilinear") or 13 ("average").
    """

    side: int = LLAVA_SIDE
    patch: int = 14
    newline: str = "one_token"
    pool: str = "bilinear"

    specials = ("<image>", "<video>")
    kinds = {"<image>": 1, "<video>": 2}  # noqa: RUF012 (a constant)
    is_marked = False

    @property
    def tokens_per_side(self) -> int:
        """Tokens along one side of a pooled frame."""
        patches = self.side // self.patch
        return math.ceil(patches / 2) if self.pool == "bilinear" else patches // 2

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:  # noqa: ARG002 (positions do not depend on seconds)
        """Prepare one video; each frame is stretched to the square, as in training."""
        tokens = self.tokens(len(images), (self.side, self.side), "video") - 1
        pixels = self._pixels(images, device)
        return PreparedFrames([["<video>"] * tokens + ["\n"]], {"pixel_values_videos": pixels[None]})

    def images(self, images: Sequence["Image"], *, device: Any = "cpu") -> PreparedFrames:
        """Prepare separate images: each padded to a square, 729 tokens and a line break, as the model was trained."""
        import torch

        tensors = {
            "pixel_values": self._padded(images, device)[:, None],
            "image_sizes": torch.tensor([[image.height, image.width] for image in images]),
            # A single image would be cut into tiles, unlike one of several: so it is counted as one of two.
            "batch_num_images": torch.tensor([max(2, len(images))]),
        }
        tokens = self.tokens(1, (self.side, self.side), "pictures") - 1
        return PreparedFrames([["<image>"] * tokens + ["\n"]] * len(images), tensors)

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:  # noqa: ARG002 (all sizes become one)
        """The placeholder tokens of so many frames, with the line break after a video or an image."""
        if frames_as == "pictures":
            return frames * ((self.side // self.patch) ** 2 + 2)
        row = self.tokens_per_side + (self.newline == "grid")
        return frames * self.tokens_per_side * row + (self.newline == "one_token") + 1

    def _padded(self, images: Sequence["Image"], device: Any) -> Any:
        """(frames, 3, side, side), each padded to a square before it is resized."""
        import torch

        squares = []
        for group in runs_of_one_size(images):
            for k in range(0, len(group), UPLOADED):
                pixels = pad_to_square(stack_images(group[k : k + UPLOADED], device))
                squares.append(resize_images(pixels, (self.side, self.side)) / 255)
        return (torch.cat(squares) - LLAVA_MEAN) / LLAVA_MEAN

    def _pixels(self, images: Sequence["Image"], device: Any) -> Any:
        """(frames, 3, side, side)"""
        grey = [LLAVA_MEAN] * 3
        return prepare_images(images, ImageLayout((self.side, self.side), mean=grey, std=grey), device=device)


def pad_to_square(pixels: Any) -> Any:
    """(n, 3, side, side) images in the middle of grey squares, of (n, 3, height, width)."""
    from torch.nn.functional import pad

    height, width = pixels.shape[-2:]
    side = max(height, width)
    top, left = (side - height) // 2, (side - width) // 2
    return pad(pixels, (left, side - width - left, top, side - height - top), value=int(LLAVA_MEAN * 255))


def runs_of_one_size(images: Sequence["Image"]) -> Iterator[list["Image"]]:
    """Runs of consecutive images of one size."""
    return (list(group) for _, group in groupby(images, key=lambda image: image.size))


def qwen_size(image: Size, *, unit: int, pixels: tuple[int, int]) -> Size:
    """The size nearest to the image's whose sides are multiples of `unit`, with a number of pixels in this range."""
    height, width = (round(side / unit) * unit for side in image)
    area = image[0] * image[1]
    if height * width > pixels[1]:
        shrink = math.sqrt(area / pixels[1])
        height, width = (max(unit, math.floor(side / shrink / unit) * unit) for side in image)
    elif height * width < pixels[0]:
        enlarge = math.sqrt(pixels[0] / area)
        height, width = (math.ceil(side * enlarge / unit) * unit for side in image)
    return height, width
