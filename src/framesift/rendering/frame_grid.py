"""The frame grid: several frames on one image, each above its label, for models that accept few images."""

import math
from collections.abc import Sequence

from PIL import Image

from framesift.rendering.overlay import WEIGHT
from framesift.rendering.typesetting.layout import lay_out

LONGEST_SIDE = 1536  # pixels of a grid; frames are shrunk to fit, never enlarged
LABEL = 0.075  # height of a label, as a fraction of the frame's
LABEL_TEXT = 0.72  # text size, as a fraction of the label's height
MIN_LABEL = 12  # pixels
BACKGROUND, INK = "#000000", "#ffffff"


def grid_size(frame: tuple[int, int], columns: int) -> tuple[int, int]:
    """Width and height of a grid of `columns` × `columns` frames of this size."""
    (width, height), label = _cell(frame, columns)
    return columns * width, columns * (height + label)


def frame_grids(images: Sequence[Image.Image], labels: Sequence[str], columns: int) -> list[Image.Image]:
    """Draw the frames row by row on grids of `columns` × `columns`, all of one size; the last may have empty cells."""
    largest = max(image.width for image in images), max(image.height for image in images)
    pairs = list(zip(images, labels, strict=True))
    step = columns**2
    return [_grid(pairs[k : k + step], largest, columns) for k in range(0, len(pairs), step)]


def _cell(frame: tuple[int, int], columns: int) -> tuple[tuple[int, int], int]:
    """The size of a frame in a grid, and the height of its label."""
    scale = min(1.0, LONGEST_SIDE / columns / max(frame[0], frame[1] * (1 + LABEL)))
    width, height = (max(1, math.floor(side * scale)) for side in frame)
    return (width, height), max(MIN_LABEL, round(LABEL * height))


def _grid(pairs: Sequence[tuple[Image.Image, str]], frame: tuple[int, int], columns: int) -> Image.Image:
    (width, height), label_height = _cell(frame, columns)
    canvas = Image.new("RGB", grid_size(frame, columns), BACKGROUND)
    for k, (image, label) in enumerate(pairs):
        x, y = k % columns * width, k // columns * (height + label_height)
        scale = min(width / image.width, height / image.height)
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        canvas.paste(small, (x + (width - size[0]) // 2, y + (height - size[1]) // 2))
        text = lay_out(label, width, sizes=(label_height * LABEL_TEXT,), lines=1, weight=WEIGHT)
        text.draw(canvas, (x, y + height + (label_height - text.height) // 2), INK, within=width, centred=True)
    return canvas
