"""From stored frames to what a viewer sees: colours, shape, orientation, size."""

from fractions import Fraction
from itertools import product

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.video.colour import HLG, PQ, WHITE, FrameConverter, shrunk_size, square_pixel_size
from framesift.video.frames import probe, sample
from helpers.clips import Clip, numbered, read_number

LOSSLESS = {"qp": "0", "preset": "ultrafast"}
# Kr and Kb of the standards, and the numbers by which streams name them.
WEIGHTS = {"601": (0.299, 0.114, 6), "709": (0.2126, 0.0722, 1), "2020": (0.2627, 0.0593, 9)}
COLOURS = [(200, 40, 40), (40, 180, 60), (30, 60, 210), (250, 250, 250), (5, 5, 5), (128, 128, 128)]


def to_yuv(rgb, standard, full):
    """The standards' own equations, eight bits."""
    kr, kb, _ = WEIGHTS[standard]
    r, g, b = (value / 255 for value in rgb)
    y = kr * r + (1 - kr - kb) * g + kb * b
    u, v = (b - y) / (2 * (1 - kb)), (r - y) / (2 * (1 - kr))
    if full:
        return [y * 255, u * 255 + 128, v * 255 + 128]
    return [16 + y * 219, 128 + u * 224, 128 + v * 224]


