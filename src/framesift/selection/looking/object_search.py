"""T* and its successors: detect objects in a grid of frames, draw the next grid near detections, until all are found.

t-star: Ye et al., "Re-thinking Temporal Search for Long-Form Video Understanding", CVPR 2025.
vsi: He et al., "VSI: Visual-Subtitle Integration for Keyframe Selection to Enhance Long Video Understanding", CVPR 2026
Findings.
logic-in-frames: Guo et al., "Logic-in-Frames: Dynamic Keyframe Search via Visual Semantic-Logical Verification for Long
Video Understanding", NeurIPS 2025.
Each runs `ObjectSearch` with its own curve, fusion or bonus and its own last step.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from framesift._utils.requirements import require
from framesift.selection.looking.access import ALONE_SIZE, Access, Detections, detected_scores, detection_score
from framesift.selection.selector import Amount, Count, Positive, Share, Whole, selector
from framesift.selection.vsi_lite import events_of_frames, resample_subtitle_scores, score_by_subtitles
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
UNSEEN_SCORE = 1e-6  # of a frame that t-star did not search
TEMPORAL_LIMIT_S = 5.0  # a temporal relation joins frames less than this far apart
OVERLAP = 0.5  # of the smaller box, above which two boxes are one thing and its attribute


@selector(
    "search grids of frames for the question's objects",
    paper="Ye et al., CVPR 2025",
    parts=("detector",),
    needs=("frames", "detector", "objects", "peers"),
)
def t_star(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    grid: Count = 4,
    share: Positive = 1.0,
    threshold: Amount = 0.7,
    seed: Whole = 0,
) -> Selection:
    """Search grids of frames for the targets, then draw the selection in proportion to the scores.

    Input: decoded frames, the objects of the question (`Lookup.objects`), a detector. Cost: min(1000, share·N) frames
    in whole grids of grid², less if every target is found earlier; a frame with a target is looked at once more, alone,
    and the target is found if the confidence there is above the threshold. Targets weigh 1, cues 0.5; the best quarter
    of a grid spreads to 5 neighbours on each side; the next grid is drawn by a smoothing spline over the searched
    frames. grid, share and threshold are those of the published evaluation; the class of the original has 8, 0.1 and
    0.5. seed: of the draws, as `numpy.random.seed` of the original. detector: a name or an object, see
    docs/looking-selectors.md.

    Differs: with fewer frames than a grid has cells, and with fewer frames with a score than the budget, the original
    raises an error; here cells stay black, and frames without a score share what is left.
    """
    search = ObjectSearch(evidence, lookup, grid, seed, curve=spline_curve, start=UNSEEN_SCORE)
    search.run(share, threshold)
    size, weights = min(budget, len(evidence)), search.scores
    if np.count_nonzero(weights) < size:
        weights = np.maximum(weights, UNSEEN_SCORE)
    return search.selection(search.draw(weights, size))


@selector(
    "search for objects, guided by subtitles",
    paper="He et al., CVPR 2026 Findings",
    parts=("detector",),
    needs=("frames", "detector", "objects", "events"),
)
def vsi(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    weight: Share = 0.4,
    reach_s: Amount = 2.0,
    fps: Positive | None = None,
    grid: Count = 4,
    share: Positive = 1.0,
    threshold: Amount = 0.7,
    seed: Whole = 0,
) -> Selection:
    """T*'s loop on 4 × 4 grids, with subtitles added to the scores after each grid; the largest scores are selected.

    Input: decoded frames, objects, a detector, and events with their relevance (the paper's is a sentence encoder's:
    `event_encoder="minilm"`). Cost: as `t-star`. Scores become (1 − weight)·scores + weight·subtitles, both min–max
    normalised, a constant one to 0.5. weight: of the subtitles, that of the original's class; its command line has 0.3.
    reach_s: seconds around an event that it scores, see `vsi_lite.score_by_subtitles`; fps: the video's, for scores as
    in the original, see `vsi_lite.resample_subtitle_scores`; selecting from an indexed video sets it. A frame within an
    event's reach carries the event. grid, share, threshold, seed and detector: as `t-star`.

    Differs: equal scores rank by index; fewer frames than a grid has cells are no error.
    """
    subtitle_scores, event_of = score_by_subtitles(evidence, reach_s=reach_s)
    if fps is not None:
        subtitle_scores = resample_subtitle_scores(evidence, fps, reach_s=reach_s)
    weighted_subtitles = weight * _normalise(subtitle_scores)

    def fuse(scores: Array) -> Array:
        return (1 - weight) * _normalise(scores) + weighted_subtitles

    search = ObjectSearch(evidence, lookup, grid, seed, curve=linear_curve, fuse=fuse)
    search.run(share, threshold)
    indices = best_frames(search.scores, budget)
    return search.selection(indices, carried=events_of_frames(evidence, event_of, indices))


@selector(
    "search for objects in the relations the question asks about",
    paper="Guo et al., NeurIPS 2025",
    parts=("detector",),
    needs=("frames", "detector", "objects", "peers"),
)
def logic_in_frames(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    relation_weight: Amount = 0.3,
    relation_share: Amount = 0.5,
    grid: Count = 4,
    share: Positive = 1.0,
    threshold: Amount = 0.7,
    seed: Whole = 0,
) -> Selection:
    """T*'s loop with relation_weight × relation_share for frames in which a relation holds; the best are selected.

    Input: decoded frames, a detector, `Lookup.objects` with their relations. Cost: as `t-star`; the search also goes on
    until every relation has held. Only the frames of one grid are compared, and a relation that held in a grid gives
    nothing in later ones. spatial: both objects in one frame. attribute: both in one frame, their boxes overlapping by
    more than half of the smaller. temporal: the first object in a frame and the second in the same or a later cell,
    less than 5 s apart in either direction. causal: the same with the second object's frame at any later time. Each
    pair of frames that holds gains, both frames of it. grid, share, threshold, seed, detector: as `t-star`.

    Differs: equal scores rank by index; objects that only a relation names are detected too; fewer frames than a grid
    has cells are no error. The defaults are those of its command line.
    """
    relations = lookup.require("objects").relations
    bonus = RelationBonus(relations if relation_weight > 0 else (), evidence.times_s, relation_weight * relation_share)
    search = ObjectSearch(evidence, lookup, grid, seed, curve=spline_curve, bonus=bonus)
    search.run(share, threshold)
    held = Counter(kind for _, kind, _ in bonus.held)
    return search.selection(best_frames(search.scores, budget)).with_trace(relations_held=dict(held))


class RelationBonus:
    """Adds `gain` to the frames of a grid for each pair of them in which a relation holds, once per relation.

    open, held: the relations that have not held yet, and those that have.
    """

    def __init__(self, relations: Sequence[Relation], times_s: Array, gain: float) -> None:
        self.open, self._times_s, self._gain = list(relations), times_s, gain
        self.held: list[Relation] = []

    def add(self, batch: Sequence[int], detections: Detections, scores: list[float]) -> list[float]:
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
        scores = self._bonus.add(batch, found, detected_scores(found, self._weights).tolist())
        self._visited[batch] = True
        self.scores[batch] = scores
        # The best quarter raises the 5 neighbours on each side to score / (distance + 1), frame by frame.
        threshold = np.percentile(scores, TOP_PERCENTILE)
        for index in (index for index, score in zip(batch, scores, strict=True) if score >= threshold):
            near = np.arange(max(0, index - NEIGHBOURS), min(self._count, index + NEIGHBOURS + 1))
            raised = self.scores[index] / (np.abs(near - index) + 1)
            self.scores[near] = np.maximum(self.scores[near], raised)
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


def _normalise(scores: Array) -> Array:
    """Scale to [0, 1]; a constant vector becomes 0.5."""
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.full(len(scores), 0.5)
