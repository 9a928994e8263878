"""Cover: visual anchors, then diverse context, until the budget is full.

Arrays only; `method.py` connects the stages.
"""

from collections.abc import Collection, Sequence

import numpy as np

from framesift.selection.scores import Ranking
from framesift.selection.similarity_cache import SimilarityCache
from framesift.types.vectors import TIE_TOLERANCE, Array, UnitRows

# Leading candidates updated together, those of them that get exact scores, and the selected frames that every candidate
# is compared with at the start: the best of several tried with benchmarks/selection.py. They change the time, never the
# result.
UPDATE_SIZE = 256
POOL_SIZE = 48
COMPARE_FIRST = 8


def top_frames(ranking: Ranking, times_s: Array, taken: Collection[int], *, size: int, gap_s: float = 0.0) -> list[int]:
    """The `size` most relevant frames not yet taken, at least `gap_s` seconds from one another.

    Fewer when the gap allows no more. Ties go to the earlier frame.
    """
    selected: list[int] = []
    for index in map(int, ranking.order):
        if len(selected) >= size:
            break
        if index in taken:
            continue
        if gap_s > 0 and any(abs(times_s[index] - times_s[other]) < gap_s - TIE_TOLERANCE for other in selected):
            continue
        selected.append(index)
    return selected


def fill_by_mmr(
    relevance: Array, vectors: UnitRows, selected: Sequence[int], *, size: int, weight: float = 0.5
) -> SimilarityCache:
    """Grow `selected` to `size` frames, each relevant yet unlike the rest; new frames follow in the order picked.

    relevance (N,) with near-ties merged. Each pick maximises weight·relevance − (1 − weight)·(largest cosine with the
    selected frames); ties go to the earlier frame. From an empty set the first pick is the most relevant frame.

    A score never rises as the set grows. So a pool of leading candidates keeps exact scores, and all others keep an
    outdated score as an upper bound. Once a bound reaches the pool's best score, the leading bounds are updated and the
    pool is formed anew.
    """
    gain, redundancy_weight = weight * relevance, 1.0 - weight
    cache = SimilarityCache(vectors, list(selected) or [int(gain.argmax())], compare_first=COMPARE_FIRST)
    bound = gain - redundancy_weight * (cache.approximate - cache.error)
    bound[cache.selected] = -np.inf
    while len(cache.selected) < size:
        _update_bounds(bound, gain, redundancy_weight, cache)
        # Of the updated candidates, one that could win or tie is at most twice the error below the highest.
        threshold = bound.max() - 2 * redundancy_weight * cache.error - TIE_TOLERANCE
        pool = np.flatnonzero((bound >= min(threshold, _nth_largest(bound, POOL_SIZE))) & (bound > -np.inf))
        bound[pool] = -np.inf
        outside = float(bound.max())
        bound[pool] = _pick_from_pool(cache, pool, gain[pool], redundancy_weight, size=size, outside=outside)
    return cache


def _update_bounds(bound: Array, gain: Array, redundancy_weight: float, cache: SimilarityCache) -> None:
    """Update the leading candidates repeatedly, until the highest bound belongs to an updated one."""
    while True:
        outdated = cache.compared < len(cache.selected)
        leaders = np.flatnonzero((bound >= _nth_largest(bound, UPDATE_SIZE)) & outdated)
        cache.update(leaders)
        updated = gain[leaders] - redundancy_weight * (cache.approximate[leaders] - cache.error)
        bound[leaders] = np.minimum(bound[leaders], updated)
        if cache.compared[bound.argmax()] == len(cache.selected):
            return


def _nth_largest(values: Array, n: int) -> float:
    place = max(len(values) - n, 0)
    return float(np.partition(values, place)[place])


def _pick_from_pool(
    cache: SimilarityCache, pool: Array, gain: Array, redundancy_weight: float, *, size: int, outside: float
) -> Array:
    """Add the pool's best to the set while it beats `outside`, the highest bound of the others; return its scores."""
    rows = cache.vectors.rows[pool].astype(np.float64, copy=False)
    score = gain - redundancy_weight * cache.exact(pool)
    while len(cache.selected) < size and (top := score.max()) > outside + TIE_TOLERANCE:
        winner = int(np.argmax(score >= top - TIE_TOLERANCE))
        cache.selected.append(int(pool[winner]))
        np.minimum(score, gain - redundancy_weight * (rows @ rows[winner]), out=score)
        score[winner] = -np.inf
    return score
