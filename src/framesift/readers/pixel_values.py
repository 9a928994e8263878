"""Frames as a local model's inputs: pixel tensors and the placeholder tokens that represent them.

transformers' video processors need torchvision. They process frames as the image processors do, which need only PIL; so
frames are processed by those and laid out as a video here, by the models' own rules.
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
QWEN_VIDEO_MIN_PIXELS = 128 * 28 * 28  # per frame; both are the model's defaults
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

    def video(self, images: Sequence["Image"], *, gap_s: float) -> PreparedFrames:
        """Prepare one video. gap_s: seconds from one frame to the next, which determine their positions."""
        import torch

        patches, grid = self._patches(images, QWEN_VIDEO_MIN_PIXELS)
        if len(patches) % self.depth:
            patches = np.concatenate([patches, patches[-1:]])
        # (frames, patches, channel, depth, y, x): of each pair, the first frame's first layer and the second's second.
        layers = [patches[k :: self.depth, :, :, k] for k in range(self.depth)]
        rows = np.stack(layers, axis=3)
        times, height, width = len(rows), *grid
        tensors = {
            "pixel_values_videos": torch.from_numpy(rows.reshape(times * height * width, -1)),
            "video_grid_thw": torch.tensor([[times, height, width]]),
            "second_per_grid_ts": torch.tensor([self.depth * gap_s]),
        }
        return PreparedFrames([self._placeholders("<|video_pad|>", times * height * width)], tensors)

    def images(self, images: Sequence["Image"]) -> PreparedFrames:
        """Prepare separate images."""
        import torch

        patches, (height, width) = self._patches(images, QWEN_MIN_PIXELS)
        tensors = {
            "pixel_values": torch.from_numpy(patches.reshape(len(images) * height * width, -1)),
            "image_grid_thw": torch.tensor([[1, height, width]] * len(images)),
        }
        return PreparedFrames([self._placeholders("<|image_pad|>", height * width)] * len(images), tensors)

    def _patches(self, images: Sequence["Image"], min_pixels: int) -> tuple[np.ndarray, tuple[int, int]]:
        """(frames, patches, 3, depth, patch, patch) float32 and the grid's height and width."""
        processor = image_processor("Qwen2VLImageProcessor")(
            min_pixels=min_pixels,
            max_pixels=max(self.max_pixels, min_pixels),
            patch_size=self.patch,
            merge_size=self.merge,
            temporal_patch_size=self.depth,
        )
        outputs = processor(images=list(images), return_tensors="np")
        _, height, width = (int(n) for n in outputs["image_grid_thw"][0])
        shape = (len(images), height * width, 3, self.depth, self.patch, self.patch)
        return np.asarray(outputs["pixel_values"], dtype=np.float32).reshape(shape), (height, width)

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

    def video(self, images: Sequence["Image"], *, gap_s: float) -> PreparedFrames:  # noqa: ARG002 (positions do not depend on seconds)
        """Prepare one video; each frame is stretched to the square, as in training."""
        row = self.tokens_per_side + (self.newline == "grid")
        tokens = len(images) * self.tokens_per_side * row + (self.newline == "one_token")
        pixels = self._pixels(images)
        return PreparedFrames([["<video>"] * tokens + ["\n"]], {"pixel_values_videos": pixels[None]})

    def images(self, images: Sequence["Image"]) -> PreparedFrames:
        """Prepare separate images: each padded to a square, 729 tokens and a line break, as the model was trained."""
        import torch

        tensors = {
            "pixel_values": self._pixels([_pad_to_square(image) for image in images])[:, None],
            "image_sizes": torch.tensor([[image.height, image.width] for image in images]),
            # A single image would be cut into tiles, unlike one of several: so it is counted as one of two.
            "batch_num_images": torch.tensor([max(2, len(images))]),
        }
        tokens = (self.side // self.patch) ** 2 + 1
        return PreparedFrames([["<image>"] * tokens + ["\n"]] * len(images), tensors)

    def _pixels(self, images: Sequence["Image"]) -> Any:
        """(frames, 3, side, side)"""
        from PIL.Image import Resampling

        processor = image_processor("SiglipImageProcessor")(
            size={"height": self.side, "width": self.side},
            resample=Resampling.BICUBIC,
            image_mean=[LLAVA_MEAN] * 3,
            image_std=[LLAVA_MEAN] * 3,
        )
        return processor(images=list(images), return_tensors="pt")["pixel_values"]


def image_processor(stem: str) -> Any:
    """transformers' image processor that needs no torchvision; version 5 has it under another name."""
    import transformers

    return getattr(transformers, f"{stem}Pil", None) or getattr(transformers, stem)


def _pad_to_square(image: "Image") -> "Image":
    from PIL import Image as Pillow

    side = max(image.size)
    grey = int(LLAVA_MEAN * 255)
    square = Pillow.new("RGB", (side, side), (grey, grey, grey))
    square.paste(image.convert("RGB"), ((side - image.width) // 2, (side - image.height) // 2))
    return square
