"""GCR with Cover left out: what fills the budget in its place.

The other two stages need nothing of their own: without Ground its slots fall to Cover's context, and without Refine
Cover's selection stays as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from framesift.selection.gcr.refine import Worth, change_inside, omitted_regions, representative, worth
from framesift.selection.ranking import Ranking
from framesift.selection.similarity_cache import Nearness
from framesift.selection.uniform import evenly_spaced
from framesift.types.vectors import Array, UnitRows


@dataclass(frozen=True)
class Filling:
    """Regions start ≤ index < stop (G,) between the anchors, their values, who came in, and the frames after them.

    entered: region → its representative, best first. spread: evenly spaced frames, ascending.
    """

    start: Array
    stop: Array
    values: Worth
    entered: dict[int, int]
    spread: list[int]


def fill_without_cover(
    ranking: Ranking, vectors: UnitRows, anchors: Sequence[int], *, size: int, top_mean: int = 2
) -> Filling:
    """Grow the anchors to `size` frames: regions in descending value send one each, evenly spaced frames do the rest.

    There is no context frame to replace, so neither Refine's gate nor its margin nor its quota has a say; values are
    normalised over the regions alone. Ties go to the earlier region.
    """
    count = len(vectors)
    start, stop = omitted_regions(anchors, count)
    if anchors:
        near = Nearness(vectors, anchors, known=1)
        values = worth(ranking, near, start, stop, np.zeros(0, dtype=int), top_mean=top_mean)
    else:  # the whole video is one region, and there is nothing it could resemble
        whole = [float(ranking.top_mean(start, stop, top_mean)[0]), 1.0]
        raw = np.array([[*whole, float(change_inside(vectors.steps, start, stop)[0])]])
        values = Worth(raw, np.zeros((1, 3)), np.zeros(1))
    order = np.lexsort((start, -values.value))[: size - len(anchors)].tolist()
    entered = {region: representative(vectors, int(start[region]), int(stop[region])) for region in order}
    taken = {*anchors, *entered.values()}
    free = [index for index in range(count) if index not in taken]
    places = evenly_spaced(len(free), size - len(taken)).tolist()
    return Filling(start, stop, values, entered, [free[place] for place in places])
