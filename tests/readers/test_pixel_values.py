"""Frames as a local model's inputs: what transformers' image processors give."""

import numpy as np
import pytest
from PIL import Image

from framesift.readers.pixel_values import LlavaFrames, QwenFrames
from helpers.tiny_checkpoints import image_processor

RNG = np.random.default_rng(0)


def photo(width, height):
    small = Image.fromarray(RNG.integers(0, 256, (height // 4, width // 4, 3), dtype=np.uint8))
    return small.resize((width, height), Image.Resampling.BICUBIC)


@pytest.mark.parametrize("size", [(200, 120), (120, 200), (640, 360), (40, 30), (60, 60)])
def test_qwen_images_are_those_of_the_processor(size):
    images = [photo(*size) for _ in range(2)]
    processor = image_processor("Qwen2VLImageProcessor")(min_pixels=56 * 56, max_pixels=60_000)
    expected = processor(images=images, return_tensors="pt")
    tensors = QwenFrames(60_000).images(images).tensors
    assert tensors["image_grid_thw"].tolist() == expected["image_grid_thw"].tolist()
    # Mean: Pillow begins with the height for some sizes, and then bright and dark edges differ.
    assert float((tensors["pixel_values"] - expected["pixel_values"]).abs().mean()) < 0.3 / 255 / 0.26


def test_qwen_videos_pair_frames_in_the_layers_of_a_patch():
    shades = [Image.new("RGB", (420, 280), (level,) * 3) for level in (0, 255, 128)]
    rows = QwenFrames(602_112).video(shades, gap_s=1).tensors["pixel_values_videos"].reshape(2, -1, 3, 2, 14, 14)
    alone = [QwenFrames(602_112).images([s]).tensors["pixel_values"].reshape(-1, 3, 2, 14, 14) for s in shades]
    assert rows[0][:, :, 0].equal(alone[0][:, :, 0]) and rows[0][:, :, 1].equal(alone[1][:, :, 1])
    assert rows[1][:, :, 0].equal(rows[1][:, :, 1])


def test_llava_frames_are_those_of_the_processor():
    images = [photo(640, 360), photo(500, 400)]
    processor = image_processor("SiglipImageProcessor")(size={"height": 384, "width": 384})
    expected = processor(images=images, return_tensors="pt")["pixel_values"]
    ours = LlavaFrames().video(images, gap_s=1).tensors["pixel_values_videos"][0]
    assert float((ours - expected).abs().max()) < 1.1 / 255 / 0.5


def test_llava_images_are_padded_to_squares_before_they_are_resized():
    images = [photo(640, 360), photo(640, 360), photo(300, 500)]
    squares = []
    for image in images:
        side = max(image.size)
        squares.append(Image.new("RGB", (side, side), (127, 127, 127)))
        squares[-1].paste(image, ((side - image.width) // 2, (side - image.height) // 2))
    expected = LlavaFrames().video(squares, gap_s=1).tensors["pixel_values_videos"][0]
    assert (LlavaFrames().images(images).tensors["pixel_values"][:, 0] - expected).abs().max() < 1e-6
