"""Slow, literal implementations of the published selectors: the indices that an evidence and a budget must give."""

import itertools
import math
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from framesift._utils.requirements import require
from framesift.selection.mdp3 import GAIN_TIE, VARIANCE_FLOOR
from framesift.selection.wfs_sb import coarsest_detail
from helpers.gcr_reference import TIE_TOLERANCE, above, first_best, frames_of, min_max, ranked


def descending(scores):
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def topk(evidence, budget):
    return sorted(descending(evidence.relevance.tolist())[:budget])


def mmr(evidence, budget, weight=0.5):
    return sorted(by_mmr(evidence.relevance, evidence.frames, range(len(evidence)), [], budget, weight))


def by_mmr(scores, frames, pool, chosen, size, weight=0.5):
    chosen, frames = list(chosen), np.asarray(frames, dtype=float)
    while len(chosen) < min(size, len(scores)):
        closest = (frames @ frames[chosen].T).max(axis=1) if chosen else np.zeros(len(frames))
        value = weight * np.asarray(scores) - (1 - weight) * closest
        chosen.append(first_best([i for i in pool if i not in chosen], value.__getitem__))
    return chosen


def bin_max(evidence, budget):
    scores = evidence.relevance.tolist()
    n, size = len(scores), min(budget, len(scores))
    centres = [round(k * ((n - 1) / max(size - 1, 1))) for k in range(size)]
    bins: list[list[int]] = [[] for _ in centres]
    for i in range(n):
        bins[min(range(size), key=lambda k: abs(i - centres[k]))].append(i)
    return [first_best(frames, scores.__getitem__) for frames in bins]


def aks(evidence, budget, t1=0.8, t2=-100.0, depth=5):
    scores = evidence.relevance.tolist()
    n = len(scores)
    if n <= budget:
        return list(range(n))
    scaled = min_max(scores)
    deepest = min(depth, int(np.log2(budget)))
    chosen = []

    def visit(part, level):
        if part and level < deepest:
            values = [scaled[i] for i in part]
            best = sorted(values, reverse=True)[:budget]
            if not (above(np.mean(best) - np.mean(values), t1) and above(np.std(values), t2)):
                half = len(part) // 2
                visit(part[:half], level + 1)
                visit(part[half:], level + 1)
                return
        chosen.extend(sorted(part, key=lambda i: (-scores[i], i))[: int(budget / 2**level)])

    visit(list(range(n)), 0)
    return sorted([*chosen, *(i for i in descending(scores) if i not in chosen)][:budget])


