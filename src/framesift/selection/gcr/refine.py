"""Refine: revisit omitted regions, and swap one in where its evidence value exceeds the weakest context frame's.

Arrays only; `method.py` connects the stages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from framesift.selection.baselines import evenly_spaced
from framesift.selection.scores import Ranking, min_max
from framesift.selection.similarity_cache import SimilarityCache
from framesift.selection.trace import RegionRow, rows_of
from framesift.types import CandidateIndex, Evidence
from framesift.types.vectors import TIE_TOLERANCE, Array, UnitRows, merge_ties, small_products

DIMENSIONS = ("relevance", "novelty", "change")


@dataclass(frozen=True)
class Regions:
    """Maximal runs of candidates that are not selected, as index ranges start ≤ index < stop (G,), in order of time."""

    start: Array
    stop: Array

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class EvidenceValues:
    """Evidence value of regions, then of context frames: raw and normalised (U, 3), and their mean V (U,)."""

    raw: Array
    normalised: Array
    value: Array


@dataclass(frozen=True)
class Refinement:
    """swaps: (frame out, frame in, margin) in the order made. rejections: region → why it was not swapped in."""

    swaps: list[tuple[int, int, float]]
    swapped_in: dict[int, int]  # region → its representative frame
    rejections: dict[int, str]


def omitted_regions(selected: Sequence[int], count: int) -> Regions:
    """The regions between the selected frames of `count` candidates."""
    omitted = np.ones(count + 2, dtype=np.int8)
    omitted[[0, -1]] = 0
    omitted[np.asarray(selected, dtype=int) + 1] = 0
    edges = np.diff(omitted)
    return Regions(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1))


def region_gaps(regions: Regions, times_s: Array, start_s: float, end_s: float) -> Array:
    """(G,) seconds between the selected frames around each region; the video's start and end where there is none."""
    start, stop = regions.start, regions.stop
    left_s = np.where(start > 0, times_s[np.maximum(start, 1) - 1], start_s)
    right_s = np.where(stop < len(times_s), times_s[np.minimum(stop, len(times_s) - 1)], end_s)
    return right_s - left_s


def evidence_values(
    ranking: Ranking, cache: SimilarityCache, regions: Regions, context: Array, *, top_mean: int
) -> EvidenceValues:
    """Relevance, novelty and change of every region and context frame, normalised together.

    cache: the initial selection S₀ and the candidates' cosines with it; context (C,) frame indices.
    """
    start, stop = regions.start, regions.stop
    steps = cache.vectors.step_distances
    # Novelty is 1 − the largest cosine with S₀.
    novelty = 1.0 - np.concatenate((cache.region_max_cosines(start, stop), cache.exact(context)))
    raw = np.stack(
        (
            np.concatenate((ranking.top_mean(start, stop, top_mean), ranking.scores[context])),
            novelty,
            np.concatenate((_mean_change_inside(steps, regions), _mean_change_around(steps, context))),
        ),
        axis=1,
    )
    normalised = min_max(raw)
    return EvidenceValues(raw, normalised, merge_ties(normalised.mean(axis=1)))


def swap_regions(
    values: EvidenceValues, vectors: UnitRows, regions: Regions, context: Array, *, max_swaps: int
) -> Refinement:
    """Swap regions' representative frames in for the weakest context frames while the margin is positive."""
    region_value, context_value = values.value[: len(regions)], values.value[len(regions) :]
    weakest = context[np.lexsort((context, context_value))].tolist()
    value_of = dict(zip(context.tolist(), context_value.tolist(), strict=True))
    result = Refinement([], {}, {})
    normalised = values.normalised.tolist()
    for region in np.lexsort((regions.start, -region_value)).tolist():
        if len(result.swaps) == max_swaps:
            result.rejections[region] = f"all {max_swaps} swaps were made"
        elif len(result.swaps) == len(weakest):
            result.rejections[region] = "no context frame is left to replace"
        elif minimal := [name for name, x in zip(DIMENSIONS, normalised[region], strict=True) if not x > 0]:
            result.rejections[region] = f"no {' and no '.join(minimal)} above the minimum"
        else:
            out = weakest[len(result.swaps)]
            margin = float(region_value[region] - value_of[out])
            if margin > 0:
                result.swapped_in[region] = representative_frame(vectors, regions, region)
                result.swaps.append((out, result.swapped_in[region], margin))
            else:
                result.rejections[region] = (
                    f"evidence value not above that of the weakest remaining context frame (margin {margin:.3f})"
                )
    return result


