"""Object detection on grids of frames: tile candidates, run the detector, assign each box to its frame."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from framesift.selection.looking.access import FrameAccess
from framesift.types.lookup import Box, Detector, Objects
from framesift.types.vectors import Array

# Width and height of one frame in a grid, and of one that is looked at alone, as in T*.
CELL_SIZE = (200, 95)
ALONE_SIZE = (600, 285)
TARGET_WEIGHT, CUE_WEIGHT = 1.0, 0.5


def detect_in_grids(
    access: FrameAccess, detector: Detector, indices: Sequence[int], phrases: Sequence[str], *, side: int
) -> dict[int, list[Box]]:
    """Frame index → its boxes, in pixels of its own cell. A box belongs to the cell nearest to its centre."""
    width, height = CELL_SIZE
    detections: dict[int, list[Box]] = {index: [] for index in indices}
    for start in range(0, len(indices), side * side):
        batch = list(indices[start : start + side * side])
        (boxes,) = detector.detect([tile_images(access.images(batch, size=CELL_SIZE), side)], phrases)
        for box in boxes:
            column = min(max(int((box.left + box.right) / 2 // width), 0), side - 1)
            row = min(max(int((box.top + box.bottom) / 2 // height), 0), side - 1)
            cell = row * side + column
            if cell < len(batch):
                left, top = column * width, row * height
                inside = (box.left - left, box.top - top, box.right - left, box.bottom - top)
                detections[batch[cell]].append(Box(box.phrase, float(box.score), *map(float, inside)))
    return detections


def detect_in_frame(access: FrameAccess, detector: Detector, index: int, phrases: Sequence[str]) -> list[Box]:
    """The boxes of one frame that is looked at alone."""
    (boxes,) = detector.detect(access.images([index], size=ALONE_SIZE), phrases)
    return list(boxes)


def tile_images(images: Sequence[Array], side: int) -> Array:
    """One image of side × side cells, filled row by row; remaining cells are black."""
    height, width, _ = images[0].shape
    grid = np.zeros((side * height, side * width, 3), dtype=np.uint8)
    for cell, image in enumerate(images):
        row, column = divmod(cell, side)
        grid[row * height : (row + 1) * height, column * width : (column + 1) * width] = image
    return grid


def object_weights(objects: Objects) -> dict[str, float]:
    """Phrase → weight: 1 for targets, 0.5 for cues and for objects that only a relation names."""
    return {phrase: TARGET_WEIGHT if phrase in objects.targets else CUE_WEIGHT for phrase in objects.phrases}


def detection_score(boxes: Sequence[Box], weights: Mapping[str, float]) -> float:
    """A frame's score: the largest weight × confidence of its boxes, 0 without any."""
    return max((weights.get(box.phrase, 0.0) * box.score for box in boxes), default=0.0)


def phrase_scores(detections: Mapping[int, Sequence[Box]], phrases: Collection[str]) -> Array:
    """(N,) the largest confidence of any of these phrases in each frame, 0 without any."""
    boxes = detections.values()
    return np.array([max((box.score for box in found if box.phrase in phrases), default=0.0) for found in boxes])
