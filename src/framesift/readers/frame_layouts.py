"""Frames as a local model's inputs: pixel tensors and the placeholder tokens that represent them.

The tensors are those of transformers' image processors. Its video processors need torchvision, and so does
`AutoProcessor` of every family here; therefore a video is put together from images, by the rules of the family's own
processor. The number of tokens is computed without transformers, for models that are not on this machine.
"""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from framesift._utils.cores import thread_count
from framesift._utils.optional import require
from framesift.encoders.image_tensors import Size

if TYPE_CHECKING:
    from PIL.Image import Image

FramesAs = Literal["video", "pictures"]
GEMMA_TOKENS = (70, 140, 280, 560, 1120)  # the numbers of tokens a frame that Gemma 4 was trained with
LLAVA_MEAN = 0.5
# Per channel, of values from 0 to 1: what Qwen's vision encoder, like CLIP, was trained with, and InternVL's.
QWEN_MEAN, QWEN_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BICUBIC = 3


@dataclass(frozen=True)
class PreparedFrames:
    """Model inputs for some frames. placeholders: one token list for the video, or one for each image."""

    placeholders: list[list[str]]
    tensors: dict[str, Any] = field(default_factory=dict)


class FrameLayout:
    """How a family of models takes frames.

    specials: the tokens that its tokenizer must have. kinds: the placeholder tokens by the number that transformers
    gives to images (1) and videos (2). is_marked: whether the frames of a video have text between them.
    """

    specials: ClassVar[tuple[str, ...]]
    kinds: ClassVar[Mapping[str, int]]
    is_marked: ClassVar[bool] = True

    def images(self, images: Sequence["Image"]) -> PreparedFrames:
        """Prepare frames as separate images."""
        raise NotImplementedError

    def video(self, images: Sequence["Image"], *, gap_s: float) -> PreparedFrames:  # noqa: ARG002 (most have no use for it)
        """Prepare frames as one video; placeholders: one list for all, or one for each frame if it is marked.

        gap_s: seconds from one frame to the next.
        """
        return self.images(images)

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:
        """The placeholder tokens of so many frames of one size (height, width)."""
        raise NotImplementedError