def flat_frame(yuv, size=(64, 48), bits=8):
    width, height = size
    frame = av.VideoFrame(width, height, "yuv444p" if bits == 8 else "yuv444p10le")
    for plane, value in zip(frame.planes, yuv, strict=True):
        level = round(value * 2 ** (bits - 8))
        plane.update(np.full(plane.buffer_size // (1 if bits == 8 else 2), level, np.uint8 if bits == 8 else "<u2"))
    return frame


def test_colours_follow_the_declared_standard():
    for rgb, standard, full, bits in product(COLOURS, WEIGHTS, (False, True), (8, 10)):
        frame = flat_frame(to_yuv(rgb, standard, full), bits=bits)
        frame.colorspace, frame.color_range = WEIGHTS[standard][2], 2 if full else 1
        image = FrameConverter(None).convert(frame)
        assert np.abs(image.astype(int) - rgb).max() <= 3, (rgb, standard, full, bits)


@pytest.mark.parametrize(("size", "standard"), [((1280, 720), "709"), ((640, 480), "601")])
def test_undeclared_standard_follows_from_the_height(size, standard):
    frame = flat_frame(to_yuv(COLOURS[0], standard, False), size=size)
    frame.colorspace, frame.color_range = 2, 0
    assert np.abs(FrameConverter(None).convert(frame).astype(int) - COLOURS[0]).max() <= 3


def grey_of(nits, transfer):
    """The image of a grey of that luminance, coded by BT.2100's equations in ten bits."""
    if transfer == PQ:
        power = (nits / 10_000) ** (2610 / 16384)
        code = ((3424 / 4096 + 2413 / 128 * power) / (1 + 2392 / 128 * power)) ** (2523 / 32)
    else:
        scene = (nits / 1000) ** (1 / 1.2)
        code = (3 * scene) ** 0.5 if scene <= 1 / 12 else 0.17883277 * np.log(12 * scene - 0.28466892) + 0.55991073
    frame = flat_frame([16 + 219 * code, 128, 128], bits=10)
    frame.colorspace, frame.color_range, frame.color_trc, frame.color_primaries = 9, 1, transfer, 9
    return FrameConverter(None).convert(frame)


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_hdr_maps_ordinary_light_like_standard_range_and_keeps_highlights_distinct(transfer):
    for nits in (1, 10, 40, 100, 150):
        expected = 255 * (1.055 * (nits / WHITE) ** (1 / 2.4) - 0.055)
        assert np.abs(grey_of(nits, transfer).astype(float) - expected).max() <= 3
    shades = [int(grey_of(nits, transfer).mean()) for nits in (160, 203, 260, 330)]
    assert shades == sorted(set(shades)) and shades[-1] <= 255


@pytest.mark.parametrize("transfer", [PQ, HLG])
def test_hdr_file_decodes_to_an_image(tmp_path, transfer):
    colours = {"colorspace": 9, "color_trc": transfer, "color_primaries": 9, "color_range": 1}
    options = {"x265-params": "log-level=none", "preset": "ultrafast"}
    # In MP4, FFmpeg refuses some streams of fewer frames than the encoder delays.
    clip = Clip("libx265", options, ticks=range(2), pix_fmt="yuv420p10le", colours=colours)
    image = next(sample(clip.write(tmp_path / "hdr.mkv"), short_side=48))[1]
    assert image.shape == (48, 80, 3) and image.std() > 30 and read_number(image) == 0


@pytest.mark.parametrize("size", [(161, 97), (35, 201)])
def test_odd_sizes_are_preserved(tmp_path, size):
    path = Clip("ffv1", ticks=range(3), size=size, pix_fmt="yuv444p").write(tmp_path / "odd.mkv")
    image = next(sample(path))[1]
    assert image.shape == (size[1], size[0], 3)
    assert np.abs(image.astype(int) - numbered(0, *size)).mean() < 3


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("mirrored", [False, True])
def test_rotated_and_mirrored_frames_are_upright(tmp_path, degrees, mirrored):
    stored = numbered(5)
    clip = Clip(options=LOSSLESS, ticks=range(1), pictures=[stored], rotation=degrees, mirrored=mirrored)
    path = clip.write(tmp_path / "turned.mp4")
    with av.open(str(path)) as container:
        rotation = next(container.decode(video=0)).rotation  # of the mirrored image, if it is
    # A positive angle turns counter-clockwise, and mirroring comes first.
    expected = np.rot90(stored[:, ::-1], rotation // 90 + 2) if mirrored else np.rot90(stored, rotation // 90)
    image, info = next(sample(path))[1], probe(path)
    assert image.shape == expected.shape == (info.height, info.width, 3)
    assert np.abs(image.astype(int) - expected).mean() < 8


@pytest.mark.parametrize(
    ("aspect", "shown"), [(Fraction(2), (320, 96)), (Fraction(1, 2), (160, 192)), (Fraction(1, 60_000), (160, 96))]
)
def test_anamorphic_pixels_become_square(tmp_path, aspect, shown):
    path = Clip(options=LOSSLESS, ticks=range(1), aspect=aspect).write(tmp_path / "wide.mp4")
    info = probe(path)
    image = next(sample(path))[1]
    assert (info.width, info.height) == shown == image.shape[1::-1]
    assert read_number(image) == 0


def test_shrinking_keeps_the_aspect_and_averages(tmp_path):
    checks = np.kron(np.indices((48, 80)).sum(0) % 2 * 255, np.ones((2, 2)))[..., None].repeat(3, 2).astype(np.uint8)
    path = Clip(options=LOSSLESS, ticks=range(3), pictures=[checks]).write(tmp_path / "checks.mp4")
    image = next(sample(path, short_side=12))[1]
    assert image.shape == (12, 20, 3)
    assert abs(image[2:-2, 2:-2].astype(int) - 128).max() < 12  # no moiré of black and white


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 3000))
def test_shrinking_never_enlarges(width, height, side):
    w, h = shrunk_size(width, height, side)
    assert 1 <= w <= width and 1 <= h <= height
    assert min(w, h) == min(width, height, side)


@given(st.integers(16, 4000), st.integers(16, 4000), st.fractions(Fraction(1, 4), 4, max_denominator=100))
def test_square_pixels_lose_no_detail(width, height, aspect):
    w, h = square_pixel_size(width, height, aspect)
    assert w >= width and h >= height
    assert w / h == pytest.approx(width * aspect / height, rel=0.05)
