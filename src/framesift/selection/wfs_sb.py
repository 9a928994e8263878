"""WFS-SB: split the video at semantic boundaries, share the budget by segment importance, stay diverse in each segment.

Chen et al., "Wavelet-based Frame Selection by Detecting Semantic Boundary for Long Video Understanding", CVPR 2026.
PyWavelets computes the wavelet transform, SciPy finds the peaks.
"""

import itertools
import math

import numpy as np

from framesift._utils.requirements import require
from framesift.selection.baselines import evenly_spaced
from framesift.selection.gcr.cover import fill_by_mmr
from framesift.selection.scores import largest_remainder, min_max, softmax
from framesift.selection.selector import Finite, Flag, Positive, selector
from framesift.types import CandidateIndex, Evidence, Selection
from framesift.types.vectors import TIE_TOLERANCE, Array

WAVELET, MODE = "db4", "symmetric"
PEAK_HEIGHT = 0.5  # a peak exceeds the mean by at least this many standard deviations
MIN_DISTANCE, DISTANCE_SHARE = 5, 0.02  # frames between peaks: the larger of a number and a share of all
PROMINENCE_SHARE = 0.05  # of the detail's range
LENGTH, MEAN, MAXIMUM, VARIANCE = 0.4, 0.2, 0.3, 0.1  # weights of a segment's importance
NEVER_DROPPED = 3  # with at most this many segments, none is dropped
MIN_IMPORTANCE, DROP_DEVIATIONS = 0.05, 1.2
MMR_WEIGHT = 0.5


@selector(
    "segments between semantic boundaries, diverse frames in each",
    paper="Chen et al., CVPR 2026",
    needs=("vectors", "peers"),
)
def wfs_sb(
    evidence: Evidence,
    budget: int,
    *,
    temperature: Positive = 1.0,
    rescale: Flag = False,
    logit_scale: Positive | None = None,
    logit_bias: Finite = 0.0,
) -> Selection:
    """Segments between relevance boundaries share the budget by importance; MMR selects the frames of each.

    Input: relevance and frame vectors. Cost: O(N) for the wavelet, one pass of MMR over each segment.
    temperature: of the softmax that shares the budget. rescale: min–max normalise the relevance first, for scores in a
    narrow band such as cosines; by default they are used as they are. logit_scale and logit_bias: take
    sigmoid(scale · relevance + bias) for the relevance, as the original does with SigLIP, whose encoder here has both
    numbers as attributes. Every other constant is that of the published command line, named above.

    Differs: constant relevance counts as having no peaks (half uniform, half best scores), because the original splits
    it at rounding noise; of equal scores the earlier frame is taken, because the original's order of equal scores
    depends on the machine.
    """
    scores = evidence.relevance
    if logit_scale is not None:
        scores = np.exp(-np.logaddexp(0.0, -(logit_scale * scores + logit_bias)))
    scores = min_max(scores) if rescale else scores
    size, count = min(budget, len(evidence)), len(evidence)
    peaks, segments = [], []
    if size == count:
        indices = list(range(count))
    elif not (peaks := boundaries(scores)):
        indices = evenly_spaced(count, size // 2, "ends").tolist()
        best = [index for index in np.argsort(-scores, kind="stable").tolist() if index not in indices]
        indices += best[: size - len(indices)]
    else:
        segments = allocate_budget(scores, [0, *peaks, count], size, temperature)
        indices = []
        for start, stop, share in segments:
            part = evidence.vectors[start:stop]
            filled = fill_by_mmr(2 * scores[start:stop] - 1, part, (), size=share, weight=MMR_WEIGHT)
            indices += [start + index for index in filled.selected]
        indices = fill_by_mmr(2 * scores - 1, evidence.vectors, indices, size=size, weight=MMR_WEIGHT).selected
    rows = [{"first": CandidateIndex(a), "last": CandidateIndex(b - 1), "frames": share} for a, b, share in segments]
    return Selection.of(evidence, indices, "context", peaks=list(map(CandidateIndex, peaks)), segments=rows)


def boundaries(scores: Array) -> list[int]:
    """Indices of the peaks of the coarsest wavelet detail, ascending; none for constant scores."""
    if scores.max() - scores.min() <= TIE_TOLERANCE * np.abs(scores).max():
        return []
    detail = np.abs(coarsest_detail(scores))
    peaks, _ = require("scipy.signal", "peers").find_peaks(
        detail,
        height=detail.mean() + PEAK_HEIGHT * detail.std(),
        distance=max(MIN_DISTANCE, int(len(detail) * DISTANCE_SHARE)),
        prominence=PROMINENCE_SHARE * (detail.max() - detail.min()),
    )
    found: list[int] = peaks.tolist()
    return found


def coarsest_detail(scores: Array) -> Array:
    """(N,) the signal reconstructed from the coarsest detail alone."""
    pywt = require("pywt", "peers")
    level = min(math.floor(math.log2(len(scores)) - 3), pywt.dwt_max_level(len(scores), WAVELET))
    if level > 1:
        coefficients = pywt.wavedec(scores, WAVELET, mode=MODE, level=level)
    else:  # a single level of any signal; wavedec would warn about short ones
        coefficients = list(pywt.dwt(scores, WAVELET, mode=MODE))
    coarsest_only = [part if k == 1 else np.zeros_like(part) for k, part in enumerate(coefficients)]
    reconstructed: Array = pywt.waverec(coarsest_only, WAVELET, mode=MODE)[: len(scores)]
    return reconstructed


def allocate_budget(scores: Array, edges: list[int], size: int, temperature: float) -> list[tuple[int, int, int]]:
    """(start, stop, frames) of every segment that gets any; never more frames than it has."""
    spans = list(itertools.pairwise(edges))
    importance = np.array([_importance(scores[a:b], scores) for a, b in spans])
    if len(spans) > NEVER_DROPPED:
        keep = importance >= max(MIN_IMPORTANCE, importance.mean() - DROP_DEVIATIONS * importance.std())
        if keep.any():
            spans = [span for span, stays in zip(spans, keep, strict=True) if stays]
            importance = importance[keep]
    shares = largest_remainder(softmax(importance, temperature), size)
    return [(a, b, min(share, b - a)) for (a, b), share in zip(spans, shares, strict=True) if share]


def _importance(part: Array, scores: Array) -> float:
    relative_variance = part.var() / (scores.var() + 1e-8)
    value = LENGTH * (len(part) / len(scores)) + MEAN * part.mean() + MAXIMUM * part.max()
    return float(value + VARIANCE * relative_variance)
