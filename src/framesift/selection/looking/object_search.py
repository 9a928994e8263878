"""T*'s search loop: detect objects in a grid of frames, draw the next grid near detections, until all are found.

`t_star.py`, `vsi.py` and `logic_in_frames.py` run it, each with its own curve, fusion or bonus and its own last step.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from framesift._utils.optional import require
from framesift.selection.looking.access import FrameAccess
from framesift.selection.looking.grids import detect_in_frame, detect_in_grids, detection_score, object_weights
from framesift.selection.result_builders import build_selection
from framesift.selection.validation import check_number, check_positive, check_whole
from framesift.types import Event, Evidence, Selection
from framesift.types.lookup import Box, Lookup
from framesift.types.vectors import Array

MAX_FRAMES = 1000
NEIGHBOURS = 5  # frames on each side that a score spreads to
TOP_PERCENTILE = (
    75  # of a grid's scores, from which on they spread, and of the weights, below which frames are not drawn
)
SMOOTHING = 0.5  # of the spline: the sum of squared residuals
SPLINE_DEGREE = 3

Detections = Mapping[int, Sequence[Box]]


class Bonus(Protocol):
    """Additions to the scores of a grid's frames, by what was detected in them."""

    @property
    def is_open(self) -> bool:
        """Whether the search goes on for its sake."""

    def add(self, batch: Sequence[int], detections: Detections, scores: list[float]) -> list[float]:
        """The scores of these frames, in the order of the batch, with the bonus."""


@dataclass(frozen=True)
class SearchOptions:
    """side: frames along a side of the grid. share: of the frames that are searched. threshold: confidence from which
    a target counts as found. seed: of the draws."""

    side: int
    share: float
    threshold: float
    seed: int

    def __post_init__(self) -> None:
        check_whole("grid", self.side, low=1)
        check_positive("share", self.share)
        check_number("threshold", self.threshold, low=0)
        check_whole("seed", self.seed)


