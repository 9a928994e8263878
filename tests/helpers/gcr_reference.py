"""Reference implementation of GCR: loops, float64, no optimisations. The package must select the same frames.

Two numbers within TIE_TOLERANCE are a tie, and a tie goes to the earlier one; nothing else is shared with the package.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np

TIE_TOLERANCE = 2.0**-40
DEFAULTS: dict[str, Any] = {
    "alpha_ground": 0.25, "alpha_visual": 0.125, "alpha_refine": 0.125, "gate": 0.1, "mmr_weight": 0.5, "top_mean": 2,
    "visual_gap_s": 0.0, "without": "",
}  # fmt: skip


def unit(rows):
    rows = np.asarray(rows, dtype=float)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


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
    return np.mean(sorted(values, reverse=True)[:count])


def rounded(share, budget):
    return math.floor(share * budget + 0.5 + 1e-9)


def frames_of(times, start, end):
    """The frames inside an event, or the one nearest to its middle."""
    inside = [i for i, time in enumerate(times) if start <= time <= end]
    return inside or [min(range(len(times)), key=lambda i: (abs(times[i] - (start + end) / 2), i))]


class Reference:
    def __init__(self, times, duration, frames, query, events, event_vectors, demand, budget, **options):
        self.options = DEFAULTS | options
        self.times, self.duration, self.events, self.demand = times, duration, events, demand
        self.n, self.budget, self.size = len(frames), budget, min(budget, len(frames))
        self.frames, query = unit(frames), unit(query)
        self.s, self.kappa, self.r_text = self.frames @ query, self.frames @ self.frames.T, unit(event_vectors) @ query
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

    def ground(self):
        quota = min(rounded(self.options["alpha_ground"], self.budget), self.size)
        self.anchors: dict[int, int] = {}  # frame → event
        if not self.events or self.options["without"] == "ground":
            return
        sets = [frames_of(self.times, *event) for event in self.events]
        visual = min_max([top_mean(self.s[inside], self.options["top_mean"]) for inside in sets])
        text = min_max(self.r_text.tolist())
        score = [(1 - self.demand) * t + self.demand * v for t, v in zip(text, visual, strict=True)]
        by_start = sorted(range(len(self.events)), key=lambda e: self.events[e][0])
        for e in ranked(by_start, lambda e: score[e]):
            free = [i for i in sets[e] if i not in self.anchors]
            if free and len(self.anchors) < quota:
                self.anchors[first_best(free, lambda i: self.s[i])] = e

    def cover(self):
        most = min(rounded(self.options["alpha_visual"], self.budget), self.size - len(self.anchors))
        self.visual: list[int] = []
        gap, weight = self.options["visual_gap_s"], self.options["mmr_weight"]
        for i in ranked(range(self.n), lambda i: self.s[i]):
            apart = all(abs(self.times[i] - self.times[j]) >= gap - TIE_TOLERANCE for j in self.visual)
            if len(self.visual) < most and i not in self.anchors and apart:
                self.visual.append(i)
        chosen, self.context = [*self.anchors, *self.visual], []
        while len(chosen) < self.size:
            closest = self.kappa[:, chosen].max(axis=1) if chosen else np.zeros(self.n)
            value = weight * self.s - (1 - weight) * closest
            chosen.append(first_best([i for i in range(self.n) if i not in chosen], value.__getitem__))
            self.context.append(chosen[-1])
        self.initial = sorted(chosen)

    def fill_without_cover(self):
        self.roles = dict.fromkeys(self.anchors, "ground")
        if self.n > self.budget:
            self.initial = sorted(self.anchors)
            regions = self.regions()
            value = np.sum(self.scaled([self.region_row(g) for g in regions]), axis=1)
            for g in ranked(range(len(regions)), value.__getitem__):
                if len(self.roles) < self.size:
                    self.roles[self.middle(regions[g])] = "refined"
        free = [i for i in range(self.n) if i not in self.roles]
        left = self.size - len(self.roles)
        # The middle of each of `left` equal bins of what is free.
        self.roles |= {free[(2 * k + 1) * len(free) // (2 * left)]: "context" for k in range(left)}

    def region_row(self, g):
        closest = self.kappa[np.ix_(g, self.initial)].max(initial=-1.0) if self.initial else 0.0
        change = [1 - self.kappa[a, b] for a, b in pairwise(g)]
        return top_mean(self.s[g], self.options["top_mean"]), 1 - closest, np.mean(change) if change else 0.0

    def context_row(self, c):
        closest = max((self.kappa[c, z] for z in self.initial if z != c), default=0.0)
        return self.s[c], 1 - closest, np.mean([1 - self.kappa[c, i] for i in (c - 1, c + 1) if 0 <= i < self.n])

    @staticmethod
    def scaled(rows):
        return np.array([min_max(column) for column in zip(*rows, strict=True)]).T

    def regions(self):
        edges = [-1, *self.initial, self.n]
        return [list(range(a + 1, b)) for a, b in pairwise(edges) if b - a > 1]

    def refine(self):
        times = [0.0, *self.times, self.duration]  # of a region, from the frame before it to the one after
        largest = max((times[g[-1] + 2] - times[g[0]] for g in self.regions()), default=0.0)
        most = rounded(self.options["alpha_refine"], self.budget)
        if largest / self.duration < self.options["gate"] - TIE_TOLERANCE or not self.context or most == 0:
            return
        regions, left = self.regions(), sorted(self.context)
        scaled = self.scaled([*map(self.region_row, regions), *map(self.context_row, self.context)])
        value = scaled.sum(axis=1) / 3
        context_value = dict(zip(self.context, value[len(regions) :], strict=True))
        for g in ranked(range(len(regions)), value.__getitem__):
            if len(self.swaps) == most or not left:
                break
            weakest = first_best(left, lambda c: -context_value[c])
            if not above(value[g], context_value[weakest]):
                break
            if (scaled[g] > 0).all():
                left.remove(weakest)
                middle = self.middle(regions[g])
                self.swaps.append((weakest, middle, value[g] - context_value[weakest]))
                del self.roles[weakest]
                self.roles[middle] = "refined"

    def middle(self, region):
        mean = self.frames[region].mean(axis=0)
        if np.linalg.norm(mean) <= TIE_TOLERANCE:
            return region[0]
        return first_best(region, (self.frames @ unit(mean)).__getitem__)
