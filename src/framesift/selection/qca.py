"""QCA: a quota of frames per segment by relevance and content, then the farthest points of each segment.

"QCA: Query- and Content-Aware Keyframe Selection for Efficient Long Video Understanding", ECCV 2026.
"""

from collections.abc import Sequence
from itertools import chain, cycle

import numpy as np

from framesift.selection.scores import Ranking, softmax
from framesift.selection.selector import Count, Positive, Share, selector
from framesift.types import Array, Evidence, Selection

SMALLEST_THRESHOLD = 1e-6  # of relevance, below which the pool of candidates is not widened


@selector("quota per segment by relevance and content, farthest frames inside", paper="ECCV 2026", needs=("vectors",))
def qca(
    evidence: Evidence,
    budget: int,
    *,
    segments: Count = 16,
    beta: Share = 0.5,
    gamma: Share = 0.5,
    content_temperature: Positive = 0.5,
    relevance_temperature: Positive = 1.0,
) -> Selection:
    """Divide the budget over equal segments, then select in each the most relevant frame and those farthest from it.

    Input: frame vectors. Cost: O(N·D + B·N·D / segments). A segment's share is beta × content + (1 − beta) ×
    relevance, both softmaxes: of its mean relevance; and of the sum of two softmaxes, of its mean's distance from
    the video's mean and of its variance. content_temperature and relevance_temperature are theirs. Inside a
    segment, frames of at least gamma × the best relevance are candidates, fewer being made up for by halving that
    threshold.

    Differs: with fewer frames than segments there are as many segments as frames; where relevance is not positive,
    the original returns too few frames; here the best of the others fill the budget. Vectors are compared in double
    precision, the original's on a GPU in half precision. Its relevance is BLIP's matching probability.
    """
    borders = split_evenly(len(evidence), min(segments, len(evidence)))
    content = content_share(evidence.vectors.rows, borders, temperature=content_temperature)
    means = np.array([evidence.relevance[a:b].mean() for a, b in borders])
    shares = beta * content + (1 - beta) * softmax(means, relevance_temperature)
    quotas = allocate(shares, [b - a for a, b in borders], budget)
    picked = []
    for (a, b), quota in zip(borders, quotas, strict=True):
        if quota > 0:
            pool = candidates(evidence.relevance[a:b], quota, gamma=gamma)
            picked += [a + k for k in farthest_points(evidence.vectors.rows[a:b], pool, quota, evidence.relevance[a:b])]
    return Selection.of(evidence, Ranking(evidence.relevance).fill(picked, budget), quotas=quotas)


def split_evenly(count: int, parts: int) -> list[tuple[int, int]]:
    """Start and end of `parts` ranges; the first ones are longer by one where it does not come out even."""
    return [(int(part[0]), int(part[-1]) + 1) for part in np.array_split(np.arange(count), parts)]


def content_share(frames: Array, borders: Sequence[tuple[int, int]], *, temperature: float) -> Array:
    """(S,) each segment's share by how far its mean is from the video's and by how much its frames vary."""
    rows = np.asarray(frames, dtype=np.float64)
    mean = rows.mean(axis=0)
    distances = np.array([((mean - rows[a:b].mean(axis=0)) ** 2).sum() for a, b in borders])
    variances = np.array([rows[a:b].var(axis=0, ddof=1).sum() if b - a > 1 else 0.0 for a, b in borders])
    return softmax(softmax(distances, temperature) + softmax(variances, temperature), temperature)


def allocate(shares: Array, lengths: Sequence[int], budget: int) -> list[int]:
    """Frames per segment: rounded down, then by largest remainder, then by share, never more than a segment has.

    Remainders and shares fill a segment up to the length of the shortest.
    """
    shortest = min(lengths)
    size = min(budget, shortest * len(lengths))
    exact = shares / shares.sum() * size
    counts = np.floor(exact).astype(int)
    by_share = np.argsort(-shares, kind="stable").tolist()
    left = size - int(counts.sum())
    for k in chain(np.argsort(counts - exact, kind="stable"), cycle(by_share)):
        if left == 0:
            break
        if counts[k] < shortest:
            counts[k] += 1
            left -= 1
    counts = np.minimum(counts, lengths)
    left = min(budget, sum(lengths)) - int(counts.sum())
    for k in by_share:
        added = min(left, lengths[k] - int(counts[k]))
        counts[k] += added
        left -= added
    quotas: list[int] = counts.tolist()
    return quotas


def candidates(relevance: Array, quota: int, *, gamma: float) -> list[int]:
    """The frames of a segment with at least gamma × its best relevance, or half of that, …, until the quota is met."""
    best = float(relevance.max())
    threshold = gamma * best if best > 0 else best
    while True:
        pool: list[int] = np.flatnonzero(relevance >= threshold).tolist()
        if len(pool) >= quota or threshold <= SMALLEST_THRESHOLD:
            return pool
        threshold *= 0.5


def farthest_points(frames: Array, pool: Sequence[int], quota: int, relevance: Array) -> list[int]:
    """The most relevant frame, then greedily the one of the pool farthest from all chosen; all of a small pool."""
    if len(pool) <= quota:
        return list(pool)
    rows = np.asarray(frames, dtype=np.float64)[list(pool)]
    chosen = [pool.index(int(relevance.argmax()))]
    distance = np.full(len(pool), np.inf)
    while len(chosen) < quota:
        distance = np.minimum(distance, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
        distance[chosen] = -1.0
        chosen.append(int(distance.argmax()))
    return [pool[k] for k in chosen]
