"""Refine: look again at what was left out, and swap it in where it is worth more than the weakest context frame.

Arrays only. `gcr.py` does the wiring.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from framesift.selection.gcr.ground import min_max
from framesift.selection.ranking import Ranking
from framesift.selection.similarity_cache import Nearness
from framesift.types.vectors import TIE, Array, UnitRows, settle

DIMENSIONS = ("relevance", "novelty", "change")


@dataclass(frozen=True)
class Worth:
    """Evidence value of regions, then of context frames: raw and normalised (U, 3), and their mean V (U,)."""

    raw: Array
    scaled: Array
    value: Array


@dataclass(frozen=True)
class Refinement:
    """swaps: (frame out, frame in, margin) in the order made. refusals: region → why it stayed out."""

    swaps: list[tuple[int, int, float]]
    entered: dict[int, int]  # region → its representative, for regions that came in
    refusals: dict[int, str]


def omitted_regions(chosen: Sequence[int], count: int) -> tuple[Array, Array]:
    """The maximal runs of candidates not chosen, as index ranges start ≤ index < stop, in order of time."""
    left_out = np.ones(count + 2, dtype=np.int8)
    left_out[[0, -1]] = 0
    left_out[np.asarray(chosen, dtype=int) + 1] = 0
    edges = np.diff(left_out)
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def gaps(start: Array, stop: Array, times_s: Array, duration_s: float) -> Array:
    """(G,) seconds between the selected times around each region; the video's own ends at its ends."""
    left = np.where(start > 0, times_s[np.maximum(start, 1) - 1], 0.0)
    right = np.where(stop < len(times_s), times_s[np.minimum(stop, len(times_s) - 1)], duration_s)
    return right - left


def worth(ranking: Ranking, near: Nearness, start: Array, stop: Array, context: Array, *, top_mean: int = 2) -> Worth:
    """Relevance, novelty and change of every region and context frame, normalised together.

    near: S₀ and how close each candidate comes to it; context (C,) frame indices.
    """
    steps = near.vectors.steps
    novelty = 1.0 - np.concatenate((near.closest_of_regions(start, stop), near.exact(context)))
    raw = np.stack(
        (
            np.concatenate((ranking.top_mean(start, stop, top_mean), ranking.scores[context])),
            novelty,
            np.concatenate((change_inside(steps, start, stop), _change_around(steps, context))),
        ),
        axis=1,
    )
    scaled = np.stack([min_max(raw[:, k]) for k in range(len(DIMENSIONS))], axis=1)
    return Worth(raw, scaled, settle(scaled.mean(axis=1)))


def exchange(values: Worth, vectors: UnitRows, start: Array, stop: Array, context: Array, *, most: int) -> Refinement:
    """Swap regions' representatives in for the weakest context frames while the margin is positive."""
    region_value, context_value = values.value[: len(start)], values.value[len(start) :]
    weakest = context[np.lexsort((context, context_value))].tolist()
    value_of = dict(zip(context.tolist(), context_value.tolist(), strict=True))
    result = Refinement([], {}, {})
    for region in np.lexsort((start, -region_value)).tolist():
        flat = [name for name, x in zip(DIMENSIONS, values.scaled[region], strict=True) if not x > 0]
        if len(result.swaps) == most:
            result.refusals[region] = f"all {most} swaps were made"
        elif len(result.swaps) == len(weakest):
            result.refusals[region] = "no context frame is left to replace"
        elif flat:
            result.refusals[region] = f"no {' and no '.join(flat)} above the least of all"
        else:
            out = weakest[len(result.swaps)]
            margin = float(region_value[region] - value_of[out])
            if margin > 0:
                result.entered[region] = representative(vectors, int(start[region]), int(stop[region]))
                result.swaps.append((out, result.entered[region], margin))
            else:
                result.refusals[region] = f"worth no more than the weakest context frame left (margin {margin:.3f})"
    return result


def representative(vectors: UnitRows, start: int, stop: int) -> int:
    """The real frame closest to the normalised mean of the region's vectors; the earlier of two."""
    rows = vectors.rows[start:stop].astype(np.float64)
    mean = rows.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length <= TIE:  # vectors that cancel out have no middle
        return start
    cosines = rows @ (mean / length)
    return start + int(np.flatnonzero(cosines >= cosines.max() - TIE)[0])


def change_inside(steps: Array, start: Array, stop: Array) -> Array:
    """(G,) mean step between a region's consecutive frames; 0 for a single frame."""
    out = np.zeros(len(start))
    long = np.flatnonzero(stop - start > 1)
    if len(long):
        # A sum over start … stop−1, then one to throw away up to the next start: that is what reduceat gives.
        edges = np.stack((start[long], stop[long] - 1), axis=1).ravel()
        sums = np.add.reduceat(np.append(steps, 0.0), edges)[::2]
        out[long] = sums / (stop[long] - start[long] - 1)
    return out


def _change_around(steps: Array, frames: Array) -> Array:
    """(C,) mean step to the candidates directly before and after; 0 where there is neither."""
    padded = np.concatenate(([0.0], steps, [0.0]))
    sides = (frames > 0).astype(int) + (frames < len(steps))
    mean: Array = (padded[frames] + padded[frames + 1]) / np.maximum(sides, 1)
    return mean
