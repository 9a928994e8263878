"""T*'s search loop: detect objects in a grid of frames, draw the next grid near detections, until all are found.

`t_star.py`, `vsi.py` and `logic_in_frames.py` run it, each with its own curve, fusion or bonus and its own last step.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from framesift._utils.requirements import require
from framesift.selection.looking.access import ALONE_SIZE, Access, Detections
from framesift.types import Array, Event, Evidence, Selection
from framesift.types.lookup import Box, Lookup, Objects, Relation

MAX_FRAMES = 1000
NEIGHBOURS = 5  # frames on each side that a score spreads to
TOP_PERCENTILE = (
    75  # of a grid's scores, from which on they spread, and of the weights, below which frames are not drawn
)
SMOOTHING = 0.5  # of the spline: the sum of squared residuals
SPLINE_DEGREE = 3
TARGET_WEIGHT, CUE_WEIGHT = 1.0, 0.5
TEMPORAL_LIMIT_S = 5.0  # a temporal relation joins frames less than this far apart
OVERLAP = 0.5  # of the smaller box, above which two boxes are one thing and its attribute


class RelationBonus:
    """Adds `gain` to the frames of a grid for each pair of them in which a relation holds, once per relation.

    open, held: the relations that have not held yet, and those that have.
    """

    def __init__(self, relations: Sequence[Relation], times_s: Array, gain: float) -> None:
        self.open, self._times_s, self._gain = list(relations), times_s, gain
        self.held: list[Relation] = []

    def add(self, batch: Sequence[int], detections: Detections, scores: list[float]) -> list[float]:
        scores = list(scores)
        for relation in tuple(self.open):
            pairs = list(pairs_with_relation(relation, batch, detections, self._times_s))
            for pair in pairs:
                for position in pair:
                    scores[position] += self._gain
            if pairs:
                self.open.remove(relation)
                self.held.append(relation)
        return scores


def pairs_with_relation(
    relation: Relation, batch: Sequence[int], detections: Detections, times_s: Array
) -> Iterator[tuple[int, ...]]:
    """Yield the positions in the batch that gain: one for a relation within a frame, two for one between frames."""
    first, kind, second = relation
    with_first, with_second = (
        [k for k, index in enumerate(batch) if any(box.phrase == phrase for box in detections[index])]
        for phrase in (first, second)
    )
    if kind in ("spatial", "attribute"):
        for k in with_first:
            if k in with_second and (kind == "spatial" or _overlap(detections[batch[k]], first, second)):
                yield (k,)
        return
    for i in with_first:
        for j in with_second:
            step_s = times_s[batch[j]] - times_s[batch[i]]
            if j >= i and (abs(step_s) < TEMPORAL_LIMIT_S if kind == "temporal" else step_s > 0):
                yield i, j


def _overlap(boxes: Sequence[Box], first: str, second: str) -> bool:
    """Whether the last boxes of two phrases overlap; a pixel counts as 1, as in the original."""
    a, b = ([box for box in boxes if box.phrase == phrase][-1] for phrase in (first, second))
    width = max(0.0, min(a.right, b.right) - max(a.left, b.left) + 1)
    height = max(0.0, min(a.bottom, b.bottom) - max(a.top, b.top) + 1)
    areas = [(box.right - box.left + 1) * (box.bottom - box.top + 1) for box in (a, b)]
    return width * height / min(areas) > OVERLAP


class ObjectSearch:
    """One search for the objects of a lookup. `run` fills `scores` (N,) and `detections`, frame index → boxes.

    side: frames along a side of the grid. seed: of the draws. start: the score of a frame before it is searched.
    curve: (visited frames, scores) → (N,) estimates for all frames. fuse: maps the scores (N,) after each grid.
    """

    def __init__(
        self,
        evidence: Evidence,
        lookup: Lookup,
        side: int,
        seed: int,
        *,
        curve: Callable[[Array, Array], Array],
        start: float = 0.0,
        fuse: Callable[[Array], Array] = lambda scores: scores,
        bonus: RelationBonus | None = None,
    ) -> None:
        lookup.require("detector")
        self._objects: Objects = lookup.require("objects")
        self._weights = object_weights(self._objects)
        self._access = Access(evidence, lookup)
        self._count = count = len(evidence)
        self._side, self._curve, self._fuse = side, curve, fuse
        self._bonus = bonus or RelationBonus((), evidence.times_s, 0.0)
        # The originals draw from NumPy's legacy generator, whose streams never change.
        self.rng = np.random.RandomState(seed)
        self.scores = np.full(count, start)
        self.detections: dict[int, list[Box]] = {}
        self._visited = np.zeros(count, dtype=bool)
        self._probabilities = np.zeros(count)

    def run(self, share: float, threshold: float) -> None:
        """Search min(1000, share·N) frames in whole grids, or until every target is found and the bonus is complete.

        threshold: the confidence from which a target counts as found.
        """
        remaining = list(self._objects.targets)
        left = min(MAX_FRAMES, self._count * share)
        is_open = True
        while left > 0 and (remaining or is_open or not self._objects.targets):
            is_open = bool(self._bonus.open)
            batch = self._next_batch()
            left -= self._side**2
            found = self._access.detect(batch, self._objects.phrases, side=self._side)
            self.detections |= found
            self._update(batch, found)
            for index in batch:
                self._verify(index, found[index], remaining, threshold)

    def selection(self, indices: Sequence[int], carried: Mapping[int, Event] | None = None) -> Selection:
        """The selection of these frames. carried: frame index → the event it carries."""
        found = sum(map(bool, self.detections.values()))
        return self._access.select(indices, carried=carried, objects=list(self._objects.phrases), found=found)

    def _next_batch(self) -> list[int]:
        """The first time evenly spaced frames, later a draw from the unvisited quarter with the largest estimates."""
        size = min(self._side**2, self._count)
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
        alone = [detection_score(found[index], self._weights) for index in batch]
        scores = self._bonus.add(batch, found, alone)
        self._visited[batch] = True
        self.scores[batch] = scores
        spread_scores(self.scores, batch, scores)
        self.scores = self._fuse(self.scores)
        estimates = np.maximum(1 / self._count, self._curve(np.flatnonzero(self._visited), self.scores))
        probabilities = 1 / (1 + np.exp(-estimates))
        self._probabilities = probabilities / probabilities.sum()

    def _verify(self, index: int, boxes: Sequence[Box], remaining: list[str], threshold: float) -> None:
        """Detect again in the frame alone if a missing target is in it; its score is then that of the frame alone."""
        in_grid = {box.phrase for box in boxes}
        if not in_grid & set(remaining):
            return
        image = self._access.images([index], ALONE_SIZE)
        alone = self._access.lookup.require("detector").detect(image, self._objects.phrases)[0]
        self.scores[index] = score = detection_score(alone, self._weights)
        confirmed = in_grid & {box.phrase for box in alone}
        found = next((target for target in remaining if target in confirmed), None)
        if found is not None and score > threshold:
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


def object_weights(objects: Objects) -> dict[str, float]:
    """Phrase → weight: 1 for targets, 0.5 for cues and for objects that only a relation names."""
    return {phrase: TARGET_WEIGHT if phrase in objects.targets else CUE_WEIGHT for phrase in objects.phrases}


def detection_score(boxes: Sequence[Box], weights: Mapping[str, float]) -> float:
    """A frame's score: the largest weight × confidence of its boxes, 0 without any."""
    return max((weights.get(box.phrase, 0.0) * box.score for box in boxes), default=0.0)
