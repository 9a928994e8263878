"""Images prepared by tensor operations: what transformers' processors give, for any size and kind of image."""

import numpy as np
import pytest
import torch
from PIL import Image

from framesift.encoders.image_tensors import ImageLayout, prepare_images
from framesift.encoders.siglip import image_layout
from framesift.errors import InputError
from helpers.tiny_checkpoints import image_processor

SIZES = ((36, 64), (40, 120), (90, 120), (20, 24), (32, 32))  # not higher than wide: Pillow begins with the width
LEVEL = 1 / 255
SQUARE = {"height": 32, "width": 32}


def photo(height, width):
    """Smooth with some noise, and with values at both ends of the range."""
    noise = np.random.default_rng([height, width]).integers(0, 256, (height // 4, width // 4, 3), dtype=np.uint8)
    small = Image.fromarray(noise)
    return np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))


@pytest.mark.parametrize("resample", [Image.Resampling.BICUBIC, Image.Resampling.BILINEAR])
@pytest.mark.parametrize(
    ("stem", "size"),
    [
        ("SiglipImageProcessor", {"size": SQUARE}),
        ("CLIPImageProcessor", {"size": {"shortest_edge": 32}, "crop_size": SQUARE}),
    ],
)
def test_values_are_those_of_the_processor(stem, size, resample):
    processor = image_processor(stem)(**size, resample=resample)
    images = [photo(*size) for size in SIZES]
    expected = processor(images=[Image.fromarray(image) for image in images], return_tensors="pt")["pixel_values"]
    prepared = prepare_images(images, image_layout(processor))
    difference = (prepared - expected).abs() * min(processor.image_std)
    assert float(difference.max()) < 1.1 * LEVEL
    assert float((difference > LEVEL / 2).float().mean()) < 0.02


def test_a_processor_with_other_steps_has_no_layout():
    siglip, naflex = image_processor("SiglipImageProcessor"), image_processor("Siglip2ImageProcessor")
    assert image_layout(siglip(rescale_factor=1 / 127)) is None
    assert image_layout(siglip(do_normalize=False)) is None
    assert image_layout(siglip(resample=0)) is None
    assert image_layout(naflex()) is None


def test_kinds_of_images_mix_and_keep_their_order():
    images = [photo(*size) for size in (*SIZES, SIZES[0])]
    layout = ImageLayout((16, 16))
    alone = torch.cat([prepare_images([image], layout) for image in images])
    mixed = [Image.fromarray(image) if k % 2 else image for k, image in enumerate(images)]
    assert prepare_images(mixed, layout).equal(alone)
    assert prepare_images([torch.from_numpy(image.copy()) for image in images], layout).equal(alone)


def test_a_wrong_array_is_an_error():
    for wrong in (np.zeros((8, 8, 3)), np.zeros((8, 8), np.uint8), "picture"):
        with pytest.raises(InputError, match="an image is"):
            prepare_images([wrong], ImageLayout((16, 16)))
