"""Reference implementation of GCR: loops, float64, no optimisations. The package must select the same frames.

Two numbers within TIE_TOLERANCE are a tie, and a tie goes to the earlier one; nothing else is shared with the package.
"""

import math
from itertools import pairwise
from typing import Any

TIE_TOLERANCE = 2.0**-40


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def unit(v):
    peak = max(abs(x) for x in v)
    scaled = [x / peak for x in v]
    length = math.sqrt(dot(scaled, scaled))
    return [x / length for x in scaled]


def above(a, b):
    return a - b > TIE_TOLERANCE


def first_best(items, key):
    """The first item that no other beats by more than a tie."""
    top = max(key(item) for item in items)
    return next(item for item in items if not above(top, key(item)))


def ranked(items, key):
    """All items, best first, by picking the first best again and again."""
    left, out = list(items), []
    while left:
        best = first_best(left, key)
        left.remove(best)
        out.append(best)
    return out


def min_max(values):
    low, high = min(values), max(values)
    if not above(high, low):
        return [0.0] * len(values)
    return [(v - low) / (high - low) if above(v, low) else 0.0 for v in values]


def top_mean(values, count):
    best = sorted(values, reverse=True)[:count]
    return sum(best) / len(best)


def rounded(share, budget):
    return math.floor(share * budget + 0.5 + 1e-9)


