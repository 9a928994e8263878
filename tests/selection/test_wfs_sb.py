"""WFS-SB against a reference implementation: the wavelet as sums, peaks by scanning, MMR over every frame."""

import itertools
import math
import sys

import numpy as np
import pytest

import framesift as fs
from framesift.errors import MissingExtra
from framesift.selection.wfs_sb import coarsest_detail
from helpers.curves import KINDS, LONG, SMALL_CASES, curve, curve_evidence, select_indices
from helpers.gcr_reference import TIE_TOLERANCE, above, dot, first_best, ranked

pywt = pytest.importorskip("pywt", reason="pywt comes with framesift[peers]")
pytest.importorskip("scipy", reason="scipy comes with framesift[peers]")

LOW, HIGH, LOW_BACK, HIGH_BACK = pywt.Wavelet("db4").filter_bank


def mirrored(x, i):
    i %= 2 * len(x)
    return x[i] if i < len(x) else x[2 * len(x) - 1 - i]


def analysed(x, taps):
    return [sum(taps[j] * mirrored(x, 2 * k + 1 - j) for j in range(8)) for k in range((len(x) + 7) // 2)]


def rebuilt(half, taps):
    spread = [half[i // 2] if i % 2 == 0 else 0.0 for i in range(2 * len(half))]
    whole = [
        sum(taps[j] * spread[i - j] for j in range(8) if 0 <= i - j < len(spread)) for i in range(2 * len(half) + 6)
    ]
    return whole[6 : 6 + 2 * len(half) - 6]


def reference_detail(x):
    most = math.floor(math.log2(len(x) / 7)) if len(x) >= 7 else 0
    level = max(min(math.floor(math.log2(len(x)) - 3), most), 1)
    sizes, smooth = [], list(x)
    for _ in range(level):
        sizes.append(len(smooth))
        detail, smooth = analysed(smooth, HIGH), analysed(smooth, LOW)
    out = rebuilt(detail, HIGH_BACK)[: sizes[-1]]
    for size in reversed(sizes[:-1]):
        out = rebuilt(out, LOW_BACK)[:size]
    return out


def reference_peaks(x):
    detail = np.abs(coarsest_detail(np.array(x))).tolist()  # compared with reference_detail below
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
    kept = []
    for p in sorted(peaks, key=lambda p: (-detail[p], -p)):
        if all(abs(p - q) >= max(5, int(0.02 * n)) for q in kept):
            kept.append(p)
    return sorted(p for p in kept if prominence(detail, p) >= 0.05 * span)


def prominence(x, p):
    bases = []
    for side in (range(p, -1, -1), range(p, len(x))):
        lowest = x[p]
        for i in side:
            if x[i] > x[p]:
                break
            lowest = min(lowest, x[i])
        bases.append(lowest)
    return x[p] - max(bases)


def reference(scores, frames, budget):
    n = len(scores)
    size = min(budget, n)
    if n <= budget:
        return list(range(n))
    best = sorted(range(n), key=lambda i: (-scores[i], i))[:size]
    peaks = reference_peaks(scores)
    if not peaks:
        chosen = [int(i) for i in np.linspace(0, n - 1, size // 2)]
        return sorted(chosen + [i for i in best if i not in chosen][: size - size // 2])
    edges = [0, *peaks, n]
    segments = [list(range(a, b)) for a, b in itertools.pairwise(edges)]
    importances = [importance([scores[i] for i in segment], scores) for segment in segments]
    if len(segments) > 3:
        mean = sum(importances) / len(importances)
        least = max(0.05, mean - 1.2 * math.sqrt(sum((w - mean) ** 2 for w in importances) / len(importances)))
        keep = [k for k, w in enumerate(importances) if not above(least, w)] or list(range(len(importances)))
        segments, importances = [segments[k] for k in keep], [importances[k] for k in keep]
    total = sum(math.exp(w) for w in importances)
    exact = [size * math.exp(w) / total for w in importances]
    share = [math.floor(e + TIE_TOLERANCE) for e in exact]
    for k in ranked(range(len(share)), lambda k: exact[k] - math.floor(exact[k] + TIE_TOLERANCE))[: size - sum(share)]:
        share[k] += 1
    chosen = []
    for segment, quota in zip(segments, share, strict=True):
        chosen += by_mmr(scores, frames, segment, [], min(quota, len(segment)))
    return sorted(by_mmr(scores, frames, range(n), chosen, size))


def importance(part, scores):
    mean, overall = sum(part) / len(part), sum(scores) / len(scores)
    spread = sum((s - overall) ** 2 for s in scores) / len(scores)
    own = sum((s - mean) ** 2 for s in part) / len(part)
    return 0.4 * len(part) / len(scores) + 0.2 * mean + 0.3 * max(part) + 0.1 * own / (spread + 1e-8)


def by_mmr(scores, frames, pool, chosen, size):
    chosen = list(chosen)
    closest = {i: max((dot(frames[i], frames[z]) for z in chosen), default=0.0) for i in pool}
    while len(chosen) < size:
        free = [i for i in pool if i not in chosen]
        pick = first_best(free, lambda i: 0.5 * (2 * scores[i] - 1) - 0.5 * closest[i])
        chosen.append(pick)
        for i in pool:
            cosine = dot(frames[i], frames[pick])
            closest[i] = cosine if len(chosen) == 1 else max(closest[i], cosine)
    return chosen


def test_matches_the_reference_on_small_cases():
    for kind, count, budget in SMALL_CASES:
        evidence = curve_evidence(kind, count)
        expected = reference(curve(kind, count).tolist(), evidence.frames.tolist(), budget)
        assert select_indices(evidence, budget, "wfs-sb") == expected, (kind, count, budget)


@pytest.mark.parametrize("kind", ["random", "smooth", "spiky"])
def test_matches_the_reference_on_many_segments(kind):
    for seed in range(4):
        evidence = curve_evidence(kind, 400, seed=seed)
        expected = reference(curve(kind, 400, seed).tolist(), evidence.frames.tolist(), 16)
        selection = fs.select_frames(evidence, budget=16, method="wfs-sb")
        assert selection.trace["peaks"] and selection.indices == expected, seed


@pytest.mark.parametrize("kind", KINDS)
def test_matches_the_reference_on_a_long_video(kind):
    evidence = curve_evidence(kind, LONG, dim=3)
    assert select_indices(evidence, 16, "wfs-sb") == reference(curve(kind, LONG).tolist(), evidence.frames.tolist(), 16)


@pytest.mark.parametrize("kind", KINDS)
def test_wavelet_detail_matches_the_reference(kind):
    for count in (2, 3, 7, 13, 16, 100, 1001, 5000):
        scores = curve(kind, count)
        np.testing.assert_allclose(coarsest_detail(scores), reference_detail(scores.tolist()), atol=1e-12)


def test_without_peaks_half_is_uniform_and_half_is_most_relevant():
    scores = np.full(100, 0.1)
    evidence = fs.Evidence(np.arange(100.0), 100.0, np.eye(100), np.ones(100), scores=scores)
    assert select_indices(evidence, 5, "wfs-sb") == [0, 1, 2, 3, 99]


def test_missing_package_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pywt", None)
    with pytest.raises(MissingExtra, match=r"pip install 'framesift\[peers\]'"):
        fs.select_frames(curve_evidence("random", 100), budget=4, method="wfs-sb")


class SiglipLike:
    """An encoder with SigLIP's scale and bias."""

    name, dim, logit_scale, logit_bias = "siglip-like", 6, 112.0, -16.0


def test_cosines_of_siglip_become_its_probabilities():
    rng = np.random.default_rng(5)
    index = fs.VideoIndex(fs.VideoInfo("x", 80.0), np.arange(80.0), rng.standard_normal((80, 6)), "siglip-like")
    options = {"queries": rng.standard_normal((1, 6)), "budget": 8, "method": "wfs-sb"}
    by_encoder = fs.select_many(index, ["Why?"], encoder=SiglipLike(), **options)[0]
    assert by_encoder.trace["options"]["logit_scale"] == 112.0
    given = fs.select_many(index, ["Why?"], logit_scale=112.0, logit_bias=-16.0, **options)[0]
    assert by_encoder.indices == given.indices
    without = fs.select_many(index, ["Why?"], **options)[0]
    assert without.trace["options"]["logit_scale"] is None
