"""T*'s search loop: sample frames, detect objects in them, sample the next frames near detections.

`t_star.py`, `vsi.py` and `logic_in_frames.py` run it, each with its own fusion or bonus.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

import numpy as np

from framesift.errors import MissingExtra
from framesift.selection.frame_access import FrameAccess
from framesift.selection.grids import detect_in_grids, detection_score, object_weights
from framesift.selection.sampling import sample_by_weight
from framesift.types.frame_source import Box, Detector, Objects
from framesift.types.vectors import Array

MAX_FRAMES, FRAME_SHARE = 1000, 0.1
NEIGHBOURS = 5  # frames on each side that a score spreads to
WEIGHT_FLOOR = 1e-3  # of the largest weight, so that no frame is excluded for good

Detections = Mapping[int, Sequence[Box]]


class ObjectSearch:
    """One search: `run` detects objects until its frame limit is reached, then `sample` draws the final frames.

    fuse: maps the interpolated object scores (N,) to sampling scores (N,). bonus: maps all detections so far to
    additions to the scores of some frames.
    """

    def __init__(
        self,
        access: FrameAccess,
        count: int,
        *,
        side: int,
        seed: int,
        fuse: Callable[[Array], Array] | None = None,
        bonus: Callable[[Detections], Mapping[int, float]] | None = None,
    ) -> None:
        self._access, self._count, self._side = access, count, side
        self._rng = np.random.default_rng(seed)
        self._fuse = fuse or (lambda object_scores: object_scores)
        self._bonus = bonus or (lambda _: {})
        self.detections: dict[int, list[Box]] = {}
        self.object_scores = np.zeros(count)

    def run(self, detector: Detector, objects: Objects, *, budget: int) -> None:
        """Search min(1000, 0.1 N) frames, but at least as many as the budget, one grid at a time."""
        limit = min(self._count, max(budget, math.ceil(min(MAX_FRAMES, FRAME_SHARE * self._count))))
        weights = object_weights(objects)
        scores: dict[int, float] = {}
        while len(self.detections) < limit:
            sampling = self._sampling_weights()
            sampling[list(self.detections)] = 0.0
            size = min(self._side**2, limit - len(self.detections))
            batch = sorted(sample_by_weight(self._rng, sampling, size))
            new = detect_in_grids(self._access, detector, batch, objects.phrases, side=self._side)
            self.detections |= new
            scores |= {index: detection_score(boxes, weights) for index, boxes in new.items()}
            bonus = self._bonus(self.detections)
            totals = {index: score + bonus.get(index, 0.0) for index, score in scores.items()}
            self.object_scores = interpolate_scores(totals, self._count)

    def sample(self, size: int) -> list[int]:
        """Draw the final frames from the last distribution."""
        return sample_by_weight(self._rng, self._sampling_weights(), size)

    def _sampling_weights(self) -> Array:
        """(N,) unnormalised sampling probabilities: uniform while every score is 0."""
        scores = np.maximum(self._fuse(self.object_scores), 0.0)
        largest = float(scores.max())
        return scores + WEIGHT_FLOOR * largest if largest > 0 else np.ones(self._count)


def interpolate_scores(scores: Mapping[int, float], count: int) -> Array:
    """(N,) a cubic spline through the searched frames, at least what their scores spread to neighbours.

    A score s spreads as s / (k + 1) to frames at distance k, up to 5. The spline is monotone between its points
    (PCHIP), so it never exceeds the detected scores; before the first and after the last point it is constant.
    """
    searched = np.array(sorted(scores))
    values = np.array([scores[index] for index in searched.tolist()])
    spread = np.zeros(count)
    for k in range(-NEIGHBOURS, NEIGHBOURS + 1):
        neighbours = searched + k
        inside = (neighbours >= 0) & (neighbours < count)
        # The indices at one distance are distinct, so the assignment loses none.
        at = neighbours[inside]
        spread[at] = np.maximum(spread[at], values[inside] / (abs(k) + 1))
    knots = spread[searched]
    if len(searched) == 1:
        constant: Array = np.maximum(spread, knots[0])
        return constant
    try:
        curve = import_module("scipy.interpolate").PchipInterpolator(searched, knots)
    except ImportError as error:
        raise MissingExtra(f"this search can't import scipy ({error}): pip install 'framesift[peers]'") from error
    interpolated: Array = np.maximum(curve(np.arange(count).clip(searched[0], searched[-1])), spread)
    return interpolated