class Reference:
    def __init__(self, times, duration, frames, query, events, event_vectors, demand, budget, **options):
        self.options: dict[str, Any] = {
            "alpha_ground": 0.25,
            "alpha_visual": 0.125,
            "alpha_refine": 0.125,
            "gate": 0.1,
            "mmr_weight": 0.5,
            "top_mean": 2,
            "visual_gap_s": 0.0,
            "without": "",
        } | options
        self.times, self.duration = times, duration
        self.frames = [unit(f) for f in frames]
        query = unit(query)
        self.n, self.budget = len(frames), budget
        self.s = [dot(f, query) for f in self.frames]
        self.events = events
        self.r_text = [dot(unit(v), query) for v in event_vectors]
        self.demand = demand
        self.kappa = [[dot(a, b) for b in self.frames] for a in self.frames]
        self.swaps = []
        self.ground()
        if self.options["without"] == "cover":
            self.fill_without_cover()
            return
        self.cover()
        self.roles = dict.fromkeys(self.context, "context") | dict.fromkeys(self.visual, "visual")
        self.roles |= dict.fromkeys(self.anchors, "ground")
        if self.n > budget and self.options["without"] != "refine":
            self.refine()

    def candidates(self, event):
        start, end = event
        inside = [i for i in range(self.n) if start <= self.times[i] <= end]
        middle = (start + end) / 2
        return inside or [min(range(self.n), key=lambda i: abs(self.times[i] - middle))]

    def ground(self):
        share = self.options["alpha_ground"]
        size = min(rounded(share, self.budget), self.budget, self.n)
        self.anchors: dict[int, int] = {}  # frame → event
        if not self.events or self.options["without"] == "ground":
            return
        sets = [self.candidates(e) for e in self.events]
        text = min_max(self.r_text)
        visual = min_max([top_mean([self.s[i] for i in f], self.options["top_mean"]) for f in sets])
        score = [(1 - self.demand) * t + self.demand * v for t, v in zip(text, visual, strict=True)]
        by_start = sorted(range(len(self.events)), key=lambda e: self.events[e][0])
        for e in ranked(by_start, lambda e: score[e]):
            if len(self.anchors) == size:
                break
            free = [i for i in sets[e] if i not in self.anchors]
            if free:
                self.anchors[first_best(free, lambda i: self.s[i])] = e

    def cover(self):
        size = min(self.budget, self.n)
        most = min(rounded(self.options["alpha_visual"], self.budget), size - len(self.anchors))
        self.visual: list[int] = []
        for i in ranked(range(self.n), lambda i: self.s[i]):
            gap = self.options["visual_gap_s"]
            apart = all(abs(self.times[i] - self.times[j]) >= gap - TIE_TOLERANCE for j in self.visual)
            if len(self.visual) < most and i not in self.anchors and apart:
                self.visual.append(i)
        chosen = [*self.anchors, *self.visual]
        weight = self.options["mmr_weight"]
        self.context = []
        while len(chosen) < size:
            pick = first_best(
                [i for i in range(self.n) if i not in chosen],
                lambda i: (
                    weight * self.s[i] - (1 - weight) * (max(self.kappa[i][z] for z in chosen) if chosen else 0.0)
                ),
            )
            chosen.append(pick)
            self.context.append(pick)
        self.initial = sorted(chosen)

    def fill_without_cover(self):
        size = min(self.budget, self.n)
        self.roles = dict.fromkeys(self.anchors, "ground")
        if self.n > self.budget:
            self.initial = sorted(self.anchors)
            regions = self.regions()
            rows = [self.region_row(g) for g in regions]
            scaled = list(zip(*(min_max([r[d] for r in rows]) for d in range(3)), strict=True))
            for g in ranked(range(len(regions)), lambda g: sum(scaled[g]) / 3):
                if len(self.roles) < size:
                    self.roles[self.middle(regions[g])] = "refined"
        free = [i for i in range(self.n) if i not in self.roles]
        left = size - len(self.roles)
        # The middle of each of `left` equal bins of what is free.
        self.roles |= {free[(2 * k + 1) * len(free) // (2 * left)]: "context" for k in range(left)}

    def region_row(self, g):
        closest = max((self.kappa[f][z] for f in g for z in self.initial), default=0.0)
        change = [1 - self.kappa[a][b] for a, b in pairwise(g)]
        rel = top_mean([self.s[f] for f in g], self.options["top_mean"])
        return rel, 1 - closest, sum(change) / len(change) if change else 0.0

    def regions(self):
        runs, run = [], []
        for i in range(self.n + 1):
            if i < self.n and i not in self.initial:
                run.append(i)
            elif run:
                runs.append(run)
                run = []
        return runs

    def refine(self):
        regions = self.regions()
        largest = 0.0
        for g in regions:
            left = self.times[g[0] - 1] if g[0] > 0 else 0.0
            right = self.times[g[-1] + 1] if g[-1] + 1 < self.n else self.duration
            largest = max(largest, right - left)
        most = rounded(self.options["alpha_refine"], self.budget)
        if largest / self.duration < self.options["gate"] - TIE_TOLERANCE or not self.context or most == 0:
            return
        rows = [self.region_row(g) for g in regions]
        for c in self.context:
            others = [self.kappa[c][z] for z in self.initial if z != c]
            around = [1 - self.kappa[c][i] for i in (c - 1, c + 1) if 0 <= i < self.n]
            rows.append((self.s[c], 1 - (max(others) if others else 0.0), sum(around) / len(around)))
        scaled = list(zip(*(min_max([r[d] for r in rows]) for d in range(3)), strict=True))
        value = [sum(r) / 3 for r in scaled]
        context_value = dict(zip(self.context, value[len(regions) :], strict=True))
        left = sorted(self.context)
        for g in ranked(range(len(regions)), lambda g: value[g]):
            if len(self.swaps) == most or not left:
                break
            weakest = first_best(left, lambda c: -context_value[c])
            if not above(value[g], context_value[weakest]):
                break
            if not all(x > 0 for x in scaled[g]):
                continue
            left.remove(weakest)
            middle = self.middle(regions[g])
            self.swaps.append((weakest, middle, value[g] - context_value[weakest]))
            del self.roles[weakest]
            self.roles[middle] = "refined"

    def middle(self, region):
        mean = [sum(self.frames[f][d] for f in region) / len(region) for d in range(len(self.frames[0]))]
        length = math.sqrt(dot(mean, mean))
        if length <= TIE_TOLERANCE:
            return region[0]
        mean = [x / length for x in mean]
        return first_best(region, lambda f: dot(self.frames[f], mean))
