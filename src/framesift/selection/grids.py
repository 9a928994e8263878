"""Objects in frames: candidates tiled into grids, a detector over the grids, boxes back to their frames."""

from collections.abc import Mapping, Sequence

import numpy as np

from framesift.errors import InputError
from framesift.selection.frame_access import Look
from framesift.types import Evidence
from framesift.types.frame_source import Box, Detector, Objects
from framesift.types.vectors import Array

CELL = (160, 90)  # width and height of a frame in a grid
TARGET_WEIGHT, CUE_WEIGHT = 1.0, 0.5


def check_detector(method: str, detector: Detector | None) -> Detector:
    if detector is None:
        raise InputError(
            f"{method} needs an object detector: pass detector='owlv2' (--set detector=owlv2), 'grounding-dino', a "
            "checkpoint's folder, or any object with detect(pictures, phrases)"
        )
    if not hasattr(detector, "detect"):
        raise InputError(f"detector is {detector!r}; expected an object with detect(pictures, phrases)")
    return detector


def check_objects(method: str, evidence: Evidence) -> Objects:
    if evidence.objects is None or not evidence.objects.phrases:
        raise InputError(f"{method} looks for objects, and the evidence names none: pass objects=Objects(targets)")
    return evidence.objects


def detector_name(detector: Detector) -> str:
    return str(getattr(detector, "name", type(detector).__name__))


def find_objects(
    look: Look, detector: Detector, indices: Sequence[int], phrases: Sequence[str], *, side: int
) -> dict[int, list[Box]]:
    """Frame index → its boxes, in pixels of its own cell. A box belongs to the cell that holds its centre."""
    width, height = CELL
    found: dict[int, list[Box]] = {index: [] for index in indices}
    for start in range(0, len(indices), side * side):
        part = list(indices[start : start + side * side])
        (boxes,) = detector.detect([tile(look.pictures(part, size=CELL), side)], phrases)
        for box in boxes:
            column, row = (box.left + box.right) / 2 // width, (box.top + box.bottom) / 2 // height
            place = int(row * side + column)
            if 0 <= column < side and 0 <= row < side and place < len(part):
                left, top = column * width, row * height
                inside = (box.left - left, box.top - top, box.right - left, box.bottom - top)
                found[part[place]].append(Box(box.phrase, float(box.score), *map(float, inside)))
    return found


def tile(pictures: Sequence[Array], side: int) -> Array:
    """One picture of side × side cells, filled row by row; the cells left over are black."""
    height, width, _ = pictures[0].shape
    grid = np.zeros((side * height, side * width, 3), dtype=np.uint8)
    for place, picture in enumerate(pictures):
        row, column = divmod(place, side)
        grid[row * height : (row + 1) * height, column * width : (column + 1) * width] = picture
    return grid


def object_weights(objects: Objects) -> dict[str, float]:
    """Targets weigh 1, cues and what is only named in a relation 0.5."""
    return {phrase: TARGET_WEIGHT if phrase in objects.targets else CUE_WEIGHT for phrase in objects.phrases}


def strongest(boxes: Sequence[Box], weights: Mapping[str, float]) -> float:
    """A frame's score: the largest weight × confidence of its boxes, 0 without any."""
    return max((weights.get(box.phrase, 0.0) * box.score for box in boxes), default=0.0)
