"""WFS-SB: split the video at semantic boundaries, share the budget by segment importance, stay diverse in each segment.

Chen et al., "Wavelet-based Frame Selection by Detecting Semantic Boundary for Long Video Understanding", CVPR 2026.
PyWavelets computes the wavelet transform, SciPy finds the peaks.
"""

import itertools
import math
from importlib import import_module
from typing import Any

import numpy as np

from framesift.errors import MissingExtra
from framesift.selection.gcr.cover import fill_by_mmr
from framesift.selection.result_builders import add_to_trace, build_selection
from framesift.selection.sampling import fill_by_relevance, largest_remainder
from framesift.selection.scores import Ranking, min_max, softmax
from framesift.selection.selector import Selector
from framesift.selection.uniform import evenly_spaced
from framesift.selection.validation import check_positive
from framesift.types import Evidence, Selection
from framesift.types.vectors import TIE_TOLERANCE, Array, merge_ties

WAVELET = "db4"
PEAK_HEIGHT = 0.5  # a peak exceeds the mean by at least this many standard deviations
MIN_DISTANCE, DISTANCE_SHARE = 5, 0.02  # frames between peaks: the larger of a number and a share of all
PROMINENCE_SHARE = 0.05  # of the detail's range
IMPORTANCE = (0.4, 0.2, 0.3, 0.1)  # weights of length share, mean, maximum, and variance relative to the video's
NEVER_DROPPED = 3  # with at most this many segments, none is dropped
MIN_IMPORTANCE, DROP_DEVIATIONS = 0.05, 1.2
MMR_WEIGHT = 0.5


def wfs_sb(evidence: Evidence, budget: int, *, temperature: float = 1.0, rescale: bool = False) -> Selection:
    """Segments between relevance boundaries share the budget by importance; MMR selects the frames of each.

    Input: relevance and frame vectors. Cost: O(N) for the wavelet, one pass of MMR over each segment.
    temperature: of the softmax that shares the budget. rescale: min–max normalise the relevance first, for scores in a
    narrow band such as cosines; by default they are used as they are. Every other constant is the paper's, named above.

    Differs: constant relevance, and videos too short for the wavelet, count as having no peaks (half uniform, half best
    scores), because rounding noise would split them; of equal peaks too close together the earlier stays, because
    SciPy's choice depends on the machine; if importance drops every segment, all stay.
    """
    temperature = check_positive("temperature", temperature)
    scores = merge_ties(min_max(evidence.relevance) if rescale else evidence.relevance)
    size, count = min(budget, len(evidence)), len(evidence)
    peaks: list[int] = []
    segments: list[tuple[int, int, int]] = []
    if size == count:
        indices = list(range(count))
    elif not (peaks := boundaries(scores)):
        uniform_half = evenly_spaced(count, size // 2).tolist() if size > 1 else []
        indices = fill_by_relevance(Ranking(scores), uniform_half, size)
    else:
        segments = allocate_budget(scores, [0, *peaks, count], size, temperature)
        indices = []
        for start, stop, share in segments:
            part = evidence.vectors.part(start, stop)
            filled = fill_by_mmr(2 * scores[start:stop] - 1, part, (), size=share, weight=MMR_WEIGHT)
            indices += [start + index for index in filled.selected]
        indices = fill_by_mmr(2 * scores - 1, evidence.vectors, indices, size=size, weight=MMR_WEIGHT).selected
    options = {"temperature": temperature, "rescale": rescale}
    selection = build_selection(evidence, budget, "wfs-sb", indices, "context", options)
    rows = [{"first": a, "last": b - 1, "frames": share} for a, b, share in segments]
    return add_to_trace(selection, peaks=peaks, segments=rows)


def boundaries(scores: Array) -> list[int]:
    """Indices of the peaks of the coarsest wavelet detail, ascending."""
    detail = np.abs(coarsest_detail(scores))
    if detail.max() - detail.min() <= TIE_TOLERANCE:
        return []
    detail = merge_ties(detail)
    signal = _import("scipy.signal")
    peaks, _ = signal.find_peaks(detail, height=detail.mean() + PEAK_HEIGHT * detail.std())
    peaks = suppress_close_peaks(peaks, detail, max(MIN_DISTANCE, DISTANCE_SHARE * len(detail)))
    prominences = signal.peak_prominences(detail, peaks)[0]
    prominent: list[int] = peaks[prominences >= PROMINENCE_SHARE * (detail.max() - detail.min())].tolist()
    return prominent


def coarsest_detail(scores: Array) -> Array:
    """(N,) the signal reconstructed from the coarsest detail alone; zeros when it is too short for one."""
    pywt = _import("pywt")
    max_level = pywt.dwt_max_level(len(scores), WAVELET)
    level = min(max(math.floor(math.log2(len(scores)) - 3), 1), max_level)
    if level < 1:
        return np.zeros(len(scores))
    coefficients = pywt.wavedec(scores, WAVELET, mode="symmetric", level=level)
    coarsest_only = [part if k == 1 else np.zeros_like(part) for k, part in enumerate(coefficients)]
    reconstructed: Array = pywt.waverec(coarsest_only, WAVELET, mode="symmetric")[: len(scores)]
    return reconstructed


def suppress_close_peaks(peaks: Array, heights: Array, distance: float) -> Array:
    """The peaks that have no higher one within less than `distance` frames; of equal ones the earlier stays."""
    keep = np.ones(len(peaks), dtype=bool)
    for k in np.argsort(-heights[peaks], kind="stable"):
        if keep[k]:
            keep &= np.abs(peaks - peaks[k]) >= math.ceil(distance)
            keep[k] = True
    return peaks[keep]


def allocate_budget(scores: Array, edges: list[int], size: int, temperature: float) -> list[tuple[int, int, int]]:
    """(start, stop, frames) of every segment that gets any; never more frames than it has."""
    spans = list(itertools.pairwise(edges))
    variance = scores.var()
    parts = [scores[a:b] for a, b in spans]
    features = [
        (len(p) / len(scores), p.mean(), p.max(), p.var() / variance if variance > TIE_TOLERANCE else 0.0)
        for p in parts
    ]
    importance = merge_ties(np.array(features) @ np.array(IMPORTANCE))
    if len(spans) > NEVER_DROPPED:
        threshold = max(MIN_IMPORTANCE, importance.mean() - DROP_DEVIATIONS * importance.std())
        keep = importance >= threshold - TIE_TOLERANCE
        if keep.any():
            spans = [span for span, stays in zip(spans, keep, strict=True) if stays]
            importance = importance[keep]
    shares = largest_remainder(softmax(importance, temperature), size)
    return [(a, b, min(share, b - a)) for (a, b), share in zip(spans, shares, strict=True) if share]


def _import(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f"wfs-sb can't import {module} ({error}): pip install 'framesift[peers]'") from error


SELECTOR = Selector.of(
    "wfs-sb",
    wfs_sb,
    "segments between semantic boundaries, diverse frames in each",
    paper="Chen et al., CVPR 2026",
    needs=("vectors", "peers"),
)
