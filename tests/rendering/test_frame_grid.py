"""Frame grids: size, place and label of every frame."""

import numpy as np
from PIL import Image

from framesift.rendering.frame_grid import LONGEST_SIDE, frame_grids, grid_size

GREY = [Image.new("RGB", (320, 180), (20 * k + 40,) * 3) for k in range(7)]
LABELS = [f"Frame {k} [0:00:0{k}.000]" for k in range(7)]


def test_frames_are_placed_row_by_row():
    grids = frame_grids(GREY, LABELS, 2)
    assert len(grids) == 2
    width, height = grids[0].size[0] // 2, grids[0].size[1] // 2
    for k in range(4):
        pixel = grids[0].getpixel((k % 2 * width + 160, k // 2 * height + 90))
        assert pixel == (20 * k + 40,) * 3


def test_grids_have_one_size_and_the_last_has_empty_cells():
    grids = frame_grids(GREY, LABELS, 2)
    assert {grid.size for grid in grids} == {grid_size((320, 180), 2)}
    width, height = grids[1].size
    assert not np.asarray(grids[1])[height // 2 :, width // 2 :].any()


def test_every_frame_has_its_label():
    drawn = np.asarray(frame_grids(GREY, LABELS, 3)[0].convert("L"))
    height = drawn.shape[0] // 3
    for k in range(7):
        strip = drawn[k // 3 * height + 180 : (k // 3 + 1) * height, k % 3 * 320 : (k % 3 + 1) * 320]
        assert strip.max() > 200


def test_large_frames_are_shrunk_and_small_ones_kept():
    assert max(grid_size((1920, 1080), 3)) <= LONGEST_SIDE
    assert max(grid_size((1080, 1920), 2)) <= LONGEST_SIDE
    assert grid_size((320, 180), 2)[0] == 640


def test_smaller_frames_are_fitted_into_the_cells():
    grid = frame_grids([GREY[0], GREY[6].resize((160, 90))], LABELS[:2], 2)[0]
    assert grid.getpixel((320 + 160, 90)) == (160,) * 3
