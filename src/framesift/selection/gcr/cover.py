"""Cover: visual anchors, then diverse context, until the budget is full.

Arrays only. `gcr.py` does the wiring.
"""

from collections.abc import Collection, Sequence

import numpy as np

from framesift.selection.ranking import Ranking
from framesift.selection.similarity_cache import Nearness
from framesift.types.vectors import TIE, Array, UnitRows

# Leading candidates that are brought up to date together, those of them that get exact scores, and the members every
# candidate is compared with at the start: the best of several tried with benchmarks/selection.py. They change the time,
# never the result.
SCOUTS = 256
POOL = 48
FIRST_KNOWN = 8


def best_frames(
    ranking: Ranking, times_s: Array, taken: Collection[int], *, size: int, gap_s: float = 0.0
) -> list[int]:
    """The `size` most relevant frames not yet taken, at least `gap_s` seconds from one another.

    Fewer come back when the gap leaves no more. Ties go to the earlier frame.
    """
    chosen: list[int] = []
    for index in map(int, ranking.order):
        if len(chosen) >= size:
            break
        if index in taken:
            continue
        if gap_s > 0 and any(abs(times_s[index] - times_s[other]) < gap_s - TIE for other in chosen):
            continue
        chosen.append(index)
    return chosen


def fill_by_mmr(
    relevance: Array, vectors: UnitRows, chosen: Sequence[int], *, size: int, weight: float = 0.5
) -> Nearness:
    """Grow `chosen` to `size` frames, each relevant yet unlike the rest; the new ones follow in the order picked.

    relevance (N,), settled. Each pick maximises weight·relevance − (1 − weight)·(largest cosine with those chosen);
    ties go to the earlier frame. From an empty set the first pick is the most relevant frame.

    A score never rises as the set grows. So a pool of leading candidates keeps exact scores, and all others keep an
    old score as a bound. Once a bound reaches the pool's best, the leading bounds are brought up to date and the pool
    is formed anew.
    """
    gain, toll = weight * relevance, 1.0 - weight
    near = Nearness(vectors, list(chosen) or [int(gain.argmax())], known=FIRST_KNOWN)
    bound = gain - toll * (near.rough - near.error)
    bound[near.members] = -np.inf
    while len(near.members) < size:
        _lower_bounds(bound, gain, toll, near)
        # Of candidates that are up to date, whoever could win or tie is at most twice the error below the highest.
        sure = bound.max() - 2 * toll * near.error - TIE
        pool = np.flatnonzero((bound >= min(sure, _nth_largest(bound, POOL))) & (bound > -np.inf))
        bound[pool] = -np.inf
        bound[pool] = _pick_from_pool(near, pool, gain[pool], toll, size=size, rest=float(bound.max()))
    return near


def _lower_bounds(bound: Array, gain: Array, toll: float, near: Nearness) -> None:
    """Bring the leading candidates up to date, again and again, until the highest bound belongs to one that is."""
    while True:
        leaders = np.flatnonzero((bound >= _nth_largest(bound, SCOUTS)) & (near.known < len(near.members)))
        near.update(leaders)
        bound[leaders] = np.minimum(bound[leaders], gain[leaders] - toll * (near.rough[leaders] - near.error))
        if near.known[bound.argmax()] == len(near.members):
            return


def _nth_largest(values: Array, n: int) -> float:
    place = max(len(values) - n, 0)
    return float(np.partition(values, place)[place])


def _pick_from_pool(near: Nearness, pool: Array, gain: Array, toll: float, *, size: int, rest: float) -> Array:
    """Add the pool's best to the set while it beats `rest`, the highest bound outside; the pool's scores after that."""
    rows = near.vectors.rows[pool].astype(np.float64, copy=False)
    score = gain - toll * near.exact(pool)
    while len(near.members) < size and (top := score.max()) > rest + TIE:
        winner = int(np.argmax(score >= top - TIE))
        near.members.append(int(pool[winner]))
        np.minimum(score, gain - toll * (rows @ rows[winner]), out=score)
        score[winner] = -np.inf
    return score
