"""GCR without Cover: how the rest of the budget is filled.

The other two stages need no code of their own: without Ground, its slots go to Cover's context; without Refine,
Cover's selection is final.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from framesift.selection.gcr.refine import (
    EvidenceValues,
    Regions,
    evidence_values,
    mean_change_inside,
    omitted_regions,
    representative_frame,
)
from framesift.selection.scores import Ranking
from framesift.selection.similarity_cache import SimilarityCache
from framesift.selection.uniform import evenly_spaced
from framesift.types.vectors import UnitRows


@dataclass(frozen=True)
class CoverlessFill:
    """The regions between the anchors, their evidence values, and the frames that fill the budget.

    swapped_in: region → its representative frame, best region first. uniform: evenly spaced frames, ascending.
    """

    regions: Regions
    values: EvidenceValues
    swapped_in: dict[int, int]
    uniform: list[int]


def fill_without_cover(
    ranking: Ranking, vectors: UnitRows, anchors: Sequence[int], *, size: int, top_mean: int = 2
) -> CoverlessFill:
    """Grow the anchors to `size` frames: one per region in descending value, then evenly spaced frames.

    There is no context frame to replace, so Refine's gate, margin and quota do not apply; values are normalised over
    the regions alone. Ties go to the earlier region.
    """
    count = len(vectors)
    regions = omitted_regions(anchors, count)
    if anchors:
        cache = SimilarityCache(vectors, anchors)
        values = evidence_values(ranking, cache, regions, np.zeros(0, dtype=int), top_mean=top_mean)
    else:  # the whole video is one region, and its novelty is 1
        relevance = float(ranking.top_mean(regions.start, regions.stop, top_mean)[0])
        change = float(mean_change_inside(vectors.step_distances, regions)[0])
        values = EvidenceValues(np.array([[relevance, 1.0, change]]), np.zeros((1, 3)), np.zeros(1))
    order = np.lexsort((regions.start, -values.value))[: size - len(anchors)].tolist()
    swapped_in = {region: representative_frame(vectors, regions, region) for region in order}
    taken = {*anchors, *swapped_in.values()}
    free = [index for index in range(count) if index not in taken]
    places = evenly_spaced(len(free), size - len(taken)).tolist()
    return CoverlessFill(regions, values, swapped_in, [free[place] for place in places])
