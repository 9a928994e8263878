"""FOCUS: score a few frames of every stretch, then more where the best may be; most frames are never scored.

Zhu et al., "FOCUS: Efficient Keyframe Selection for Long Video Understanding", 2025.
"""

import math
from dataclasses import dataclass

import numpy as np

from framesift.selection.frame_access import Look
from framesift.selection.ranking import Ranking
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_trace
from framesift.selection.sampling import largest_remainder, softmax
from framesift.selection.validation import check_number, check_positive, check_whole
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array, settle

LEAST_ARMS = 8
FIRST_DRAWS = 2  # random frames of each arm beside its centre
OPENED_SHARE, LEAST_OPENED, MOST_SHARING = 1 / 4, 4, 32


@dataclass
class Arm:
    """A stretch of the video: its candidates first ≤ index < after, and those scored so far."""

    first: int
    after: int
    scored: list[int]

    def unscored(self) -> list[int]:
        known = set(self.scored)
        return [index for index in range(self.first, self.after) if index not in known]


def focus(
    evidence: Evidence,
    budget: int,
    *,
    arm_s: float = 16.0,
    global_share: float = 0.2,
    temperature: float = 0.06,
    seed: int = 0,
) -> Selection:
    """A bandit over stretches of the video, by an optimistic bound on each one's mean relevance.

    Input: relevance, asked for as needed. Cost: about 3 scores per arm and arm_s per opened arm, not N.
    arm_s: seconds of an arm; short videos get 8 shorter ones. Each arm's centre and 2 random frames give
    mean + √(2 ln N · var/n) + 3 ln N / n. The best quarter of the arms, at least 4, is scored once a second.
    global_share: of the budget for the best frames of all; the rest is shared by softmax(mean / temperature) among the
    opened arms, at most 32, and each gives its best. seed: of the random frames.

    Differs: the draws are seeded; when fewer frames are scored than the budget wants, further arms are scored whole in
    order of their bound, because a budget must be met.
    """
    arm_s, temperature = check_positive("arm_s", arm_s), check_positive("temperature", temperature)
    global_share, seed = check_number("global_share", global_share, low=0, high=1), check_whole("seed", seed)
    size, look = min(budget, len(evidence)), Look(evidence)
    arms = first_look(cut(evidence.times_s, evidence.duration_s, arm_s), np.random.default_rng(seed))
    values = _score(look, [index for arm in arms for index in arm.scored])
    order = Ranking(bounds(arms, values, len(evidence))).order.tolist()
    opened = sorted(order[: max(LEAST_OPENED, math.floor(OPENED_SHARE * len(arms)))])
    for k in opened:
        arms[k].scored += _once_a_second(arms[k], evidence.times_s)
    values |= _score(look, [index for k in opened for index in arms[k].scored])
    for k in order:
        if len(values) >= size:
            break
        arms[k].scored += arms[k].unscored()
        values |= _score(look, arms[k].scored)
    chosen = spend([arms[k] for k in opened], values, size, math.floor(global_share * size + 0.5), temperature)
    options = {"arm_s": arm_s, "global_share": global_share, "temperature": temperature, "seed": seed}
    selection = selection_of(evidence, budget, "focus", chosen, "visual", options, look=look)
    return with_trace(selection, arms=len(arms), opened=[[arms[k].first, arms[k].after - 1] for k in opened])


def cut(times_s: Array, duration_s: float, arm_s: float) -> list[Arm]:
    """Arms of `arm_s` seconds, or of an eighth of a short video; stretches without a candidate are none."""
    number = np.floor(times_s / min(arm_s, duration_s / LEAST_ARMS)).astype(int)
    starts = np.flatnonzero(np.diff(number, prepend=-1)).tolist()
    return [Arm(a, b, []) for a, b in zip(starts, [*starts[1:], len(times_s)], strict=True)]


def first_look(arms: list[Arm], rng: np.random.Generator) -> list[Arm]:
    """Note each arm's centre and the other frames with the smallest of one random number per candidate."""
    keys = rng.random(arms[-1].after)
    for arm in arms:
        centre = (arm.first + arm.after - 1) // 2
        others = [index for index in range(arm.first, arm.after) if index != centre]
        arm.scored = [centre, *sorted(others, key=lambda index: float(keys[index]))[:FIRST_DRAWS]]
    return arms


def bounds(arms: list[Arm], values: dict[int, float], count: int) -> Array:
    """(A,) the optimistic bound on each arm's mean."""
    out = []
    for arm in arms:
        known = np.array([values[index] for index in arm.scored])
        spread = math.sqrt(2 * math.log(count) * known.var() / len(known))
        out.append(known.mean() + spread + 3 * math.log(count) / len(known))
    return settle(out)


def spend(opened: list[Arm], values: dict[int, float], size: int, best: int, temperature: float) -> list[int]:
    """The `best` frames of all that are scored, then the arms' own by their shares, then the next best of all."""
    indices = sorted(values)
    settled = settle([values[index] for index in indices])
    ranked = [indices[k] for k in Ranking(settled).order]
    chosen = ranked[:best]
    means = settle([np.mean([values[index] for index in arm.scored]) for arm in opened])
    sharing = sorted(Ranking(means).order[:MOST_SHARING].tolist())
    shares = largest_remainder(softmax(means[sharing], temperature), size - best)
    for k, share in zip(sharing, shares, strict=True):
        own = set(opened[k].scored) - set(chosen)
        chosen += [index for index in ranked if index in own][:share]
    taken = set(chosen)
    return [*chosen, *(index for index in ranked if index not in taken)][:size]


def _once_a_second(arm: Arm, times_s: Array) -> list[int]:
    """The first candidate of every second of the arm, those already scored left out."""
    seconds = np.floor(times_s[arm.first : arm.after])
    firsts = arm.first + np.flatnonzero(np.diff(seconds, prepend=-1.0))
    return [index for index in firsts.tolist() if index not in arm.scored]


def _score(look: Look, indices: list[int]) -> dict[int, float]:
    return dict(zip(indices, look.scores(indices).tolist(), strict=True))


SELECTOR = Selector.of("focus", focus, "score few frames, then more where the best may be", paper="Zhu et al., 2025")