class ObjectSearch:
    """One search for the objects of a lookup. `run` fills `scores` (N,) and `detections`, frame index → boxes.

    start: the score of a frame before it is searched. curve: (visited frames, scores) → (N,) estimates for all frames.
    fuse: maps the scores (N,) after each grid.
    """

    def __init__(
        self,
        evidence: Evidence,
        lookup: Lookup,
        options: SearchOptions,
        *,
        curve: Callable[[Array, Array], Array],
        start: float = 0.0,
        fuse: Callable[[Array], Array] | None = None,
        bonus: Bonus | None = None,
    ) -> None:
        self._detector, self._objects = lookup.require("detector"), lookup.require("objects")
        self._weights = object_weights(self._objects)
        self._evidence, self._access = evidence, FrameAccess(evidence, lookup)
        self._count = count = len(evidence)
        self._options = options
        self._curve, self._fuse, self._bonus = curve, fuse, bonus
        # The originals draw from NumPy's legacy generator, whose streams never change.
        self.rng = np.random.RandomState(options.seed)
        self.scores = np.full(count, start)
        self.detections: dict[int, list[Box]] = {}
        self._visited = np.zeros(count, dtype=bool)
        self._probabilities = np.zeros(count)

    def run(self) -> None:
        """Search min(1000, share·N) frames in whole grids, or until every target is found and the bonus is complete."""
        side = self._options.side
        remaining = list(self._objects.targets)
        left = min(MAX_FRAMES, self._count * self._options.share)
        is_open = True
        while left > 0 and (remaining or is_open or not self._objects.targets):
            is_open = self._bonus is not None and self._bonus.is_open
            batch = self._next_batch()
            left -= side * side
            found = detect_in_grids(self._access, self._detector, batch, self._objects.phrases, side=side)
            self.detections |= found
            self._update(batch, found)
            for index in batch:
                self._verify(index, found[index], remaining)

    def selection(self, indices: Iterable[int], carried: Mapping[int, Event] | None = None) -> Selection:
        """The selection of these frames. carried: frame index → the event it carries."""
        return build_selection(
            self._evidence,
            indices,
            carried=carried,
            looked_at=self._access.frames_inspected,
            objects=list(self._objects.phrases),
            found=sum(map(bool, self.detections.values())),
        )

    def _next_batch(self) -> list[int]:
        """The first time evenly spaced frames, later a draw from the unvisited quarter with the largest estimates."""
        size = min(self._options.side**2, self._count)
        if not self._visited.any():
            return list(range(0, self._count, self._count // size))[:size]
        weights = (self._probabilities + size / self._count) * ~self._visited
        weights *= weights >= np.percentile(weights, TOP_PERCENTILE)
        if np.count_nonzero(weights) < size:  # too few are unvisited: any frame may be drawn
            weights = self._probabilities + size / self._count
        return self.draw(weights, size)

    def draw(self, weights: Array, size: int) -> list[int]:
        """Draw distinct frames, each with a probability in proportion to its weight."""
        drawn: list[int] = self.rng.choice(self._count, size=size, replace=False, p=weights / weights.sum()).tolist()
        return drawn

    def _update(self, batch: Sequence[int], found: Detections) -> None:
        scores = [detection_score(found[index], self._weights) for index in batch]
        if self._bonus is not None:
            scores = self._bonus.add(batch, found, scores)
        self._visited[batch] = True
        self.scores[batch] = scores
        spread_scores(self.scores, batch, scores)
        if self._fuse is not None:
            self.scores = self._fuse(self.scores)
        estimates = np.maximum(1 / self._count, self._curve(np.flatnonzero(self._visited), self.scores))
        probabilities = 1 / (1 + np.exp(-estimates))
        self._probabilities = probabilities / probabilities.sum()

    def _verify(self, index: int, boxes: Sequence[Box], remaining: list[str]) -> None:
        """Detect again in the frame alone if a missing target is in it; its score is then that of the frame alone."""
        in_grid = {box.phrase for box in boxes}
        if not in_grid & set(remaining):
            return
        alone = detect_in_frame(self._access, self._detector, index, self._objects.phrases)
        self.scores[index] = score = detection_score(alone, self._weights)
        confirmed = in_grid & {box.phrase for box in alone}
        found = next((target for target in remaining if target in confirmed), None)
        if found is not None and score > self._options.threshold:
            remaining.remove(found)


def spread_scores(scores: Array, batch: Sequence[int], batch_scores: Sequence[float]) -> None:
    """Raise the 5 neighbours on each side of a grid's best quarter to score / (distance + 1), frame by frame."""
    threshold = np.percentile(batch_scores, TOP_PERCENTILE)
    for index, score in zip(batch, batch_scores, strict=True):
        if score >= threshold:
            first, after = max(0, index - NEIGHBOURS), min(len(scores), index + NEIGHBOURS + 1)
            distance = np.abs(np.arange(first, after) - index)
            scores[first:after] = np.maximum(scores[first:after], scores[index] / (distance + 1))


def spline_curve(visited: Array, scores: Array) -> Array:
    """(N,) a smoothing cubic spline through the visited frames; straight lines through fewer than 4."""
    if len(visited) <= SPLINE_DEGREE:
        return linear_curve(visited, scores)
    spline = require("scipy.interpolate", "peers").UnivariateSpline
    fit = spline(visited, scores[visited], k=SPLINE_DEGREE, s=SMOOTHING)
    curve: Array = fit(np.arange(len(scores)))
    return curve


def linear_curve(visited: Array, scores: Array) -> Array:
    """(N,) straight lines through the visited frames, constant before the first and after the last."""
    return np.interp(np.arange(len(scores)), visited, scores[visited])


def best_frames(scores: Array, size: int) -> list[int]:
    """The frames with the largest scores, best first; equal ones by index."""
    order: list[int] = np.argsort(-scores, kind="stable")[:size].tolist()
    return order
