"""Conversion by tensor operations: the images of the CPU's converter, for every format, range, size and rotation."""

from fractions import Fraction
from itertools import product

import av
import numpy as np
import pytest
import torch
from PIL import Image

from framesift.video.blank import is_blank, small_picture
from framesift.video.colour import FrameConverter, Orientation, read_orientation
from framesift.video.cuda import reduce_images, shrink_images
from framesift.video.planes import PlaneConverter, PlaneLayout

BITS = {"yuv420p": 8, "yuvj420p": 8, "yuv420p10le": 10}
# Levels: libswscale rounds coarsely where it resizes to an even width, and 10 bits.
MEAN, MOST = 2.5, 6
MATRICES = (1, 5, 6, 7, 9, 2)  # by the numbers of ITU-T H.273; 2: not stated


def pictures_of(*frames, orientation=None):
    planes = [[torch.from_dlpack(plane) for plane in frame.planes] for frame in frames]
    luma, chroma = torch.stack([p[0] for p in planes]), torch.stack([torch.stack(p[1:]) for p in planes])
    frame = frames[0]
    is_full = frame.color_range == 2 or frame.format.name.startswith("yuvj")
    turned = read_orientation(frame) if orientation is None else orientation
    bits = BITS[frame.format.name]
    return luma, chroma, PlaneLayout(bits, is_full, frame.colorspace, turned)


def textured(format_name, width=96, height=64, *, colorspace=1, full=False, seed=0):
    """A frame with smooth colours and some noise, inside the range of RGB."""
    rng = np.random.default_rng(seed)
    scale = 1 << (BITS[format_name] - 8)
    frame = av.VideoFrame(width, height, format_name)
    for k, plane in enumerate(frame.planes):
        values = rng.integers(-8, 9, (plane.height, plane.width)) + (60 if k == 0 else 16) * np.sin(
            np.add.outer(np.arange(plane.height) / 9, np.arange(plane.width) / 7)
        )
        target = torch.from_dlpack(plane).numpy()
        target[:] = ((values + 120) * scale).astype(target.dtype)
    frame.colorspace, frame.color_range = colorspace, 2 if full else 1
    return frame


def differences(frame, short_side, codec="h264", aspect=None, dtype=None):
    expected = FrameConverter(aspect, short_side).convert(frame)
    (image,) = PlaneConverter(aspect, short_side, codec=codec, dtype=dtype).convert(*pictures_of(frame))
    assert image.dtype == torch.uint8 and tuple(image.shape) == expected.shape
    return np.abs(image.numpy().astype(int) - expected)


def assert_alike(found, most=MOST):
    assert found.mean() < MEAN
    assert np.quantile(found, 0.999) <= most


@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_formats_ranges_and_matrices_give_the_images_of_the_cpu(dtype):
    for format_name, full, colorspace in product(("yuv420p", "yuv420p10le"), (False, True), MATRICES):
        frame = textured(format_name, colorspace=colorspace, full=full)
        for short_side in (None, 47, 46):
            codec = "vp9" if short_side is None else "av1"
            assert_alike(differences(frame, short_side, codec=codec, dtype=dtype))


def test_frames_of_8_bits_that_are_not_resized_differ_by_rounding_only():
    for full, colorspace in product((False, True), MATRICES):
        assert differences(textured("yuv420p", colorspace=colorspace, full=full), None).mean() < 0.05


def test_without_a_matrix_the_height_decides():
    for height in (718, 720):
        assert_alike(differences(textured("yuv420p", 64, height, colorspace=2), 60, codec="av1"))


def test_wide_pixels_are_stretched():
    for aspect in (Fraction(4, 3), Fraction(2, 3)):
        assert_alike(differences(textured("yuv420p"), None, codec="av1", aspect=aspect))


def test_images_are_mirrored_and_turned():
    frame = textured("yuv420p")
    plain = PlaneConverter(None).convert(*pictures_of(frame, orientation=Orientation()))[0].numpy()
    for quarters, mirrored in product(range(4), (False, True)):
        turned = pictures_of(frame, orientation=Orientation(quarters, mirrored))
        image = PlaneConverter(None).convert(*turned)[0].numpy()
        np.testing.assert_array_equal(image, np.rot90(plain[:, ::-1] if mirrored else plain, quarters))


def test_images_of_a_batch_are_those_of_single_pictures():
    for name in ("yuv420p", "yuv420p10le"):
        frames = [textured(name, seed=seed) for seed in range(3)]
        for short_side in (None, 47, 46):
            converter = PlaneConverter(None, short_side)
            together = converter.convert(*pictures_of(*frames, orientation=Orientation(1, True)))
            single = [converter.convert(*pictures_of(f, orientation=Orientation(1, True)))[0] for f in frames]
            # The sums of a product may be added in another order.
            np.testing.assert_allclose(together, torch.stack(single), atol=1)


def test_reduced_images_are_pillows_to_rounding_and_as_blank_as_the_whole():
    rng = np.random.default_rng(0)
    for height, width in ((300, 401), (128, 200), (97, 130), (771, 640)):
        image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        factor = max(min(height, width) // 128, 1)
        ours = reduce_images(torch.from_numpy(image)[None])[0].numpy()
        np.testing.assert_allclose(ours, np.asarray(Image.fromarray(image).reduce(factor)), atol=1)
        for whole in (image, np.full_like(image, 30)):
            assert is_blank(reduce_images(torch.from_numpy(whole)[None])[0].numpy()) == is_blank(whole)


def test_small_images_are_pillows_to_rounding():
    rng = np.random.default_rng(0)
    for height, width in ((128, 228), (150, 171), (240, 135), (40, 30)):
        images = rng.integers(0, 256, (2, height, width, 3), dtype=np.uint8)
        expected = np.stack([small_picture(Image.fromarray(image)) for image in images])
        found = shrink_images(torch.from_numpy(images)).numpy()
        assert found.dtype == expected.dtype and np.abs(found - expected).max() <= 1
