"""FOCUS: score a few frames of every arm, then more in the arms with the best bounds; most frames are never scored.

Zhu et al., "FOCUS: Efficient Keyframe Selection for Long Video Understanding", 2025.
"""

import math
from dataclasses import dataclass

import numpy as np

from framesift.selection.frame_access import FrameAccess
from framesift.selection.result_builders import add_to_trace, build_selection
from framesift.selection.sampling import largest_remainder
from framesift.selection.scores import Ranking, softmax
from framesift.selection.selector import Selector
from framesift.selection.validation import check_number, check_positive, check_whole
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array, merge_ties

MIN_ARMS = 8
INITIAL_SAMPLES = 2  # random frames of each arm in addition to its centre
OPENED_SHARE, MIN_OPENED, MAX_SHARING = 1 / 4, 4, 32


@dataclass
class Arm:
    """A segment of the video: its candidates first ≤ index < after, and those scored so far."""

    first: int
    after: int
    scored: list[int]

    def unscored(self) -> list[int]:
        scored = set(self.scored)
        return [index for index in range(self.first, self.after) if index not in scored]


def focus(
    evidence: Evidence,
    budget: int,
    *,
    arm_s: float = 16.0,
    global_share: float = 0.2,
    temperature: float = 0.06,
    seed: int = 0,
) -> Selection:
    """A bandit over segments of the video, by an upper confidence bound on the mean relevance of each.

    Input: relevance, requested as needed. Cost: about 3 scores per arm and arm_s per opened arm, not N.
    arm_s: seconds per arm; short videos get 8 shorter ones. Each arm's centre and 2 random frames give the bound
    mean + √(2 ln N · var/n) + 3 ln N / n. The best quarter of the arms, at least 4, is scored once per second.
    global_share: of the budget for the best frames of all; the rest is shared by softmax(mean / temperature) among the
    opened arms, at most 32, and each gives its best. seed: of the random frames.

    Differs: the samples are seeded; when fewer frames are scored than the budget, further arms are scored completely in
    order of their bound, because the budget must be filled.
    """
    arm_s, temperature = check_positive("arm_s", arm_s), check_positive("temperature", temperature)
    global_share, seed = check_number("global_share", global_share, low=0, high=1), check_whole("seed", seed)
    size, access = min(budget, len(evidence)), FrameAccess(evidence)
    arms = split_into_arms(evidence.times_s, evidence.duration_s, arm_s)
    add_initial_samples(arms, np.random.default_rng(seed))
    values = _score(access, [index for arm in arms for index in arm.scored])
    order = Ranking(confidence_bounds(arms, values, len(evidence))).order.tolist()
    opened = sorted(order[: max(MIN_OPENED, math.floor(OPENED_SHARE * len(arms)))])
    for k in opened:
        arms[k].scored += _once_per_second(arms[k], evidence.times_s)
    values |= _score(access, [index for k in opened for index in arms[k].scored])
    for k in order:
        if len(values) >= size:
            break
        arms[k].scored += arms[k].unscored()
        values |= _score(access, arms[k].scored)
    best_overall = math.floor(global_share * size + 0.5)
    indices = allocate([arms[k] for k in opened], values, size, best_overall, temperature)
    options = {"arm_s": arm_s, "global_share": global_share, "temperature": temperature, "seed": seed}
    selection = build_selection(evidence, budget, "focus", indices, "visual", options, access=access)
    return add_to_trace(selection, arms=len(arms), opened=[[arms[k].first, arms[k].after - 1] for k in opened])


def split_into_arms(times_s: Array, duration_s: float, arm_s: float) -> list[Arm]:
    """Arms of `arm_s` seconds, or of an eighth of a short video; segments without a candidate are left out."""
    number = np.floor(times_s / min(arm_s, duration_s / MIN_ARMS)).astype(int)
    starts = np.flatnonzero(np.diff(number, prepend=-1)).tolist()
    return [Arm(a, b, []) for a, b in zip(starts, [*starts[1:], len(times_s)], strict=True)]


def add_initial_samples(arms: list[Arm], rng: np.random.Generator) -> None:
    """Set each arm's scored frames to its centre and those with the smallest of one random key per candidate."""
    keys = rng.random(arms[-1].after)
    for arm in arms:
        centre = (arm.first + arm.after - 1) // 2
        others = [index for index in range(arm.first, arm.after) if index != centre]
        arm.scored = [centre, *sorted(others, key=lambda index: float(keys[index]))[:INITIAL_SAMPLES]]


def confidence_bounds(arms: list[Arm], values: dict[int, float], count: int) -> Array:
    """(A,) the upper confidence bound on each arm's mean."""
    bounds = []
    for arm in arms:
        scores = np.array([values[index] for index in arm.scored])
        deviation = math.sqrt(2 * math.log(count) * scores.var() / len(scores))
        bounds.append(scores.mean() + deviation + 3 * math.log(count) / len(scores))
    return merge_ties(bounds)


def allocate(
    opened: list[Arm], values: dict[int, float], size: int, best_overall: int, temperature: float
) -> list[int]:
    """The best scored frames overall, then each opened arm's best by its share, then the next best overall."""
    indices = sorted(values)
    ranked = [indices[k] for k in Ranking(merge_ties([values[index] for index in indices])).order]
    selected = ranked[:best_overall]
    means = merge_ties([np.mean([values[index] for index in arm.scored]) for arm in opened])
    sharing = sorted(Ranking(means).order[:MAX_SHARING].tolist())
    shares = largest_remainder(softmax(means[sharing], temperature), size - best_overall)
    for k, share in zip(sharing, shares, strict=True):
        available = set(opened[k].scored) - set(selected)
        selected += [index for index in ranked if index in available][:share]
    taken = set(selected)
    return [*selected, *(index for index in ranked if index not in taken)][:size]


def _once_per_second(arm: Arm, times_s: Array) -> list[int]:
    """The first candidate of every second of the arm, without those already scored."""
    seconds = np.floor(times_s[arm.first : arm.after])
    firsts = arm.first + np.flatnonzero(np.diff(seconds, prepend=-1.0))
    return [index for index in firsts.tolist() if index not in arm.scored]


def _score(access: FrameAccess, indices: list[int]) -> dict[int, float]:
    return dict(zip(indices, access.scores(indices).tolist(), strict=True))


SELECTOR = Selector.of("focus", focus, "score few frames, then more in the best segments", paper="Zhu et al., 2025")
