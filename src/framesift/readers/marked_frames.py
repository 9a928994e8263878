"""Frames of models whose video is a series of images with a mark before each: Qwen3-VL, InternVL, SmolVLM 2, Gemma 4.

A frame passed as part of a video and as an image differ in the number of its tokens, not in the layout of the tensors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from framesift.encoders.image_tensors import ImageLayout, Size, prepare_images, resize_images
from framesift.readers.pixel_values import FramesAs, PreparedFrames, QwenFrames, runs_of_one_size

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
GEMMA_TOKENS = (70, 140, 280, 560, 1120)  # the numbers of tokens a frame that Gemma 4 was trained with
WHOLE_LEVELS = ((0.0,) * 3, (1 / 255,) * 3)  # mean and std that leave the levels from 0 to 255 as they are


@dataclass(frozen=True)
class Qwen3Frames(QwenFrames):
    """Qwen3-VL: patches of 16 × 16, two frames deep; 2 × 2 of them make one token.

    Its own processor puts neighbours into one patch, under the mean of their times. Selected frames may be minutes
    apart, so each is repeated to the depth of a patch under its own time, which costs the tokens of an image.
    """

    patch: int = 16
    mean: Sequence[float] = (0.5,) * 3
    std: Sequence[float] = (0.5,) * 3
    min_pixels: int = 256 * 256
    video_min_pixels: int = 32 * 32

    is_marked = True

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:  # noqa: ARG002 (times are text)
        """Prepare a video in which each frame is a patch deep."""
        rows, grids = self._repeated(images, self.video_min_pixels, device)
        if len(set(grids)) > 1:  # of frames scaled by relevance; a video has one size
            rows, grids = self._repeated(
                [image.resize(images[0].size) for image in images], self.video_min_pixels, device
            )
        import torch

        tensors = {"pixel_values_videos": rows, "video_grid_thw": torch.tensor([[len(images), *grids[0]]])}
        return PreparedFrames([self._placeholders("<|video_pad|>", math.prod(grid)) for grid in grids], tensors)

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:
        height, width = self._size(size, self.video_min_pixels if frames_as == "video" else self.min_pixels)
        return frames * (height * width // (self.patch * self.merge) ** 2 + 2)


@dataclass(frozen=True)
class InternFrames:
    """InternVL 3 and 3.5: each frame is one tile, stretched to a square of 448 pixels."""

    side: int = 448
    tile_tokens: int = 256

    specials = ("<img>", "</img>", "<IMG_CONTEXT>")
    kinds = {"<IMG_CONTEXT>": 1}  # noqa: RUF012 (a constant)
    is_marked = True

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:  # noqa: ARG002 (as `images`)
        return self.images(images, device=device)

    def images(self, images: Sequence["Image"], *, device: Any = "cpu") -> PreparedFrames:
        """Prepare each frame as one tile. A still image would be up to 12 tiles, frames of a video never were."""
        layout = ImageLayout((self.side, self.side), IMAGENET_MEAN, IMAGENET_STD)
        placeholder = ["<img>", *["<IMG_CONTEXT>"] * self.tile_tokens, "</img>"]
        return PreparedFrames(
            [placeholder] * len(images), {"pixel_values": prepare_images(images, layout, device=device)}
        )

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:  # noqa: ARG002 (the same for all)
        return frames * (self.tile_tokens + 2)


@dataclass(frozen=True)
class SmolFrames:
    """SmolVLM 2: each frame is stretched to one square; still images, which it would split, are treated alike.

    longest_edge: to which a frame is resized before it is stretched, as in training.
    """

    side: int = 384
    frame_tokens: int = 81
    longest_edge: int = 384

    specials = ("<fake_token_around_image>", "<global-img>", "<image>")
    kinds = {"<image>": 1}  # noqa: RUF012 (a constant)
    is_marked = True

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:  # noqa: ARG002 (as `images`)
        return self.images(images, device=device)

    def images(self, images: Sequence["Image"], *, device: Any = "cpu") -> PreparedFrames:
        import torch

        square = (self.side, self.side)
        resized = []
        for group in runs_of_one_size(images):
            levels = prepare_images(group, ImageLayout(self._first_size, *WHOLE_LEVELS), device=device)
            resized.append(resize_images(levels, square) / 127.5 - 1)
        pixels = torch.cat(resized)[None]
        mask = torch.ones(1, len(images), *square, dtype=torch.long, device=device)
        fake = "<fake_token_around_image>"
        placeholder = [fake, "<global-img>", *["<image>"] * self.frame_tokens, fake]
        return PreparedFrames([placeholder] * len(images), {"pixel_values": pixels, "pixel_attention_mask": mask})

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:  # noqa: ARG002 (the same for all)
        return frames * (self.frame_tokens + 3)

    def _first_size(self, image: Size) -> Size:
        """The size with this longest edge, the other edge even."""
        ratio = image[1] / image[0]
        if ratio >= 1:
            height = int(self.longest_edge / ratio)
            return max(1, height + height % 2), self.longest_edge
        width = int(self.longest_edge * ratio)
        return self.longest_edge, max(1, width + width % 2)


@dataclass(frozen=True)
class GemmaFrames:
    """Gemma 4: patches of 16 × 16, of which 3 × 3 make one token, in the frame's own aspect ratio.

    frame_tokens: at most so many for a frame, one of GEMMA_TOKENS; None for the processor's own, 70 in a video and 280
    for an image. Frames are passed as images in both cases: the model encodes the frames of a video alike.
    """

    frame_tokens: int | None = None
    patch: int = 16
    pool: int = 3
    video_tokens: int = 70
    image_tokens: int = 280

    specials = ("<|image>", "<image|>", "<|image|>")
    kinds = {"<|image|>": 1}  # noqa: RUF012 (a constant)
    is_marked = True

    def video(self, images: Sequence["Image"], *, gap_s: float, device: Any = "cpu") -> PreparedFrames:  # noqa: ARG002 (times are text)
        return self._prepare(images, self._most("video"), device)

    def images(self, images: Sequence["Image"], *, device: Any = "cpu") -> PreparedFrames:
        return self._prepare(images, self._most("pictures"), device)

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:
        height, width = self._size(size, self._most(frames_as))
        return frames * (height * width // (self.patch * self.pool) ** 2 + 2)

    def _most(self, frames_as: FramesAs) -> int:
        return self.frame_tokens or (self.video_tokens if frames_as == "video" else self.image_tokens)

    def _prepare(self, images: Sequence["Image"], most: int, device: Any) -> PreparedFrames:
        import torch

        layout = ImageLayout(partial(self._size, most=most), (0.0,) * 3, (1.0,) * 3)
        slots = most * self.pool**2
        patches, positions, placeholders = [], [], []
        for group in runs_of_one_size(images):
            pixels = prepare_images(group, layout, device=device)
            height, width = pixels.shape[-2] // self.patch, pixels.shape[-1] // self.patch
            blocks = pixels.unflatten(3, (width, self.patch)).unflatten(2, (height, self.patch))
            rows = blocks.permute(0, 2, 4, 3, 5, 1).reshape(len(group), height * width, -1)
            patches.append(torch.nn.functional.pad(rows, (0, 0, 0, slots - height * width)))
            y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            places = torch.nn.functional.pad(
                torch.stack([x, y], dim=-1).flatten(0, 1), (0, 0, 0, slots - height * width), value=-1
            )
            positions.append(places.expand(len(group), -1, -1))
            tokens = ["<|image>", *["<|image|>"] * (height * width // self.pool**2), "<image|>"]
            placeholders += [tokens] * len(group)
        return PreparedFrames(
            placeholders, {"pixel_values": torch.cat(patches), "image_position_ids": torch.cat(positions)}
        )

    def _size(self, image: Size, most: int) -> Size:
        """The largest size of this aspect ratio with at most `most` tokens, in whole tokens."""
        unit = self.patch * self.pool
        scale = math.sqrt(most * unit**2 / (image[0] * image[1]))
        height, width = (math.floor(scale * side / unit) * unit for side in image)
        if not height:
            return unit, min(image[1] // image[0], most) * unit
        if not width:
            return min(image[0] // image[1], most) * unit, unit
        return height, width
