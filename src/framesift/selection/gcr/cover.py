"""Cover: visual anchors, then diverse context, until the budget is full.

Arrays only; `method.py` connects the stages.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from framesift.selection.scores import Ranking
from framesift.selection.similarity_cache import SimilarityCache
from framesift.selection.trace import ContextRow, rows_of
from framesift.types import CandidateIndex
from framesift.types.vectors import TIE_TOLERANCE, Array, UnitRows, small_products

# Candidates whose scores are kept up to date between two updates of all, candidates that get exact scores together, and
# candidates too close for estimates from which on all scores are exact: the best of several numbers tried with
# benchmarks/selection.py. They change the time, never the result.
POOL_SIZE = 128
LEADERS = 16
MAX_CLOSE = 1024

# Far above the rounding of an exact score, far below a tie.
ROUNDING = TIE_TOLERANCE / 16


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
    relevance: Array, vectors: UnitRows, selected: Sequence[int], *, size: int, weight: float
) -> SimilarityCache:
    """Grow `selected` to `size` frames, each relevant yet unlike the rest; new frames follow in the order picked.

    relevance (N,) with near-ties merged. Each pick maximises weight·relevance − (1 − weight)·(largest cosine with the
    selected frames); ties go to the earlier frame. From an empty set the first pick is the most relevant frame.

    A score never rises as the set grows. So after all candidates were compared with the set, the next frames come from
    the pool of those with the highest scores, while its best is certain to exceed the scores outside it. Scores are
    float32 estimates; those too close to tell apart are computed exactly.
    """
    gain, redundancy_weight = weight * relevance, 1.0 - weight
    cache = SimilarityCache(vectors, list(selected) or [int(gain.argmax())], size)
    # Scores whose estimates differ by more are neither equal nor in another order.
    margin = 2 * redundancy_weight * cache.error + TIE_TOLERANCE
    # Exact products take longer than estimates, unless most vectors repeat.
    max_close = min(MAX_CLOSE, POOL_SIZE if vectors.repeats else len(vectors) // 2)
    while len(cache.selected) < size:
        cache.update()
        score = gain - redundancy_weight * cache.approximate
        score[cache.selected] = -np.inf
        close_to_top = score.max() - 2 * margin  # twice, so that rounding can't leave a pool without a certain winner
        if np.count_nonzero(score >= close_to_top) > max_close:
            _fill_exactly(cache, gain, redundancy_weight, size)
            break
        in_pool = score >= min(_nth_largest(score, POOL_SIZE), close_to_top)
        pool = np.flatnonzero(in_pool)
        outside = score.max(where=~in_pool, initial=-np.inf)
        rows = vectors.float32(slice(None) if len(pool) == len(vectors) else pool)
        gain_in_pool, score = gain[pool], score[pool]
        while len(cache.selected) < size:
            winner = int(score.argmax())
            if score[winner] <= outside + margin:
                break
            close = (score >= score[winner] - margin).nonzero()[0]
            if len(close) > 1:
                winner = int(close[_exact_winner(cache, pool[close], gain_in_pool[close], redundancy_weight)])
            cosines = small_products(rows, rows[winner : winner + 1])[:, 0]
            cache.add(int(pool[winner]), pool, cosines)
            np.minimum(score, gain_in_pool - redundancy_weight * cosines, out=score)
            score[winner] = -np.inf
        if len(pool) == len(vectors):
            cache.mark_complete()
    return cache


def context_rows(relevance: Array, cache: SimilarityCache, core: int, weight: float) -> Any:
    """One row of the trace per context frame in the order picked, with the selected frame it was closest to then.

    core: how many of the selected frames are anchors. weight: that of relevance in MMR.
    """
    selected = list(map(CandidateIndex, cache.selected))
    context = selected[core:]
    positions, redundancy = cache.closest_before(core)
    if core == 0:  # nothing was selected before the first frame
        redundancy[0] = 0.0
    score = weight * relevance[context] - (1 - weight) * redundancy
    closest = (None if index == selected[0] else selected[k] for index, k in zip(context, positions, strict=True))
    return rows_of(ContextRow, context, score.tolist(), redundancy.tolist(), closest)


def _fill_exactly(cache: SimilarityCache, gain: Array, redundancy_weight: float, size: int) -> None:
    """Grow the set to `size` frames without estimates, for candidates too much alike for float32."""
    cache.all_alike = True
    cache.exact(np.arange(len(gain)))
    is_open = np.ones(len(gain), dtype=bool)
    while len(cache.selected) < size:
        is_open[cache.selected] = False
        frames = np.flatnonzero(is_open)
        cache.add(int(frames[_exact_winner(cache, frames, gain[frames], redundancy_weight)]), slice(None), 0.0)


def _nth_largest(values: Array, n: int) -> float:
    place = max(len(values) - n, 0)
    return float(np.partition(values, place)[place])


def _exact_winner(cache: SimilarityCache, frames: Array, gain: Array, redundancy_weight: float) -> int:
    """The position of the frame with the highest score among these, the earliest of a tie.

    A score of an earlier set is an upper bound, so the leading frames are computed first, then more of them while
    another could win.
    """
    count = LEADERS
    if len(frames) <= count:
        score = gain - redundancy_weight * cache.exact(frames)
        return int(np.argmax(score >= score.max() - TIE_TOLERANCE))
    while True:
        bound = gain - redundancy_weight * cache.lower_bound(frames)
        place = max(len(frames) - count, 0)
        leaders = np.append(np.argpartition(bound, place)[place:], np.argmax(bound >= bound.max() - TIE_TOLERANCE))
        bound[leaders] = gain[leaders] - redundancy_weight * cache.exact(frames[leaders])
        is_open = np.ones(len(frames), dtype=bool)
        is_open[leaders] = False
        top = bound[leaders].max()
        winner = int(np.argmax(~is_open & (bound >= top - TIE_TOLERANCE)))
        is_open &= (bound > top + ROUNDING) | ((bound >= top - TIE_TOLERANCE) & (np.arange(len(frames)) < winner))
        if not is_open.any():
            return winner
        count *= 16
