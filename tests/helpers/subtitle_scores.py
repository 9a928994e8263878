"""Reference implementation of VSI's subtitle score."""

import math
from bisect import bisect_left, bisect_right


def reference_subtitle_scores(evidence, reach=2.0):
    scores, times = [0.0] * len(evidence), evidence.times_s.tolist()
    for event, cosine in zip(evidence.events, evidence.event_relevance.tolist(), strict=True):
        if cosine <= 0.2:
            continue
        strength = min(1.0, cosine if cosine <= 0.5 else 0.5 + 2 * (cosine - 0.5))
        first, last = max(0.0, event.start_s - reach), min(evidence.duration_s, event.end_s + reach)
        middle, half = (first + last) / 2, (last - first) / 2
        for i in range(bisect_left(times, first), bisect_right(times, last)):
            value = strength * math.exp(-((times[i] - middle) ** 2) / (2 * (half / 2) ** 2))
            scores[i] = max(scores[i], value)
    return scores


def reference_scores_at(evidence, fps, reach=2.0):
    """The same per frame of the video, windows of whole frames, then read at N points from the first to the last."""
    count = round(evidence.duration_s * fps)
    scores = [0.0] * count
    for event, cosine in zip(evidence.events, evidence.event_relevance.tolist(), strict=True):
        strength = min(1.0, cosine if cosine <= 0.5 else 0.5 + 2 * (cosine - 0.5))
        first, after = max(0, int((event.start_s - reach) * fps)), min(count, int((event.end_s + reach) * fps))
        for f in range(first, after):
            value = strength * math.exp(-((f - (first + after) // 2) ** 2) / (2 * ((after - first) / 4) ** 2))
            scores[f] = max(scores[f], value if strength > 0.2 else 0.0)
    out = []
    for i in range(len(evidence)):
        place = i * (count - 1) / (len(evidence) - 1)
        low = min(int(place), count - 2)
        out.append(scores[low] + (scores[low + 1] - scores[low]) * (place - low))
    return out
