"""WFS-SB: cut the video where relevance swings, spend the budget where segments matter, stay diverse inside them.

Chen et al., "Wavelet-based Frame Selection by Detecting Semantic Boundary for Long Video Understanding", CVPR 2026.
The wavelet is PyWavelets', the peaks are SciPy's: both are what the field uses.
"""

import itertools
import math
from importlib import import_module
from typing import Any

import numpy as np

from framesift.errors import MissingExtra
from framesift.selection.gcr.cover import fill_by_mmr
from framesift.selection.gcr.ground import min_max
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_trace
from framesift.selection.sampling import largest_remainder, next_best, softmax
from framesift.selection.uniform import evenly_spaced
from framesift.selection.validation import check_positive
from framesift.types import Evidence, Selection
from framesift.types.vectors import TIE, Array, settle

WAVELET = "db4"
HEIGHT = 0.5  # a peak rises this many standard deviations above the mean
LEAST_DISTANCE, DISTANCE_SHARE = 5, 0.02  # frames between peaks: the larger of a number and a share of all
PROMINENCE_SHARE = 0.05  # of the swing's range
IMPORTANCE = (0.4, 0.2, 0.3, 0.1)  # length share, mean, max, variance against the video's
ALWAYS_KEPT = 3  # up to so many segments, none is dropped
LEAST_IMPORTANCE, DROP_STD = 0.05, 1.2
MMR_WEIGHT = 0.5


def wfs_sb(evidence: Evidence, budget: int, *, temperature: float = 1.0, rescale: bool = False) -> Selection:
    """Segments between the swings of relevance share the budget by importance; in each, its best frame, then MMR.

    Input: relevance and frame vectors. Cost: O(N) for the wavelet, one pass of MMR over each segment.
    temperature: of the softmax that shares the budget. rescale: min–max the relevance first, for scores in a narrow
    band such as cosines; by default they are taken as they are. Every other constant is the paper's, named above.

    Differs: constant relevance, and videos too short for the wavelet, count as having no peaks (half uniform, half best
    scores), because rounding noise would cut them; of equal peaks too close together the earlier stays, because
    SciPy's choice depends on the machine; should importance drop every segment, all stay.
    """
    temperature = check_positive("temperature", temperature)
    scores = settle(min_max(evidence.relevance) if rescale else evidence.relevance)
    size, count = min(budget, len(evidence)), len(evidence)
    peaks: list[int] = []
    kept: list[tuple[int, int, int]] = []
    if size == count:
        chosen = list(range(count))
    elif not (peaks := boundaries(scores)):
        chosen = next_best(Ranking(scores), evenly_spaced(count, size // 2).tolist() if size > 1 else [], size)
    else:
        kept = share_out(scores, [0, *peaks, count], size, temperature)
        chosen = []
        for start, stop, share in kept:
            part = evidence.vectors.part(start, stop)
            picked = fill_by_mmr(2 * scores[start:stop] - 1, part, (), size=share, weight=MMR_WEIGHT).members
            chosen += [start + index for index in picked]
        chosen = fill_by_mmr(2 * scores - 1, evidence.vectors, chosen, size=size, weight=MMR_WEIGHT).members
    options = {"temperature": temperature, "rescale": rescale}
    selection = selection_of(evidence, budget, "wfs-sb", chosen, "context", options)
    segments = [{"first": a, "last": b - 1, "frames": share} for a, b, share in kept]
    return with_trace(selection, peaks=peaks, segments=segments)


def boundaries(scores: Array) -> list[int]:
    """Peaks of the coarsest wavelet detail: where relevance swings, ascending."""
    swing = np.abs(coarsest_detail(scores))
    if swing.max() - swing.min() <= TIE:
        return []
    swing = settle(swing)
    signal = _import("scipy.signal")
    peaks, _ = signal.find_peaks(swing, height=swing.mean() + HEIGHT * swing.std())
    peaks = thin_out(peaks, swing, max(LEAST_DISTANCE, DISTANCE_SHARE * len(swing)))
    prominences = signal.peak_prominences(swing, peaks)[0]
    clear: list[int] = peaks[prominences >= PROMINENCE_SHARE * (swing.max() - swing.min())].tolist()
    return clear


def coarsest_detail(scores: Array) -> Array:
    """(N,) the signal rebuilt from the coarsest detail alone; zeros when it is too short for one."""
    pywt = _import("pywt")
    most = pywt.dwt_max_level(len(scores), WAVELET)
    level = min(max(math.floor(math.log2(len(scores)) - 3), 1), most)
    if level < 1:
        return np.zeros(len(scores))
    parts = pywt.wavedec(scores, WAVELET, mode="symmetric", level=level)
    alone = [part if k == 1 else np.zeros_like(part) for k, part in enumerate(parts)]
    rebuilt: Array = pywt.waverec(alone, WAVELET, mode="symmetric")[: len(scores)]
    return rebuilt


def thin_out(peaks: Array, heights: Array, distance: float) -> Array:
    """The peaks that no higher one within less than `distance` frames removes; of equals the earlier stays."""
    keep = np.ones(len(peaks), dtype=bool)
    for k in np.argsort(-heights[peaks], kind="stable"):
        if keep[k]:
            keep &= np.abs(peaks - peaks[k]) >= math.ceil(distance)
            keep[k] = True
    return peaks[keep]


def share_out(scores: Array, edges: list[int], size: int, temperature: float) -> list[tuple[int, int, int]]:
    """(start, stop, frames) of every segment that gets any; never more than it has."""
    spans = list(itertools.pairwise(edges))
    spread = scores.var()
    parts = [scores[a:b] for a, b in spans]
    traits = [(len(p) / len(scores), p.mean(), p.max(), p.var() / spread if spread > TIE else 0.0) for p in parts]
    importance = settle(np.array(traits) @ np.array(IMPORTANCE))
    if len(spans) > ALWAYS_KEPT:
        least = max(LEAST_IMPORTANCE, importance.mean() - DROP_STD * importance.std())
        keep = importance >= least - TIE
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
    "segments between the swings of relevance, diverse frames in each",
    paper="Chen et al., CVPR 2026",
    needs=("vectors", "peers"),
)
