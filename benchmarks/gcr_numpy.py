"""GCR as a straightforward NumPy program, the baseline of `benchmarks/selection.py`.

Correct and vectorised where that is easy: one matrix–vector product per selected frame. Ties are handled in one place
only, the representative of a region: both frames of a region of two are equally close to their mean.
"""

import numpy as np


def top_mean(values):
    return np.sort(values)[-2:].mean()


def min_max(values):
    span = values.max() - values.min()
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)


def gcr(video, query, budget, steps, *, demand=0.5):
    """Return the selected indices, ascending.

    video: a SyntheticVideo; query (D,) of the same dtype; steps (N − 1,): 1 − cosine of each frame with the next.
    """
    times, duration, frames, starts, ends = video.times, video.duration_s, video.frames, video.starts, video.ends
    k_ground, k_visual, k_refine = budget // 4, budget // 8, budget // 8
    count = len(frames)
    s = frames @ query
    lo, hi = np.searchsorted(times, starts, "left"), np.searchsorted(times, ends, "right")
    empty = lo == hi
    nearest = np.abs(times[None, :] - ((starts + ends) / 2)[empty, None]).argmin(axis=1)
    lo[empty], hi[empty] = nearest, nearest + 1
    visual_scores = np.array([top_mean(s[a:b]) for a, b in zip(lo, hi, strict=True)])
    score = (1 - demand) * min_max(video.events @ query) + demand * min_max(visual_scores)
    anchors = []
    for event in np.argsort(-score, kind="stable"):
        if len(anchors) == k_ground:
            break
        free = [i for i in range(lo[event], hi[event]) if i not in anchors]
        if free:
            anchors.append(free[int(np.argmax(s[free]))])
    open_scores = s.copy()
    open_scores[anchors] = -np.inf
    selected = anchors + np.argsort(-open_scores, kind="stable")[:k_visual].tolist()
    core = len(selected)

    redundancy = np.full(count, -np.inf, dtype=np.float32)
    for index in selected:
        redundancy = np.maximum(redundancy, frames @ frames[index])
    while len(selected) < budget:
        mmr = 0.5 * s - 0.5 * redundancy
        mmr[selected] = -np.inf
        selected.append(int(mmr.argmax()))
        redundancy = np.maximum(redundancy, frames @ frames[selected[-1]])

    omitted = np.ones(count + 2, dtype=int)
    omitted[[0, -1]] = 0
    omitted[np.array(selected) + 1] = 0
    first, after = np.flatnonzero(np.diff(omitted) == 1), np.flatnonzero(np.diff(omitted) == -1)
    left = np.where(first > 0, times[first - 1], 0.0)
    right = np.where(after < count, times[np.minimum(after, count - 1)], duration)
    if (right - left).max() / duration < 0.1:
        return sorted(selected)
    rows = [
        (top_mean(s[a:b]), 1 - redundancy[a:b].max(), steps[a : b - 1].mean() if b - a > 1 else 0.0)
        for a, b in zip(first, after, strict=True)
    ]
    context = selected[core:]
    for c in context:
        others = [z for z in selected if z != c]
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
            selected[core + weakest[swaps]] = int(first[region] + (rows_of @ mean).round(12).argmax())
            swaps += 1
    return sorted(selected)
