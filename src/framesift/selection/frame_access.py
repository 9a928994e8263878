"""Access to scores and images frame by frame, with a count of the frames a selector inspects.

Selectors that use every score read `Evidence.relevance`. Selectors designed to score or decode few frames go through
FrameAccess: it reads the evidence's arrays where there are any, else it queries the evidence's source, once per frame.
"""

from collections.abc import Sequence

import numpy as np

from framesift.errors import InputError
from framesift.types import Evidence
from framesift.types.frame_source import FrameSource
from framesift.types.vectors import Array, validate_scores


class FrameAccess:
    """One selector's access to the evidence; `frames_inspected` counts the distinct frames it requested."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._scores: dict[int, float] = {}
        self._inspected: set[int] = set()

    @property
    def frames_inspected(self) -> int:
        return len(self._inspected)

    def scores(self, indices: Sequence[int]) -> Array:
        """(K,) float64: the relevance of these frames."""
        new = [index for index in dict.fromkeys(indices) if index not in self._scores]
        if new:
            if self._evidence.is_scored:
                values = self._evidence.relevance[new]
            else:
                values = validate_scores(self._source("scores").scores(new), len(new), "the source's scores")
            self._scores |= dict(zip(new, values.tolist(), strict=True))
            self._inspected.update(new)
        return np.array([self._scores[index] for index in indices])

    def relevance(self, index: int) -> float:
        """A frame's relevance for the result, not counted as inspected: 0 if it was never scored."""
        if self._evidence.is_scored:
            return float(self._evidence.relevance[index])
        return self._scores.get(index, 0.0)

    def picture_size(self, longest_side: int) -> tuple[int, int]:
        """Width and height of the frames with this longer side; 16 : 9 if the source has no `size`."""
        width, height = getattr(self._evidence.source, "size", (0, 0))
        if width < 1 or height < 1:
            width, height = 16, 9
        scale = longest_side / max(width, height)
        return max(1, round(width * scale)), max(1, round(height * scale))

    def images(self, indices: Sequence[int], *, size: tuple[int, int]) -> list[Array]:
        """These frames as uint8 RGB arrays (height, width, 3), scaled to `size` = (width, height)."""
        images = [np.asarray(image) for image in self._source("decoded frames").pictures(indices, size=size)]
        shapes = {image.shape for image in images}
        if len(images) != len(indices) or shapes - {(size[1], size[0], 3)}:
            got = f"{len(images)} images of shapes {sorted(shapes)}"
            raise InputError(f"the source gave {got}; expected {len(indices)} of {(size[1], size[0], 3)}")
        self._inspected.update(indices)
        return images

    def _source(self, what: str) -> FrameSource:
        if self._evidence.source is None:
            raise InputError(
                f"this selector needs {what}, and the evidence has no source of them: pass source=, or select from an "
                "indexed video whose file still exists"
            )
        return self._evidence.source
