"""Frames as a local model takes them: its pixel tensors, and how many placeholder tokens stand for them.

transformers' own video processors need torchvision. What they do to frames is what the picture processors do, which
need PIL alone; so frames are prepared by those and laid out as a video here, by the models' own rules.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

FramesAs = Literal["video", "pictures"]
QWEN_MIN_PIXELS = 56 * 56
QWEN_VIDEO_MIN_PIXELS = 128 * 28 * 28  # of a frame; both are the model's own
LLAVA_SIDE = 384
LLAVA_MEAN = 0.5


@dataclass(frozen=True)
class Shown:
    """Frames made ready: `marks` are the token lists that stand for the video, or for each picture in turn."""

    marks: list[list[str]]
    tensors: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class QwenFrames:
    """Qwen2.5-VL: patches of 14 × 14, two frames deep; 2 × 2 of them make one token.

    A video's token covers two frames; a picture is doubled to the same depth. max_pixels: of one frame.
    """

    max_pixels: int
    patch: int = 14
    merge: int = 2
    depth: int = 2

    specials = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    kinds = {"<|image_pad|>": 1, "<|video_pad|>": 2}  # noqa: RUF012 (a constant)

    def video(self, pictures: Sequence["Image"], *, gap_s: float) -> Shown:
        """gap_s: seconds from one frame to the next, which set the distance of their positions."""
        import torch

        patches, grid = self._patches(pictures, QWEN_VIDEO_MIN_PIXELS)
        if len(patches) % self.depth:
            patches = np.concatenate([patches, patches[-1:]])
        # (frames, patches, colour, depth, y, x): of each pair, the first frame's first layer and the second's second.
        layers = [patches[k :: self.depth, :, :, k] for k in range(self.depth)]
        rows = np.stack(layers, axis=3)
        times, height, width = len(rows), *grid
        tensors = {
            "pixel_values_videos": torch.from_numpy(rows.reshape(times * height * width, -1)),
            "video_grid_thw": torch.tensor([[times, height, width]]),
            "second_per_grid_ts": torch.tensor([self.depth * gap_s]),
        }
        return Shown([self._mark("<|video_pad|>", times * height * width)], tensors)

    def pictures(self, pictures: Sequence["Image"]) -> Shown:
        import torch

        patches, (height, width) = self._patches(pictures, QWEN_MIN_PIXELS)
        tensors = {
            "pixel_values": torch.from_numpy(patches.reshape(len(pictures) * height * width, -1)),
            "image_grid_thw": torch.tensor([[1, height, width]] * len(pictures)),
        }
        return Shown([self._mark("<|image_pad|>", height * width)] * len(pictures), tensors)

    def _patches(self, pictures: Sequence["Image"], min_pixels: int) -> tuple[np.ndarray, tuple[int, int]]:
        """(frames, patches, 3, depth, patch, patch) float32 and the grid's height and width."""
        processor = picture_processor("Qwen2VLImageProcessor")(
            min_pixels=min_pixels,
            max_pixels=max(self.max_pixels, min_pixels),
            patch_size=self.patch,
            merge_size=self.merge,
            temporal_patch_size=self.depth,
        )
        made = processor(images=list(pictures), return_tensors="np")
        _, height, width = (int(n) for n in made["image_grid_thw"][0])
        shape = (len(pictures), height * width, 3, self.depth, self.patch, self.patch)
        return np.asarray(made["pixel_values"], dtype=np.float32).reshape(shape), (height, width)

    def _mark(self, pad: str, patches: int) -> list[str]:
        return ["<|vision_start|>", *[pad] * (patches // self.merge**2), "<|vision_end|>"]


@dataclass(frozen=True)
class LlavaFrames:
    """LLaVA-OneVision and LLaVA-Video: squares of 384 pixels, 27 × 27 patches, which a video pools to 14 × 14.

    newline: where the learned line-break goes in a video: "one_token" at its end (LLaVA-OneVision), "grid" after every
    row of every frame (LLaVA-Video). pool: how 27 becomes 14 ("bilinear") or 13 ("average").
    """

    side: int = LLAVA_SIDE
    patch: int = 14
    newline: str = "one_token"
    pool: str = "bilinear"

    specials = ("<image>", "<video>")
    kinds = {"<image>": 1, "<video>": 2}  # noqa: RUF012 (a constant)

    @property
    def across(self) -> int:
        """Tokens along one side of a pooled frame."""
        patches = self.side // self.patch
        return math.ceil(patches / 2) if self.pool == "bilinear" else patches // 2

    def video(self, pictures: Sequence["Image"], *, gap_s: float) -> Shown:  # noqa: ARG002 (positions know no seconds)
        """Each frame squeezed into the square, as the model was trained."""
        row = self.across + (self.newline == "grid")
        tokens = len(pictures) * self.across * row + (self.newline == "one_token")
        pixels = self._pixels(pictures)
        return Shown([["<video>"] * tokens + ["\n"]], {"pixel_values_videos": pixels[None]})

    def pictures(self, pictures: Sequence["Image"]) -> Shown:
        """Each picture padded to a square, 729 tokens and a line-break: the model's way with several pictures."""
        import torch

        tensors = {
            "pixel_values": self._pixels([_squared(picture) for picture in pictures])[:, None],
            "image_sizes": torch.tensor([[picture.height, picture.width] for picture in pictures]),
            # One picture alone would be cut into tiles, as no frame among several is: so it is counted as one of two.
            "batch_num_images": torch.tensor([max(2, len(pictures))]),
        }
        tokens = (self.side // self.patch) ** 2 + 1
        return Shown([["<image>"] * tokens + ["\n"]] * len(pictures), tensors)

    def _pixels(self, pictures: Sequence["Image"]) -> Any:
        """(frames, 3, side, side)"""
        from PIL.Image import Resampling

        processor = picture_processor("SiglipImageProcessor")(
            size={"height": self.side, "width": self.side},
            resample=Resampling.BICUBIC,
            image_mean=[LLAVA_MEAN] * 3,
            image_std=[LLAVA_MEAN] * 3,
        )
        return processor(images=list(pictures), return_tensors="pt")["pixel_values"]


def picture_processor(stem: str) -> Any:
    """transformers' processor that needs no torchvision: in 5 it has a name of its own."""
    import transformers

    return getattr(transformers, f"{stem}Pil", None) or getattr(transformers, stem)


def _squared(picture: "Image") -> "Image":
    from PIL import Image as Pillow

    side = max(picture.size)
    grey = int(LLAVA_MEAN * 255)
    square = Pillow.new("RGB", (side, side), (grey, grey, grey))
    square.paste(picture.convert("RGB"), ((side - picture.width) // 2, (side - picture.height) // 2))
    return square
