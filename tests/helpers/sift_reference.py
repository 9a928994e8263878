"""sift written out literally: every rule as docs/sift.md states it, in plain Python, without any shortcut."""

import math
from itertools import pairwise

import numpy as np

from helpers.gcr_reference import TIE_TOLERANCE, first_best, frames_of, min_max, ranked, unit


def nearness(time, chosen, width):
    return max((math.exp(-abs(time - other) / width) for other in chosen), default=0.0)


def sift_reference(case, lexical, options):
    """Frame index → role, and frame index → event whose text it shows."""
    times, budget, o = case.times, case.budget, options
    size = min(budget, len(times))
    vectors, texts, query = unit(case.frames), unit(case.event_vectors), unit(case.query)
    between, alike = vectors @ vectors.T, texts @ texts.T
    cosines = (vectors @ query).tolist()
    relevance = min_max(cosines)
    inside_of = [frames_of(times, start, end) for start, end in case.events]
    middles = [(start + end) / 2 for start, end in case.events]
    by_start = sorted(range(len(case.events)), key=lambda k: (case.events[k][0], k))
    score, standing_out, carriable, quota = [], [], [], 0
    if case.events:
        text = (texts @ query).tolist()
        unrelated = np.percentile(text, 10)
        away = [(c - unrelated) / max(1 - unrelated, TIE_TOLERANCE) for c in text]
        away = [a + o["lexical"] * shared for a, shared in zip(away, lexical, strict=True)]
        above = [max(away[k], 0) for k in by_start]
        near = [math.exp(-abs(middles[a] - middles[b]) / o["width_s"]) for a, b in pairwise(by_start)]
        for j, k in enumerate(by_start):
            before = above[j - 1] * near[j - 1] if j else 0.0
            after = above[j + 1] * near[j] if j < len(near) else 0.0
            away[k] += o["beside"] * max(before, after)
        base = np.percentile(away, 10)
        stand_out = max(away) - base
        above_chance = stand_out - o["chance"] * math.log2(1 + len(away))
        growing = o["max_share"] * max(above_chance - o["low"], 0.0) / max(o["high"] - o["low"], TIE_TOLERANCE)
        share = o["max_share"] if above_chance >= o["high"] else growing
        quota = min(math.floor(share * budget + TIE_TOLERANCE), size)
        score = min_max(away)
        standing_out = [k for k in by_start if away[k] - base >= o["floor"] * stand_out - TIE_TOLERANCE]
        carriable = [k for k in by_start if away[k] - base >= 0.25 * stand_out - TIE_TOLERANCE]
    shown: dict[int, int] = {}

    def worth(k):
        near = nearness(middles[k], [middles[z] for z in shown.values()], o["width_s"])
        usual = alike.mean()
        repeated = max(((alike[k, z] - usual) / max(1 - usual, TIE_TOLERANCE) for z in shown.values()), default=0)
        return score[k] - o["event_weight"] * near - o["repeat_weight"] * max(repeated, 0)

    pending = list(standing_out)
    while pending and len(shown) < quota:
        event = first_best(pending, worth)
        if o["stop"] and worth(event) < 0.5 + 0.01 * len(shown) - TIE_TOLERANCE:
            break
        pending.remove(event)
        if free := [i for i in inside_of[event] if i not in shown]:
            shown[first_best(free, lambda i: cosines[i])] = event
    words = list(shown)
    if o["stop"] and words:
        size = min(size, max(math.floor(len(words) / share + TIE_TOLERANCE), len(words) + 1))
    elif o["stop"] and not any(relevance):
        size = min(size, 4)
    chosen = list(words)
    pictures: list[int] = []
    limit = between.mean() + o["duplicate"] * (1 - between.mean()) + TIE_TOLERANCE
    hold_back = o["duplicate"] < 1
    while len(chosen) < size:
        left = [i for i in range(len(times)) if i not in chosen]
        distinct = [i for i in left if all(between[i, z] <= limit for z in chosen)]
        hold_back = hold_back and bool(distinct)
        penalties = [
            max(
                o["frame_weight"] * nearness(time, [times[z] for z in pictures], o["width_s"]),
                o["words_weight"] * nearness(time, [times[z] for z in shown], o["width_s"]),
            )
            for time in times
        ]
        values = [r - penalty for r, penalty in zip(relevance, penalties, strict=True)]
        if o["stop"] and any(relevance) and o["duplicate"] < 1 and not distinct:
            break
        index = first_best(distinct if hold_back else left, values.__getitem__)
        if o["stop"] and any(relevance) and values[index] < 0.5 + 0.01 * len(pictures) - TIE_TOLERANCE:
            break
        chosen.append(index)
        pictures.append(index)
    if o["carry"]:
        best = ranked(by_start, lambda k: score[k])[:budget]
        for index in pictures:
            inside = [k for k in best if k in carriable and index in inside_of[k] and k not in shown.values()]
            shown |= {index: inside[0]} if inside else {}
    level = (1.0 + np.median(relevance)) / 2
    roles = {i: "visual" if relevance[i] > level else "context" for i in pictures} | dict.fromkeys(words, "ground")
    return roles, shown