@dataclass(frozen=True)
class QwenFrames(FrameLayout):
    """Qwen2.5-VL: patches of 14 × 14, two frames deep; 2 × 2 of them make one token.

    A video's token covers two frames; an image is repeated to the same depth. max_pixels: of one frame.
    """

    max_pixels: int
    patch: int = 14
    merge: int = 2
    depth: int = 2
    mean: Sequence[float] = QWEN_MEAN
    std: Sequence[float] = QWEN_STD
    min_pixels: int = 56 * 56
    video_min_pixels: int = 128 * 28 * 28  # per frame; both are the model's defaults

    specials = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    kinds = {"<|image_pad|>": 1, "<|video_pad|>": 2}  # noqa: RUF012 (a constant)
    is_marked = False

    def video(self, images: Sequence["Image"], *, gap_s: float) -> PreparedFrames:
        import torch

        rows, grid = self._video_rows(images)
        # (frames, patches, channel, y and x), of which each is every layer of its patches.
        frames = rows.view(len(images), math.prod(grid), 3, self.depth, -1)[:, :, :, 0]
        frames = torch.cat([frames, frames[-1:].expand(-len(frames) % self.depth, -1, -1, -1)])
        times = len(frames) // self.depth
        # Consecutive frames are the layers of a patch.
        rows = (
            frames.view(times, self.depth, *frames.shape[1:]).permute(0, 2, 3, 1, 4).reshape(times * len(frames[0]), -1)
        )
        tensors = {
            "pixel_values_videos": rows,
            "video_grid_thw": torch.tensor([[times, *grid]]),
            "second_per_grid_ts": torch.tensor([self.depth * gap_s]),
        }
        return PreparedFrames([self._placeholders("<|video_pad|>", len(rows))], tensors)

    def images(self, images: Sequence["Image"]) -> PreparedFrames:
        tensors = self._process(images, self.min_pixels)
        patches = tensors["image_grid_thw"].prod(dim=1).tolist()
        return PreparedFrames([self._placeholders("<|image_pad|>", count) for count in patches], tensors)

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:
        if frames_as == "video":
            return math.ceil(frames / self.depth) * self._image_tokens(size, self.video_min_pixels) + 2
        return frames * (self._image_tokens(size, self.min_pixels) + 2)

    def _image_tokens(self, image: Size, min_pixels: int) -> int:
        """Of the size nearest to the image's whose sides are multiples of a token's, within the limits of pixels."""
        unit = self.patch * self.merge
        height, width = (round(side / unit) for side in image)
        area, max_pixels = math.prod(image), max(self.max_pixels, min_pixels)
        if height * width * unit**2 > max_pixels:
            shrink = math.sqrt(area / max_pixels)
            height, width = (max(1, math.floor(side / shrink / unit)) for side in image)
        elif height * width * unit**2 < min_pixels:
            enlarge = math.sqrt(min_pixels / area)
            height, width = (math.ceil(side * enlarge / unit) for side in image)
        return height * width

    def _process(self, images: Sequence["Image"], min_pixels: int) -> dict[str, Any]:
        settings = {"patch_size": self.patch, "merge_size": self.merge, "temporal_patch_size": self.depth}
        settings |= {"min_pixels": min_pixels, "max_pixels": max(self.max_pixels, min_pixels)}
        return process(
            "Qwen2VLImageProcessor", images, **settings, image_mean=list(self.mean), image_std=list(self.std)
        )

    def _video_rows(self, images: Sequence["Image"]) -> tuple[Any, Size]:
        """The rows of all frames in one size, and a frame's grid."""
        tensors = self._process(images, self.video_min_pixels)
        grids = tensors["image_grid_thw"].tolist()
        if any(grid != grids[0] for grid in grids):  # of frames scaled by relevance; a video has one size
            return self._video_rows([image.resize(images[0].size) for image in images])
        return tensors["pixel_values"], grids[0][1:]

    def _placeholders(self, pad: str, patches: int) -> list[str]:
        return ["<|vision_start|>", *[pad] * (patches // self.merge**2), "<|vision_end|>"]


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

    def video(self, images: Sequence["Image"], *, gap_s: float) -> PreparedFrames:  # noqa: ARG002 (times are text)
        import torch

        rows, grid = self._video_rows(images)
        tensors = {"pixel_values_videos": rows, "video_grid_thw": torch.tensor([[len(images), *grid]])}
        return PreparedFrames([self._placeholders("<|video_pad|>", math.prod(grid))] * len(images), tensors)

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:
        least = self.video_min_pixels if frames_as == "video" else self.min_pixels
        return frames * (self._image_tokens(size, least) + 2)


@dataclass(frozen=True)
class LlavaFrames(FrameLayout):
    """LLaVA-OneVision and LLaVA-Video: squares of 384 pixels, 27 × 27 patches, which a video pools to 14 × 14.

    newline: the place of the learned line break in a video: "one_token" at its end (LLaVA-OneVision), "grid" after
    every row of every frame (LLaVA-Video). pool: how 27 becomes 14 ("bilinear") or 13 ("average").
    """

    side: int = 384
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

    def video(self, images: Sequence["Image"], *, gap_s: float) -> PreparedFrames:  # noqa: ARG002 (positions do not depend on seconds)
        """Prepare one video; each frame is stretched to the square, as in training."""
        tokens = self.tokens(len(images), (self.side, self.side), "video") - 1
        return PreparedFrames([["<video>"] * tokens + ["\n"]], {"pixel_values_videos": self._pixels(images)[None]})

    def images(self, images: Sequence["Image"]) -> PreparedFrames:
        """Prepare separate images: each padded to a square, 729 tokens and a line break, as the model was trained."""
        import torch

        tensors = {
            "pixel_values": self._pixels([pad_to_square(image) for image in images])[:, None],
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

    def _pixels(self, images: Sequence["Image"]) -> Any:
        """(frames, 3, side, side)"""
        return process("SiglipImageProcessor", images, **_square(self.side))["pixel_values"]


@dataclass(frozen=True)
class InternFrames(FrameLayout):
    """InternVL 3 and 3.5: each frame is one tile, stretched to a square of 448 pixels.

    A still image would be up to 12 tiles, frames of a video never were.
    """

    side: int = 448
    tile_tokens: int = 256

    specials = ("<img>", "</img>", "<IMG_CONTEXT>")
    kinds = {"<IMG_CONTEXT>": 1}  # noqa: RUF012 (a constant)

    def images(self, images: Sequence["Image"]) -> PreparedFrames:
        settings = {"crop_to_patches": False, "image_mean": list(IMAGENET_MEAN), "image_std": list(IMAGENET_STD)}
        tensors = process("GotOcr2ImageProcessor", images, **_square(self.side) | settings)
        placeholder = ["<img>", *["<IMG_CONTEXT>"] * self.tile_tokens, "</img>"]
        return PreparedFrames([placeholder] * len(images), {"pixel_values": tensors["pixel_values"]})

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:  # noqa: ARG002 (the same for all)
        return frames * (self.tile_tokens + 2)


@dataclass(frozen=True)
class SmolFrames(FrameLayout):
    """SmolVLM 2: each frame is stretched to one square; still images, which it would split, are treated alike.

    longest_edge: to which a frame is resized before it is stretched, as in training.
    """

    side: int = 384
    frame_tokens: int = 81
    longest_edge: int = 384

    specials = ("<fake_token_around_image>", "<global-img>", "<image>")
    kinds = {"<image>": 1}  # noqa: RUF012 (a constant)

    def images(self, images: Sequence["Image"]) -> PreparedFrames:
        sizes = {"size": {"longest_edge": self.longest_edge}, "max_image_size": {"longest_edge": self.side}}
        tensors = process("SmolVLMImageProcessor", images, do_image_splitting=False, resample=BICUBIC, **sizes)
        fake = "<fake_token_around_image>"
        placeholder = [fake, "<global-img>", *["<image>"] * self.frame_tokens, fake]
        return PreparedFrames([placeholder] * len(images), tensors)

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:  # noqa: ARG002 (the same for all)
        return frames * (self.frame_tokens + 3)


@dataclass(frozen=True)
class GemmaFrames(FrameLayout):
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

    def video(self, images: Sequence["Image"], *, gap_s: float) -> PreparedFrames:  # noqa: ARG002 (times are text)
        return self._prepare(images, self._most("video"))

    def images(self, images: Sequence["Image"]) -> PreparedFrames:
        return self._prepare(images, self._most("pictures"))

    def tokens(self, frames: int, size: Size, frames_as: FramesAs) -> int:
        """Of the largest size of this aspect ratio in whole tokens."""
        most, unit = self._most(frames_as), self.patch * self.pool
        scale = math.sqrt(most * unit**2 / math.prod(size))
        height, width = (math.floor(scale * side / unit) for side in size)
        if not height:
            width = min(size[1] // size[0], most)
        elif not width:
            height = min(size[0] // size[1], most)
        return frames * (max(1, height) * max(1, width) + 2)

    def _most(self, frames_as: FramesAs) -> int:
        return self.frame_tokens or (self.video_tokens if frames_as == "video" else self.image_tokens)

    def _prepare(self, images: Sequence["Image"], most: int) -> PreparedFrames:
        settings = {"max_soft_tokens": most, "patch_size": self.patch, "pooling_kernel_size": self.pool}
        tensors = process("Gemma4ImageProcessor", images, **settings)
        counts = [int(count) for count in tensors.pop("num_soft_tokens_per_image")]
        return PreparedFrames([["<|image>", *["<|image|>"] * count, "<image|>"] for count in counts], tensors)


def process(name: str, images: Sequence["Image"], **settings: Any) -> dict[str, Any]:
    """The tensors of transformers' image processor of this name, the one that runs in Pillow and NumPy."""
    import torch

    transformers = require("transformers", "siglip")
    kind = getattr(transformers, f"{name}Pil", None) or getattr(transformers, name)  # before transformers 5
    processor, is_nested = kind(**settings), name.startswith("Smol")

    def tensors(image: "Image") -> Mapping[str, Any]:
        rgb = image.convert("RGB")
        found: Mapping[str, Any] = processor(images=[[rgb]] if is_nested else [rgb], return_tensors="pt")
        return found

    with ThreadPoolExecutor(thread_count()) as pool:
        parts = list(pool.map(tensors, images))
    return {key: torch.cat([part[key] for part in parts], dim=int(is_nested)) for key in parts[0]}


def pad_to_square(image: "Image") -> "Image":
    """The image in the middle of a grey square."""
    from PIL import Image

    side = max(image.size)
    square = Image.new("RGB", (side, side), (int(LLAVA_MEAN * 255),) * 3)
    square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
    return square


def _square(side: int) -> dict[str, Any]:
    grey = [LLAVA_MEAN] * 3
    return {"size": {"height": side, "width": side}, "resample": BICUBIC, "image_mean": grey, "image_std": grey}
