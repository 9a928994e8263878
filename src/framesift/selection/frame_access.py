"""Looking at a video frame by frame: a selector asks for what it needs, and what it asked for is counted.

Selectors that use every score read `Evidence.relevance`. Those whose point is to look at few frames go through a Look:
with arrays at hand it reads them one by one, without arrays it asks the evidence's source, each frame once.
"""

from collections.abc import Sequence

import numpy as np

from framesift.errors import InputError
from framesift.types import Evidence
from framesift.types.frame_source import FrameSource
from framesift.types.vectors import Array, checked_scores


class Look:
    """One selector's view of the evidence; `looked_at` is how many distinct frames it has asked for."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._scores: dict[int, float] = {}
        self._seen: set[int] = set()

    @property
    def looked_at(self) -> int:
        return len(self._seen)

    def scores(self, indices: Sequence[int]) -> Array:
        """(K,) float64: the relevance of these frames."""
        new = [index for index in dict.fromkeys(indices) if index not in self._scores]
        if new:
            if self._evidence.is_scored:
                values = self._evidence.relevance[new]
            else:
                values = checked_scores(self._source("scores").scores(new), len(new), "the source's scores")
            self._scores |= dict(zip(new, values.tolist(), strict=True))
            self._seen.update(new)
        return np.array([self._scores[index] for index in indices])

    def relevance(self, index: int) -> float:
        """A frame's relevance, for the record: 0 if there are no arrays and nobody asked for it."""
        if self._evidence.is_scored:
            return float(self._evidence.relevance[index])
        return self._scores.get(index, 0.0)

    def pictures(self, indices: Sequence[int], *, size: tuple[int, int]) -> list[Array]:
        """These frames as uint8 RGB arrays (height, width, 3) of `size` = (width, height)."""
        pictures = [np.asarray(picture) for picture in self._source("pictures").pictures(indices, size=size)]
        shapes = {picture.shape for picture in pictures}
        if len(pictures) != len(indices) or shapes - {(size[1], size[0], 3)}:
            got = f"{len(pictures)} pictures of shapes {sorted(shapes)}"
            raise InputError(f"the source gave {got}; expected {len(indices)} of {(size[1], size[0], 3)}")
        self._seen.update(indices)
        return pictures

    def _source(self, what: str) -> FrameSource:
        if self._evidence.source is None:
            raise InputError(
                f"this selector looks at {what}, and the evidence has no source of them: pass source=, or select from "
                "an indexed video that is still where it was"
            )
        return self._evidence.source
