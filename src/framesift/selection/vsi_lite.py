"""VSI-lite: VSI's fusion of subtitles and frames, with relevance in place of its object detector.

He et al., "VSI: Visual-Subtitle Integration for Keyframe Selection to Enhance Long Video Understanding", CVPR 2026
Findings.
`vsi` is the complete method; this is the half that needs no detector.
"""

from collections.abc import Iterable

import numpy as np

from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import Amount, Share, selector
from framesift.types import Event, Evidence, Selection
from framesift.types.vectors import Array, merge_ties

# Of an event's cosine with the question: at or below the first it counts 0, the part above the second counts twice,
# and the sum at most the third.
DROP_THRESHOLD = 0.2
BOOST_THRESHOLD = 0.5
MOST = 1.0


@selector(
    "relevance and subtitles fused, VSI without its detector", paper="He et al., CVPR 2026 Findings", needs=("events",)
)
def vsi_lite(evidence: Evidence, budget: int, *, weight: Share = 0.4, reach_s: Amount = 2.0) -> Selection:
    """Select the largest of (1 − weight)·relevance + weight·subtitles, each min–max normalised.

    Input: relevance of frames and of events (the paper's is a sentence encoder's: `event_encoder="minilm"`).
    Cost: O(N log N + E). weight: of the subtitles. reach_s: seconds before and after an event that it scores.
    A frame within an event's reach carries the event that scored it highest.

    Differs: relevance replaces the detector's scores, and without a detector there is no search loop.
    """
    subtitle_scores, event_of = score_by_subtitles(evidence, reach_s=reach_s)
    fused = (1 - weight) * min_max(evidence.relevance) + weight * min_max(subtitle_scores)
    indices = Ranking(merge_ties(fused)).order[:budget]
    return Selection.of(evidence, indices, carried=events_of_frames(evidence, event_of, indices))


def score_by_subtitles(evidence: Evidence, *, reach_s: float) -> tuple[Array, Array]:
    """(N,) the subtitle score of each frame, and (N,) the position of the event that gives it, −1 for none.

    An event's strength (see `event_strength`) is spread over [start − reach, end + reach], cut off at the ends of the
    video, by a Gaussian around its middle, with two standard deviations at the ends. Where events overlap, the largest
    value counts; of equal ones the earlier start, then the earlier event.
    """
    strength = event_strength(evidence.event_relevance)
    start_s, end_s = evidence.event_times_s.T
    from_s = np.maximum(start_s - reach_s, evidence.start_s)
    to_s = np.minimum(end_s + reach_s, evidence.duration_s)
    first = np.searchsorted(evidence.times_s, from_s, side="left").tolist()
    after = np.searchsorted(evidence.times_s, to_s, side="right").tolist()
    middle_s, half_s = (from_s + to_s) / 2, (to_s - from_s) / 2
    # An event without duration and reach scores the frame at its time alone.
    decay = np.where(half_s > 0, -2.0 / np.where(half_s > 0, half_s, 1.0) ** 2, 0.0)
    scores, event_of = np.zeros(len(evidence)), np.full(len(evidence), -1)
    for e in np.lexsort((np.arange(len(strength)), start_s)).tolist():
        if strength[e] == 0 or first[e] == after[e]:
            continue
        reach = slice(first[e], after[e])
        values = strength[e] * np.exp(decay[e] * (evidence.times_s[reach] - middle_s[e]) ** 2)
        larger = values > scores[reach]
        scores[reach][larger], event_of[reach][larger] = values[larger], e
    return scores, event_of


def resample_subtitle_scores(evidence: Evidence, fps: float, *, reach_s: float) -> Array:
    """(N,) the subtitle scores as VSI's code computes them: for each frame of the video at `fps`, then interpolated.

    Windows begin and end at whole frames. The interpolation stretches: candidate k of N is at k / (N − 1) of the video,
    so that scores come up to a candidate's distance early towards the end.
    """
    count = max(1, round(evidence.length_s * fps))
    scores = np.zeros(count)
    strength = event_strength(evidence.event_relevance)
    event_times_s = evidence.event_times_s - evidence.start_s
    for (start_s, end_s), value in zip(event_times_s.tolist(), strength.tolist(), strict=True):
        first, after = max(0, int((start_s - reach_s) * fps)), min(count, int((end_s + reach_s) * fps))
        if value > 0 and after > first:
            distance, deviation = np.arange(first, after) - (first + after) // 2, (after - first) / 4
            spread = value * np.exp(-(distance**2) / (2 * deviation**2))
            scores[first:after] = np.maximum(scores[first:after], spread)
    if count == len(evidence):
        return scores
    return np.interp(np.linspace(0, count - 1, len(evidence)), np.arange(count), scores)


def event_strength(cosine: Array) -> Array:
    """(E,) the cosine with the question: 0 at or below 0.2, the part above 0.5 counted twice, at most 1."""
    doubled = np.where(cosine > BOOST_THRESHOLD, BOOST_THRESHOLD + (cosine - BOOST_THRESHOLD) * 2, cosine)
    return np.where(cosine > DROP_THRESHOLD, np.minimum(doubled, MOST), 0.0)


def events_of_frames(evidence: Evidence, event_of: Array, indices: Iterable[int]) -> dict[int, Event]:
    """Frame index → event, for those of the indices that have one."""
    return {index: evidence.events[event_of[index]] for index in indices if event_of[index] >= 0}
