"""Reference implementation of VSI's subtitle score."""

import math
from bisect import bisect_left, bisect_right


def reference_subtitle_scores(evidence, reach=2.0):
    scores, times = [0.0] * len(evidence), evidence.times_s.tolist()
    for event, cosine in zip(evidence.events, evidence.event_relevance.tolist(), strict=True):
        if cosine <= 0.2:
            continue
        strength = cosine if cosine <= 0.5 else 0.5 + 2 * (cosine - 0.5)
        middle, half = (event.start_s + event.end_s) / 2, (event.end_s - event.start_s) / 2 + reach
        for i in range(bisect_left(times, event.start_s - reach), bisect_right(times, event.end_s + reach)):
            value = strength * math.exp(-((times[i] - middle) ** 2) / (2 * (half / 2) ** 2))
            scores[i] = max(scores[i], value)
    return scores
