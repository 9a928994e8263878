"""GCR as one would first write it with NumPy: what `benchmarks/selection.py` measures against.

Correct and vectorised where that is easy, with no thought given to ties. The redundancy comes from a function, so that
the same code stands for both alternatives: one matrix–vector product per pick, or all pairs up front.
"""

import numpy as np


def top_mean(values):
    return np.sort(values)[-2:].mean()


def min_max(values):
    span = values.max() - values.min()
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)


def gcr(times, duration, frames, query, starts, ends, event_vectors, demand, budget, pairwise=False):
    """frames (N, D), query (D,), event_vectors (E, D): float32 unit rows. Returns the chosen indices, ascending."""
    k_ground, k_visual, k_refine = budget // 4, budget // 8, budget // 8
    count = len(frames)
    similarity = frames @ frames.T if pairwise else None

    def cosines(index):
        return similarity[index] if pairwise else frames @ frames[index]

    s = frames @ query
    lo, hi = np.searchsorted(times, starts, "left"), np.searchsorted(times, ends, "right")
    empty = lo == hi
    nearest = np.abs(times[None, :] - ((starts + ends) / 2)[empty, None]).argmin(axis=1)
    lo[empty], hi[empty] = nearest, nearest + 1
    visual_scores = np.array([top_mean(s[a:b]) for a, b in zip(lo, hi, strict=True)])
    score = (1 - demand) * min_max(event_vectors @ query) + demand * min_max(visual_scores)
    anchors = []
    for event in np.argsort(-score, kind="stable"):
        if len(anchors) == k_ground:
            break
        free = [i for i in range(lo[event], hi[event]) if i not in anchors]
        if free:
            anchors.append(free[int(np.argmax(s[free]))])
    open_scores = s.copy()
    open_scores[anchors] = -np.inf
    chosen = anchors + np.argsort(-open_scores, kind="stable")[:k_visual].tolist()
    core = len(chosen)

    redundancy = np.full(count, -np.inf, dtype=np.float32)
    for index in chosen:
        redundancy = np.maximum(redundancy, cosines(index))
    while len(chosen) < budget:
        mmr = 0.5 * s - 0.5 * redundancy
        mmr[chosen] = -np.inf
        chosen.append(int(mmr.argmax()))
        redundancy = np.maximum(redundancy, cosines(chosen[-1]))

    left_out = np.ones(count + 2, dtype=int)
    left_out[[0, -1]] = 0
    left_out[np.array(chosen) + 1] = 0
    first, after = np.flatnonzero(np.diff(left_out) == 1), np.flatnonzero(np.diff(left_out) == -1)
    left = np.where(first > 0, times[first - 1], 0.0)
    right = np.where(after < count, times[np.minimum(after, count - 1)], duration)
    if (right - left).max() / duration < 0.1:
        return sorted(chosen)
    steps = 1 - (frames[:-1] * frames[1:]).sum(axis=1)
    rows = [
        (top_mean(s[a:b]), 1 - redundancy[a:b].max(), steps[a : b - 1].mean() if b - a > 1 else 0.0)
        for a, b in zip(first, after, strict=True)
    ]
    context = chosen[core:]
    for c in context:
        others = [z for z in chosen if z != c]
        around = [steps[i] for i in (c - 1, c) if 0 <= i < count - 1]
        rows.append((s[c], 1 - (frames[others] @ frames[c]).max(), np.mean(around)))
    scaled = np.apply_along_axis(min_max, 0, np.array(rows))
    value = scaled.mean(axis=1)
    weakest = np.argsort(value[len(first) :], kind="stable").tolist()
    swaps = 0
    for region in np.argsort(-value[: len(first)], kind="stable"):
        if swaps == k_refine or value[region] <= value[len(first) + weakest[swaps]]:
            break
        if (scaled[region] > 0).all():
            rows_of = frames[first[region] : after[region]]
            mean = rows_of.mean(axis=0)
            chosen[core + weakest[swaps]] = int(first[region] + (rows_of @ mean).argmax())
            swaps += 1
    return sorted(chosen)
