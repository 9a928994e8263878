"""QCA and adaptive greedy against slow references and recorded selections."""

import math

import numpy as np
import pytest

import framesift as fs
from framesift.selection.baselines import evenly_spaced
from helpers.published_cases import shot_evidence

# The selections of the authors' code.
PUBLISHED = """
9 24 40 59 73 102 107 132 151 172 176 192
9 11 13 19 24 29 38 39 40 51 59 61 62 69 73 79 90 93 102 107 114 116 120 129 130 132 141 146 151 152 160 169 170 172 \
176 181 183 188 189 192
"""


def test_qca_selects_what_the_published_code_does():
    for line in PUBLISHED.strip().splitlines():
        frames = list(map(int, line.split()))
        assert fs.select_frames(shot_evidence(200, 1), budget=len(frames), method="qca").indices == frames


def reference_quotas(frames, relevance, budget, parts=16):
    """The published rule, step by step, in plain numbers."""
    n = len(frames)
    borders = [
        (k * (n // parts) + min(k, n % parts), (k + 1) * (n // parts) + min(k + 1, n % parts)) for k in range(parts)
    ]
    mean = [sum(column) / n for column in zip(*frames, strict=True)]
    far, spread, score = [], [], []
    for a, b in borders:
        middle = [sum(row[d] for row in frames[a:b]) / (b - a) for d in range(len(mean))]
        far.append(sum((x - y) ** 2 for x, y in zip(mean, middle, strict=True)))
        squares = sum((row[d] - middle[d]) ** 2 for row in frames[a:b] for d in range(len(mean)))
        spread.append(squares / (b - a - 1) if b - a > 1 else 0.0)
        score.append(sum(relevance[a:b]) / (b - a))
    content = soft([x + y for x, y in zip(soft(far, 0.5), soft(spread, 0.5), strict=True)], 0.5)
    shares = [0.5 * c + 0.5 * s for c, s in zip(content, soft(score, 1.0), strict=True)]
    size = min(budget, (n // parts) * parts)
    exact = [s / sum(shares) * size for s in shares]
    quotas = [math.floor(e) for e in exact]
    for k in sorted(range(parts), key=lambda k: quotas[k] - exact[k])[: size - sum(quotas)]:
        quotas[k] += quotas[k] < n // parts
    return borders, shares, quotas


def soft(values, temperature):
    powers = [math.exp(v / temperature) for v in values]
    return [p / sum(powers) for p in powers]


def test_qca_quotas_match_the_reference():
    for seed in range(20):
        evidence = shot_evidence(160 + seed, seed)
        frames = np.asarray(evidence.frames, dtype=float).tolist()
        _, _, quotas = reference_quotas(frames, evidence.relevance.tolist(), 32)
        assert fs.select_frames(evidence, budget=32, method="qca").trace["quotas"] == quotas


def test_qca_without_positive_relevance_still_fills_the_budget():
    rows = np.random.default_rng(0).standard_normal((40, 4))
    evidence = fs.Evidence(range(40), 40.0, rows, np.ones(4), scores=[-1] * 40)
    assert len(fs.select_frames(evidence, budget=33, method="qca")) == 33


def reference_greedy(relevance, frames, budget, weight):
    n = len(relevance)
    low, high = min(relevance), max(relevance)
    scaled = [(r - low) / (high - low) if high > low else 0.0 for r in relevance]
    cosine = [[max(0.0, sum(a * b for a, b in zip(x, y, strict=True))) for y in frames] for x in frames]

    def value(chosen):
        cover = sum(max((cosine[v][s] for s in chosen), default=0.0) for v in range(n)) / n
        return weight * sum(scaled[s] for s in chosen) / budget + (1 - weight) * cover

    chosen = []
    for _ in range(min(budget, n)):
        free = [i for i in range(n) if i not in chosen]
        best = max(value([*chosen, i]) for i in free)
        chosen.append(next(i for i in free if value([*chosen, i]) >= best - 1e-9))
    return chosen


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_adaptive_greedy_maximises_relevance_and_coverage(weight):
    for seed in range(4):
        evidence = shot_evidence(24, seed)
        expected = reference_greedy(evidence.relevance.tolist(), np.asarray(evidence.frames).tolist(), 6, weight)
        selection = fs.select_frames(evidence, budget=6, method="adaptive-greedy", weight=weight)
        assert selection.trace["picked"] == expected


def test_a_long_video_is_reduced_to_the_pool_and_filled_beyond_it():
    assert evenly_spaced(10, 4, "ends").tolist() == [0, 3, 6, 9]
    evidence = shot_evidence(50, 5)
    selection = fs.select_frames(evidence, budget=12, method="adaptive-greedy", pool=8)
    assert set(evenly_spaced(50, 8, "ends").tolist()) <= set(selection.indices)
    assert len(selection) == 12
