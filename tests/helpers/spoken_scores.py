"""VSI's text score, written literally."""

import math
from bisect import bisect_left, bisect_right


def literal_said(evidence, reach=2.0):
    said, times = [0.0] * len(evidence), evidence.times_s.tolist()
    for event, cosine in zip(evidence.events, evidence.event_relevance.tolist(), strict=True):
        if cosine <= 0.2:
            continue
        strength = cosine if cosine <= 0.5 else 0.5 + 2 * (cosine - 0.5)
        middle, half = (event.start_s + event.end_s) / 2, (event.end_s - event.start_s) / 2 + reach
        for i in range(bisect_left(times, event.start_s - reach), bisect_right(times, event.end_s + reach)):
            said[i] = max(said[i], strength * math.exp(-((times[i] - middle) ** 2) / (2 * (half / 2) ** 2)))
    return said