def bolt(evidence, budget, alpha=3.0):
    scores = evidence.relevance.tolist()
    n, size = len(scores), min(budget, len(scores))
    if size == n:
        return list(range(n))
    weights = np.array(min_max(scores)) ** alpha
    if not weights.any():
        return [(2 * k + 1) * n // (2 * size) for k in range(size)]
    reached = list(itertools.accumulate((weights / weights.sum()).tolist()))
    chosen = []
    for quantile in np.linspace(1 / size, 1 - 1 / size, size) if size > 1 else [0.5]:
        wanted = next(i for i in range(n) if reached[i] >= quantile)
        chosen.append(min((i for i in range(n) if i not in chosen), key=lambda i: (abs(i - wanted), i)))
    return sorted(chosen)


def q_frame(evidence, budget, seed=0, temperature=0.8, logs=True):
    rng = np.random.default_rng(seed)
    powers = [math.exp(s / temperature) for s in evidence.relevance.tolist()]
    total = math.fsum(powers)
    noise = [-math.log(-math.log(rng.random() + 1e-10) + 1e-10) for _ in powers]
    keys = [(math.log(p / total) if logs else p / total) + g for p, g in zip(powers, noise, strict=True)]
    return sorted(descending(keys)[:budget])


def focus(evidence, budget, seed=0):
    return focus_and_scored(evidence, budget, seed)[0]


def focus_and_scored(evidence, budget, seed=0):
    """The selected frames and the number of scored ones."""
    scores, rng = evidence.relevance.tolist(), np.random.default_rng(seed)
    n = len(scores)
    seconds = evidence.times_s[-1] - evidence.times_s[0]
    rate = (n - 1) / seconds if seconds else 1.0
    size = min(budget, n)
    duration = n / rate
    wanted = max(8, math.ceil(duration / 16))
    stride = max(1, n // wanted)
    length = n // (n // stride)
    arms = [list(range(start, start + length)) for start in range(0, n // stride * length, length)]
    first = []
    for arm in arms:
        centre = (arm[0] + arm[-1]) // 2
        rest = [i for i in arm if i != centre]
        first.append([centre, *(rng.choice(rest, min(2, len(rest)), replace=False).tolist() if rest else [])])
    logarithm = math.log(sum(map(len, first)))

    def bound(k):
        known = [scores[i] for i in first[k]]
        return (
            np.mean(known)
            + math.sqrt(2 * logarithm * max(np.var(known), 1e-6) / len(known))
            + 3 * logarithm / len(known)
        )

    order = descending([bound(k) for k in range(len(arms))])
    quarter = max(4, math.ceil(len(arms) / 4))
    step = min(max(1, round(rate)), stride)
    reach = max(1, round(max(1 / rate, duration / wanted / 2) * rate))
    coarse, fine = [i for known in first for i in known], []
    for k in order[:quarter]:
        window = list(range(max(0, first[k][0] - reach), min(n - 1, first[k][0] + reach) + 1))
        count = max(1, len(window) // step)
        even = round(count / 2)
        for j in range(even):
            i = window[0] + int(j * (len(window) / even) + len(window) / even / 2)
            if i not in coarse and i not in fine:
                fine.append(i)
        free = [i for i in window if i not in coarse and i not in fine]
        if free and count > even:
            fine += rng.choice(free, min(count - even, len(free)), replace=False).tolist()
    known = coarse + sorted(fine)
    chosen = sorted(known, key=lambda i: -scores[i])[: round(0.2 * min(size, len(known)))]
    sharing = order[: min(quarter, 32)]
    spacing = duration / size
    gap = 0 if spacing <= 0.2 else round(min(0.25 * spacing, 1.0) * rate)
    base, more = divmod(size - len(chosen), len(sharing))
    for rank, k in enumerate(sharing):
        free = [i for i in arms[k] if i not in chosen]
        free = [i for i in free if all(abs(i - j) >= gap for j in chosen)] or free
        quota = min(base + (rank < more), len(free))
        if not quota:
            continue
        near = [min(max(scores[min(first[k], key=lambda j: abs(j - i))], 0.0), 1.0) for i in free]
        low, span = min(near), max(near) - min(near)
        powers = np.exp([((v - low) / span - 1) / 0.06 if span else 0.0 for v in near])
        chosen += [free[j] for j in rng.choice(len(free), quota, p=powers / powers.sum(), replace=False)]
    for frames in (*(arms[k] for k in order), range(len(arms) * length, n)):
        if len(chosen) + len([i for i in known if i not in chosen]) < size:
            known += [i for i in frames if i not in known and i not in chosen]
    left = sorted((i for i in known if i not in chosen), key=lambda i: -scores[i])
    return sorted(chosen + left[: size - len(chosen)]), len(known)


def text(evidence, budget):
    return sorted(text_and_events(evidence, budget))


def text_and_events(evidence, budget):
    """Frame → event, None for the frames that fill the budget."""
    scores, relevance, events = evidence.relevance.tolist(), evidence.event_relevance.tolist(), evidence.events
    size, times = min(budget, len(scores)), evidence.times_s.tolist()
    inside = [frames_of(times, event.start_s, event.end_s) for event in events]
    pending = sorted(range(len(events)), key=lambda e: (-relevance[e], events[e].start_s))
    event_of: dict[int, Any] = {}
    while pending and len(event_of) < size:
        next_round = []
        for e in pending:
            free = [i for i in inside[e] if i not in event_of]
            if free and len(event_of) < size:
                event_of[first_best(free, lambda i: scores[i])] = events[e]
                next_round.append(e)
        pending = next_round
    others = [i for i in descending(scores) if i not in event_of]
    return event_of | dict.fromkeys(others[: size - len(event_of)])


def vsi_lite(evidence, budget, weight=0.4):
    visual, subtitles = min_max(evidence.relevance.tolist()), min_max(subtitle_scores(evidence))
    fused = [round((1 - weight) * a + weight * b, 11) for a, b in zip(visual, subtitles, strict=True)]
    return sorted(descending(fused)[:budget])


def subtitle_scores(evidence, reach=2.0):
    """VSI's score of the subtitles at each frame."""
    scores, times = [0.0] * len(evidence), evidence.times_s.tolist()
    for event, cosine in zip(evidence.events, evidence.event_relevance.tolist(), strict=True):
        first, last = max(0.0, event.start_s - reach), min(evidence.duration_s, event.end_s + reach)
        middle, half = (first + last) / 2, (last - first) / 2
        for i in range(bisect_left(times, first), bisect_right(times, last)):
            value = strength(cosine) * math.exp(-((times[i] - middle) ** 2) / (2 * (half / 2) ** 2))
            scores[i] = max(scores[i], value)
    return scores


def subtitle_scores_at(evidence, fps, reach=2.0):
    """The same per frame of the video, windows of whole frames, then read at N points from the first to the last."""
    count = round(evidence.duration_s * fps)
    scores = [0.0] * count
    for event, cosine in zip(evidence.events, evidence.event_relevance.tolist(), strict=True):
        first, after = max(0, int((event.start_s - reach) * fps)), min(count, int((event.end_s + reach) * fps))
        for f in range(first, after):
            value = strength(cosine) * math.exp(-((f - (first + after) // 2) ** 2) / (2 * ((after - first) / 4) ** 2))
            scores[f] = max(scores[f], value)
    return np.interp(np.linspace(0, count - 1, len(evidence)), range(count), scores).tolist()


def strength(cosine):
    return 0.0 if cosine <= 0.2 else min(1.0, cosine if cosine <= 0.5 else 0.5 + 2 * (cosine - 0.5))


def mdp3(evidence, budget, relevance_weight=0.2, segment_frames=None):
    """Determinants by elimination; every state and frame count tried."""
    frames, query, n = evidence.frames, evidence.query, len(evidence)
    if n <= budget:
        return list(range(n))
    log_relevance = 2 / relevance_weight * np.log(kernel(frames, query[None])[:, 0])
    default = 32 if budget <= 32 else 128
    length = n if segment_frames == 0 else segment_frames or default
    states: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for start in range(0, n, length):
        segment = range(start, min(start + length, n))
        runs = {
            before: by_determinants(frames, log_relevance, segment, before, budget)
            for before in {max(picks, default=None) for _, picks in states.values()}
        }
        reached = dict(states)
        for given in range(1, len(segment) + 1):
            for used, (value, chosen) in states.items():
                if used + given > budget:
                    continue
                picks, totals = runs[max(chosen, default=None)]
                total = value + totals[given]
                if used + given not in reached or total > reached[used + given][0] + GAIN_TIE:
                    reached[used + given] = (total, chosen + picks[:given])
        states = reached
    return sorted(states[budget][1])


def by_determinants(frames, log_relevance, segment, before, most):
    """Up to `most` picks and the value after each, given the frame before: each by the ratio of two determinants."""
    picks: list[int] = []
    totals = [0.0]
    basis = [] if before is None else [before]
    value = 0.0 if before is None else log_relevance[before] + np.log(5)  # the frame before is counted again
    inside = frames[segment.start : segment.stop]
    while len(picks) < min(most, len(segment)):
        left = np.full(len(segment), 5.0)
        if basis:  # det(basis and x) / det(basis), the Schur complement
            with_basis = kernel(frames[basis], inside)
            left -= (with_basis * np.linalg.solve(kernel(frames[basis], frames[basis]), with_basis)).sum(axis=0)
        gain = log_relevance[segment.start : segment.stop] + np.log(np.maximum(left, VARIANCE_FLOOR))
        gain[[i - segment.start for i in picks]] = -np.inf
        place = int(np.flatnonzero(gain >= gain.max() - GAIN_TIE)[0])
        picks.append(segment.start + place)
        value += gain[place]
        totals.append(value)
        if left[place] > VARIANCE_FLOOR:  # a duplicate would make the determinant 0
            basis.append(picks[-1])
    return picks, totals


def kernel(x, y):
    """MDP3's kernel between the rows of x and those of y."""
    distance = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    return sum(np.exp(-distance / (2 * a)) for a in (0.125, 0.25, 0.5, 1.0, 2.0))


def omp(evidence, budget):
    """What is left of the query by least squares, anew at every step."""
    frames, query = evidence.vectors.exact(), evidence.query
    return by_what_is_left(evidence, budget, lambda chosen: frames @ residual(frames[chosen], query))


def lddr(evidence, budget, power=1.0):
    """What is left of every frame by least squares: the ratio of the determinants with it and without."""
    frames, scaled = evidence.vectors.exact(), min_max(evidence.relevance.tolist())
    weights = [(s if any(scaled) else 1.0) ** (2 * power) for s in scaled]

    def gains(chosen):
        return [w * float(np.square(residual(frames[chosen], f)).sum()) for w, f in zip(weights, frames, strict=True)]

    return by_what_is_left(evidence, budget, gains)


def by_what_is_left(evidence, budget, gains_of):
    chosen: list[int] = []
    while len(chosen) < min(budget, len(evidence)):
        gains = list(gains_of(chosen))
        pick = first_best([i for i in range(len(gains)) if i not in chosen], gains.__getitem__)
        if gains[pick] <= TIE_TOLERANCE:
            break
        chosen.append(pick)
    others = [i for i in descending(evidence.relevance.tolist()) if i not in chosen]
    return sorted([*chosen, *others][: min(budget, len(evidence))])


def residual(rows, target):
    return target - rows.T @ np.linalg.lstsq(rows.T, target, rcond=None)[0] if len(rows) else target


def wfs_sb(evidence, budget):
    """Peaks of the wavelet's detail by scanning, MMR over every frame."""
    scores, frames = evidence.relevance.tolist(), evidence.frames.tolist()
    n = len(scores)
    if n <= budget:
        return list(range(n))
    peaks = wavelet_peaks(scores)
    if not peaks:
        chosen = [int(i) for i in np.linspace(0, n - 1, budget // 2)]
        return sorted([*chosen, *(i for i in descending(scores) if i not in chosen)][:budget])
    segments = [list(range(a, b)) for a, b in itertools.pairwise([0, *peaks, n])]
    importances = [importance([scores[i] for i in segment], scores) for segment in segments]
    if len(segments) > 3:
        least = max(0.05, np.mean(importances) - 1.2 * np.std(importances))
        keep = [k for k, w in enumerate(importances) if not above(least, w)] or list(range(len(importances)))
        segments, importances = [segments[k] for k in keep], [importances[k] for k in keep]
    total = sum(math.exp(w) for w in importances)
    exact = [budget * math.exp(w) / total for w in importances]
    share = [math.floor(e + TIE_TOLERANCE) for e in exact]
    rest = ranked(range(len(share)), lambda k: exact[k] - math.floor(exact[k] + TIE_TOLERANCE))
    for k in rest[: budget - sum(share)]:
        share[k] += 1
    chosen = []
    for segment, quota in zip(segments, share, strict=True):
        chosen += by_mmr([2 * s - 1 for s in scores], frames, segment, [], min(quota, len(segment)))
    return sorted(by_mmr([2 * s - 1 for s in scores], frames, range(n), chosen, budget))


def importance(part, scores):
    return (
        0.4 * len(part) / len(scores)
        + 0.2 * np.mean(part)
        + 0.3 * max(part)
        + 0.1 * np.var(part) / (np.var(scores) + 1e-8)
    )


def wavelet_peaks(x):
    detail = np.abs(coarsest_detail(np.array(x))).tolist()  # compared with wavelet_detail by a test of its own
    n, span = len(detail), max(detail) - min(detail)
    if max(x) - min(x) <= TIE_TOLERANCE:
        return []
    tall = np.mean(detail) + 0.5 * np.std(detail)
    peaks = []
    for i in range(1, n - 1):  # the middle of a plateau that falls on both sides
        j = i
        while j < n - 1 and detail[j + 1] == detail[i]:
            j += 1
        if detail[i] > detail[i - 1] and j < n - 1 and detail[j] > detail[j + 1] and detail[i] >= tall:
            peaks.append((i + j) // 2)
    kept: list[int] = []
    for p in sorted(peaks, key=lambda p: (-detail[p], -p)):
        if all(abs(p - q) >= max(5, int(0.02 * n)) for q in kept):
            kept.append(p)
    return sorted(p for p in kept if prominence(detail, p) >= 0.05 * span)


def prominence(x, p):
    bases = []
    for side in (range(p, -1, -1), range(p, len(x))):
        bases.append(min(x[i] for i in itertools.takewhile(lambda i: x[i] <= x[p], side)))
    return x[p] - max(bases)


def wavelet_detail(x):
    """The coarsest detail of x by the sums of a Daubechies wavelet of 8 taps, mirrored at the ends."""
    low, high, low_back, high_back = require("pywt", "peers").Wavelet("db4").filter_bank
    most = math.floor(math.log2(len(x) / 7)) if len(x) >= 7 else 0
    level = max(min(math.floor(math.log2(len(x)) - 3), most), 1)
    sizes, smooth = [], list(x)
    for _ in range(level):
        sizes.append(len(smooth))
        detail, smooth = analysed(smooth, high), analysed(smooth, low)
    out = rebuilt(detail, high_back)[: sizes[-1]]
    for size in reversed(sizes[:-1]):
        out = rebuilt(out, low_back)[:size]
    return out


def analysed(x, taps):
    whole = [*x, *reversed(x)]
    return [sum(taps[j] * whole[(2 * k + 1 - j) % len(whole)] for j in range(8)) for k in range((len(x) + 7) // 2)]


def rebuilt(half, taps):
    spread = [half[i // 2] if i % 2 == 0 else 0.0 for i in range(2 * len(half))]
    return [sum(taps[j] * spread[i - j] for j in range(8) if 0 <= i - j < len(spread)) for i in range(6, 2 * len(half))]


FUNCTIONS = (topk, mmr, bin_max, aks, bolt, q_frame, focus, text, vsi_lite, mdp3, wfs_sb, omp, lddr)
REFERENCES = {function.__name__.replace("_", "-"): function for function in FUNCTIONS}
