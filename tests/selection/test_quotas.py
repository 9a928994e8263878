"""QCA and adaptive greedy against slow references and recorded selections."""

import math

import numpy as np
import pytest

import framesift as fs
from framesift.selection.baselines import evenly_spaced
from helpers.gcr_reference import first_best, min_max
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


def soft(values, temperature):
    powers = np.exp(np.array(values) / temperature)
    return powers / powers.sum()


def reference_quotas(frames, relevance, budget, parts=16):
    """The published rule, step by step."""
    n = len(frames)
    borders = [
        (k * (n // parts) + min(k, n % parts), (k + 1) * (n // parts) + min(k + 1, n % parts)) for k in range(parts)
    ]
    inside = [frames[a:b] for a, b in borders]
    far = [((frames.mean(axis=0) - rows.mean(axis=0)) ** 2).sum() for rows in inside]
    spread = [((rows - rows.mean(axis=0)) ** 2).sum() / (len(rows) - 1) if len(rows) > 1 else 0.0 for rows in inside]
    score = [relevance[a:b].mean() for a, b in borders]
    shares = 0.5 * soft(soft(far, 0.5) + soft(spread, 0.5), 0.5) + 0.5 * soft(score, 1.0)
    size = min(budget, (n // parts) * parts)
    exact = (shares / shares.sum() * size).tolist()
    quotas = [math.floor(e) for e in exact]
    for k in sorted(range(parts), key=lambda k: quotas[k] - exact[k])[: size - sum(quotas)]:
        quotas[k] += quotas[k] < n // parts
    return quotas


def test_qca_quotas_match_the_reference():
    for seed in range(20):
        evidence = shot_evidence(160 + seed, seed)
        quotas = reference_quotas(np.asarray(evidence.frames, dtype=float), evidence.relevance, 32)
        assert fs.select_frames(evidence, budget=32, method="qca").trace["quotas"] == quotas


def reference_greedy(evidence, budget, weight):
    frames, scaled = np.asarray(evidence.frames, dtype=float), np.array(min_max(evidence.relevance.tolist()))
    cosine, chosen = np.maximum(frames @ frames.T, 0), []

    def value(frames):
        return weight * scaled[frames].sum() / budget + (1 - weight) * cosine[:, frames].max(axis=1).mean()

    while len(chosen) < budget:
        free = [i for i in range(len(frames)) if i not in chosen]
        chosen.append(first_best(free, lambda i: value([*chosen, i])))
    return chosen


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_adaptive_greedy_maximises_relevance_and_coverage(weight):
    for seed in range(4):
        evidence = shot_evidence(24, seed)
        expected = reference_greedy(evidence, 6, weight)
        selection = fs.select_frames(evidence, budget=6, method="adaptive-greedy", weight=weight)
        assert selection.trace["picked"] == expected


def test_a_long_video_is_reduced_to_the_pool_and_filled_beyond_it():
    assert evenly_spaced(10, 4, "ends").tolist() == [0, 3, 6, 9]
    evidence = shot_evidence(50, 5)
    selection = fs.select_frames(evidence, budget=12, method="adaptive-greedy", pool=8)
    assert set(evenly_spaced(50, 8, "ends").tolist()) <= set(selection.indices)
    assert len(selection) == 12
