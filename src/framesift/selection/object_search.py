"""T*'s search: draw frames, look for objects in them, draw the next where objects were found.

`t_star.py`, `vsi.py` and `logic_in_frames.py` run it, each with its own blend or bonus.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

import numpy as np

from framesift.errors import MissingExtra
from framesift.selection.frame_access import Look
from framesift.selection.grids import find_objects, object_weights, strongest
from framesift.selection.sampling import draw
from framesift.types.frame_source import Box, Detector, Objects
from framesift.types.vectors import Array

MOST_LOOKS, LOOK_SHARE = 1000, 0.1
REACH = 5  # frames on each side that a score is spread to
LEAST_CHANCE = 1e-3  # of the largest, so that no stretch is ruled out for good

Found = Mapping[int, Sequence[Box]]


class Search:
    """One search: `run` looks until its frames are spent, then `draw` gives the final frames.

    blend: from what was seen (N,) to how promising each frame is (N,). bonus: from all boxes found so far to what
    is added to the score of some frames.
    """

    def __init__(
        self,
        look: Look,
        count: int,
        *,
        side: int,
        seed: int,
        blend: Callable[[Array], Array] | None = None,
        bonus: Callable[[Found], Mapping[int, float]] | None = None,
    ) -> None:
        self._look, self._count, self._side = look, count, side
        self._rng = np.random.default_rng(seed)
        self._blend = blend or (lambda seen: seen)
        self._bonus = bonus or (lambda _: {})
        self.found: dict[int, list[Box]] = {}
        self.seen = np.zeros(count)

    def run(self, detector: Detector, objects: Objects, *, budget: int) -> None:
        """Look at min(1000, 0.1 N) frames, though never at fewer than the budget, a grid at a time."""
        allowed = min(self._count, max(budget, math.ceil(min(MOST_LOOKS, LOOK_SHARE * self._count))))
        weights = object_weights(objects)
        scores: dict[int, float] = {}
        while len(self.found) < allowed:
            chance = self.chance()
            chance[list(self.found)] = 0.0
            batch = sorted(draw(self._rng, chance, min(self._side**2, allowed - len(self.found))))
            new = find_objects(self._look, detector, batch, objects.phrases, side=self._side)
            self.found |= new
            scores |= {index: strongest(boxes, weights) for index, boxes in new.items()}
            bonus = self._bonus(self.found)
            self.seen = interpolate({i: score + bonus.get(i, 0.0) for i, score in scores.items()}, self._count)

    def chance(self) -> Array:
        """(N,) how likely each frame is to be drawn next, up to a factor: uniform while nothing stands out."""
        promise = np.maximum(self._blend(self.seen), 0.0)
        most = float(promise.max())
        return promise + LEAST_CHANCE * most if most > 0 else np.ones(self._count)

    def draw(self, size: int) -> list[int]:
        return draw(self._rng, self.chance(), size)


def interpolate(scores: Mapping[int, float], count: int) -> Array:
    """(N,) a cubic spline through the frames looked at, at least what their scores spread to neighbours.

    A score s counts s / (k + 1) at k frames' distance, up to 5. The spline keeps between its points' values (PCHIP), so
    it promises nothing that was not seen; before the first and after the last point it is level.
    """
    places = np.array(sorted(scores))
    values = np.array([scores[place] for place in places.tolist()])
    spread = np.zeros(count)
    for k in range(-REACH, REACH + 1):
        near = places + k
        inside = (near >= 0) & (near < count)
        # No two places are the same, so neither are their neighbours at one distance.
        spread[near[inside]] = np.maximum(spread[near[inside]], values[inside] / (abs(k) + 1))
    known = spread[places]
    if len(places) == 1:
        level: Array = np.maximum(spread, known[0])
        return level
    try:
        curve = import_module("scipy.interpolate").PchipInterpolator(places, known)
    except ImportError as error:
        raise MissingExtra(f"this search can't import scipy ({error}): pip install 'framesift[peers]'") from error
    within = np.arange(count).clip(places[0], places[-1])
    out: Array = np.maximum(curve(within), spread)
    return out