def representative_frame(vectors: UnitRows, regions: Regions, region: int) -> int:
    """The frame closest to the normalised mean of the region's vectors; the earlier of two."""
    start, stop = int(regions.start[region]), int(regions.stop[region])
    rows = vectors.float32(slice(start, stop))
    estimates = small_products(rows, rows.mean(axis=0)[None])[:, 0]
    error = vectors.float32_error + len(rows) * 2.0**-23  # of a product, and of the mean
    close = np.flatnonzero(estimates >= estimates.max() - 2 * error)
    if len(close) == 1:
        return start + int(close[0])
    mean = vectors.mean(start, stop)
    length = float(np.linalg.norm(mean))
    if length <= TIE_TOLERANCE:  # vectors that cancel out have no mean direction
        return start
    cosines = vectors.products((mean / length)[None], start + close)[:, 0]
    return start + int(close[cosines >= cosines.max() - TIE_TOLERANCE][0])


def fill_by_regions(
    ranking: Ranking, vectors: UnitRows, anchors: Sequence[int], *, size: int, top_mean: int
) -> tuple[Regions, EvidenceValues, dict[int, int], list[int]]:
    """Grow the anchors to `size` frames without Cover: one per region in descending value, then evenly spaced frames.

    There is no context frame to replace, so Refine's gate, margin and quota do not apply; values are normalised over
    the regions alone. Ties go to the earlier region.

    Returns:
        The regions, their values, region → its representative frame, and the evenly spaced frames, ascending.
    """
    count = len(vectors)
    regions = omitted_regions(anchors, count)
    if anchors:
        cache = SimilarityCache(vectors, anchors)
        values = evidence_values(ranking, cache, regions, np.zeros(0, dtype=int), top_mean=top_mean)
    else:  # the whole video is one region, and its novelty is 1
        relevance = float(ranking.top_mean(regions.start, regions.stop, top_mean)[0])
        change = float(_mean_change_inside(vectors.step_distances, regions)[0])
        values = EvidenceValues(np.array([[relevance, 1.0, change]]), np.zeros((1, 3)), np.zeros(1))
    order = np.lexsort((regions.start, -values.value))[: size - len(anchors)].tolist()
    swapped_in = {region: representative_frame(vectors, regions, region) for region in order}
    taken = {*anchors, *swapped_in.values()}
    free = [index for index in range(count) if index not in taken]
    places = evenly_spaced(len(free), size - len(taken)).tolist()
    return regions, values, swapped_in, [free[place] for place in places]


def value_rows(values: EvidenceValues, part: slice, kind: type, index: Sequence[int | None], *columns: Any) -> Any:
    """Rows of the trace: units with a part of the evidence values. index: their frames; columns: of further fields."""
    normalised = [dict(zip(DIMENSIONS, row, strict=True)) for row in values.normalised[part].tolist()]
    return rows_of(kind, index, *values.raw[part].T.tolist(), normalised, values.value[part].tolist(), *columns)


def region_rows(
    evidence: Evidence,
    regions: Regions,
    values: EvidenceValues,
    swapped_in: Mapping[int, int],
    outcome: Mapping[int, str],
) -> Any:
    """One row of the trace per region. swapped_in: region → frame; outcome: of the other regions."""
    frames = [CandidateIndex(swapped_in[k]) if k in swapped_in else None for k in range(len(regions))]
    first, last = regions.start, regions.stop - 1
    ends = [list(map(CandidateIndex, index)) for index in (first, last)]
    times = [evidence.times_s[index].tolist() for index in (first, last)]
    outcomes = [outcome.get(region, "swapped in") for region in range(len(regions))]
    return value_rows(values, slice(len(regions)), RegionRow, frames, *ends, *times, outcomes)


def _mean_change_inside(steps: Array, regions: Regions) -> Array:
    """(G,) mean step distance between a region's consecutive frames; 0 for a single frame."""
    start, stop = regions.start, regions.stop
    change = np.zeros(len(regions))
    several = np.flatnonzero(stop - start > 1)
    if len(several):
        # reduceat sums start … stop−1, then up to the next start; every second sum is discarded.
        edges = np.stack((start[several], stop[several] - 1), axis=1).ravel()
        sums = np.add.reduceat(np.append(steps, 0.0), edges)[::2]
        change[several] = sums / (stop[several] - start[several] - 1)
    return change


def _mean_change_around(steps: Array, frames: Array) -> Array:
    """(C,) mean step distance to the candidates directly before and after; 0 where there is neither."""
    padded = np.concatenate(([0.0], steps, [0.0]))
    sides = (frames > 0).astype(int) + (frames < len(steps))
    mean: Array = (padded[frames] + padded[frames + 1]) / np.maximum(sides, 1)
    return mean
