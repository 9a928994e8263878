"""Frames as a local model's inputs: pixel tensors and the placeholder tokens that represent them.

transformers' video processors need torchvision, and its image processors run on the CPU; so frames are resized and
normalised on the model's device, and laid out here by the models' own rules.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from framesift.encoders.image_tensors import ImageLayout, Size, prepare_images

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


@dataclass(frozen=True)
class QwenFrames:
    """Qwen2.5-VL: patches of 14 × 14, two frames deep; 2 × 2 of them make one token.

    A video's token covers two frames; an image is repeated to the same depth. max_pixels: of one frame.
    """

    max_pixels: int
    patch: int = 14
    merge: int = 2
    depth: int = 2

    specials = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    kinds = {"<|image_pad|>": 1, "<|video_pad|>": 2}  # noqa: RUF012 (a constant)

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:
        """Prepare one video. gap_s: seconds from one frame to the next, which determine their positions."""
        import torch

        patches, (height, width) = self._patches(images, QWEN_VIDEO_MIN_PIXELS, device)
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

        patches, (height, width) = self._patches(images, QWEN_MIN_PIXELS, device)
        rows = patches.unsqueeze(3).expand(-1, -1, -1, self.depth, -1, -1)
        tensors = {
            "pixel_values": rows.reshape(len(images) * height * width, -1),
            "image_grid_thw": torch.tensor([[1, height, width]] * len(images)),
        }
        return PreparedFrames([self._placeholders("<|image_pad|>", height * width)] * len(images), tensors)

    def _patches(self, images: Sequence["Image"], min_pixels: int, device: Any) -> tuple[Any, Size]:
        """(frames, patches, 3, patch, patch) float32 and the grid's height and width."""
        unit = self.patch * self.merge
        size = partial(qwen_size, unit=unit, pixels=(min_pixels, max(self.max_pixels, min_pixels)))
        pixels = prepare_images(images, ImageLayout(size, QWEN_MEAN, QWEN_STD), device=device)
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

    @property
    def tokens_per_side(self) -> int:
        """Tokens along one side of a pooled frame."""
        patches = self.side // self.patch
        return math.ceil(patches / 2) if self.pool == "bilinear" else patches // 2

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:  # noqa: ARG002 (positions do not depend on seconds)
        """Prepare one video; each frame is stretched to the square, as in training."""
        row = self.tokens_per_side + (self.newline == "grid")
        tokens = len(images) * self.tokens_per_side * row + (self.newline == "one_token")
        pixels = self._pixels(images, device)
        return PreparedFrames([["<video>"] * tokens + ["\n"]], {"pixel_values_videos": pixels[None]})

    def images(self, images: Sequence["Image"], *, device: Any = "cpu") -> PreparedFrames:
        """Prepare separate images: each padded to a square, 729 tokens and a line break, as the model was trained."""
        import torch

        tensors = {
            "pixel_values": self._pixels([_pad_to_square(image) for image in images], device)[:, None],
            "image_sizes": torch.tensor([[image.height, image.width] for image in images]),
            # A single image would be cut into tiles, unlike one of several: so it is counted as one of two.
            "batch_num_images": torch.tensor([max(2, len(images))]),
        }
        tokens = (self.side // self.patch) ** 2 + 1
        return PreparedFrames([["<image>"] * tokens + ["\n"]] * len(images), tensors)

    def _pixels(self, images: Sequence["Image"], device: Any) -> Any:
        """(frames, 3, side, side)"""
        grey = [LLAVA_MEAN] * 3
        return prepare_images(images, ImageLayout((self.side, self.side), mean=grey, std=grey), device=device)


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


def _pad_to_square(image: "Image") -> "Image":
    from PIL import Image as Pillow

    side = max(image.size)
    grey = int(LLAVA_MEAN * 255)
    square = Pillow.new("RGB", (side, side), (grey, grey, grey))
    square.paste(image.convert("RGB"), ((side - image.width) // 2, (side - image.height) // 2))
    return square
