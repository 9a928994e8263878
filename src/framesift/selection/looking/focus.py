"""FOCUS: score a few frames of every arm, then more in the arms with the best bounds; most frames are never scored.

Zhu et al., "FOCUS: Efficient Keyframe Selection for Long Video Understanding", ICLR 2026.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from framesift.selection.looking.access import Access
from framesift.selection.scores import softmax
from framesift.selection.selector import Positive, Seed, Share, selector
from framesift.types import Array, CandidateIndex, Evidence, Lookup, Selection

MIN_ARMS = 8
EXTRA_SAMPLES = 2  # random frames of each arm in addition to its centre
MIN_VARIANCE = 1e-6
OPENED_SHARE, MIN_OPENED, MAX_SHARING = 1 / 4, 4, 32
FINE_STEP_S = 1.0  # seconds per frame scored in an opened arm
EVEN_SHARE = 0.5  # of the frames scored in an opened arm; the others are random
MAX_GAP_S, GAP_SHARE, MIN_SPACING_S = 1.0, 0.25, 0.2  # frames of the arms keep a distance, a share of their spacing


@dataclass
class Arm:
    """A segment of the video: its candidates, the scores of its first samples, and the bound on its mean."""

    frames: range
    scores: dict[int, float]
    bound: float

    @property
    def centre(self) -> int:
        return (self.frames[0] + self.frames[-1]) // 2


@selector("score few frames, then more in the best segments", paper="Zhu et al., ICLR 2026")
def focus(
    evidence: Evidence,
    budget: int,
    *,
    lookup: Lookup,
    arm_s: Positive = 16.0,
    global_share: Share = 0.2,
    temperature: Positive = 0.06,
    seed: Seed = 0,
) -> Selection:
    """A bandit over segments of the video, by an upper confidence bound on the mean relevance of each.

    Input: relevance, or frames that score themselves (`Lookup.frames`).
    Cost: about 3 scores per arm and arm_s per opened arm, not N.
    arm_s: seconds per arm; short videos get 8 shorter ones. Each arm's centre and 2 random frames give the bound
    mean + √(2 ln n · var/k) + 3 ln n / k, with k frames of the arm and n of all. The best quarter of the arms, at least
    4, is scored about once per second. global_share: of the budget for the best of all scored frames. The rest is
    shared evenly among the best quarter of the arms, 4 to 32, and drawn in each by softmax(score / temperature), where
    a frame has the score of the nearest of its arm's first 3. seed: of all draws, or the generator to take them from.

    Differs: frames and their rate are those of the candidates; the draws are seeded; missing frames are the next best
    of all scored, for which further arms are scored in order of their bound, because the budget must be filled.
    """
    rng = np.random.default_rng(seed)
    size, access = min(budget, len(evidence)), Access(evidence, lookup)
    count, seconds = len(evidence), float(evidence.times_s[-1] - evidence.times_s[0])
    rate = (count - 1) / seconds if seconds else 1.0  # candidates per second
    duration_s = count / rate
    wanted_arms = max(MIN_ARMS, math.ceil(duration_s / arm_s))  # rounding the length of an arm down can give more
    arm_length = max(1, count // wanted_arms)
    arms = sample_arms(access, count, count // arm_length, rng)
    by_bound = sorted(arms, key=lambda arm: -arm.bound)
    most_opened = max(MIN_OPENED, math.ceil(OPENED_SHARE * len(arms)))
    opened, sharing = by_bound[:most_opened], by_bound[: min(most_opened, MAX_SHARING)]
    # Candidates on either side of an opened arm's centre among which frames are scored, and per frame that is.
    half_window = max(1, round(max(1 / rate, duration_s / wanted_arms / 2) * rate))
    fine_step = min(max(1, round(FINE_STEP_S * rate)), arm_length)
    windows = [range(max(0, arm.centre - half_window), min(count, arm.centre + half_window + 1)) for arm in opened]
    access.scores(fine_samples(windows, fine_step, access.known, rng))
    selected = _best_first(access.known)[: round(global_share * min(size, len(access.known)))]
    spacing_s = duration_s / size
    gap = 0 if spacing_s <= MIN_SPACING_S else round(min(GAP_SHARE * spacing_s, MAX_GAP_S) * rate)
    selected += draw_from_arms(sharing, selected, size, gap=gap, temperature=temperature, rng=rng)
    selected += next_best(access, selected, size, by_bound, count)
    spans = sorted([CandidateIndex(arm.frames[0]), CandidateIndex(arm.frames[-1])] for arm in opened)
    return access.select(selected, scores=access.known, arms=len(arms), opened=spans)


def sample_arms(access: Access, count: int, number: int, rng: np.random.Generator) -> list[Arm]:
    """The arms in order of time, with the scores of their centre and random frames, and their bounds.

    They are of equal length; the candidates left over at the end of the video are in none.
    """
    length = count // number
    arms = [Arm(range(k * length, (k + 1) * length), {}, 0.0) for k in range(number)]
    samples = []
    for arm in arms:
        others = [index for index in arm.frames if index != arm.centre]
        samples.append([arm.centre, *_draw(rng, others, EXTRA_SAMPLES)])
    values = access.scores([index for chosen in samples for index in chosen])
    for arm, chosen in zip(arms, samples, strict=True):
        arm.scores = {index: values[index] for index in chosen}
        arm.bound = confidence_bound(list(arm.scores.values()), len(values))
    return arms


def confidence_bound(scores: list[float], total: int) -> float:
    """The upper confidence bound on the mean of an arm with these of `total` scores."""
    variance = max(float(np.var(scores)), MIN_VARIANCE)
    deviation = math.sqrt(2 * math.log(total) * variance / len(scores))
    return float(np.mean(scores)) + deviation + 3 * math.log(total) / len(scores)


def fine_samples(windows: list[range], step: int, known: Collection[int], rng: np.random.Generator) -> list[int]:
    """The frames to score next, ascending: in windows around the opened arms, half of them evenly spaced."""
    samples = set()
    for window in windows:
        wanted = max(1, len(window) // step)
        even = round(EVEN_SHARE * wanted)
        spacing = len(window) / even if even else 0.0
        samples.update({window[int(k * spacing + spacing / 2)] for k in range(even)}.difference(known))
        free = [index for index in window if index not in known and index not in samples]
        samples.update(_draw(rng, free, wanted - even))
    return sorted(samples)


def draw_from_arms(
    arms: list[Arm],
    selected: Collection[int],
    size: int,
    *,
    gap: int,
    temperature: float,
    rng: np.random.Generator,
) -> list[int]:
    """Frames of the arms, evenly shared, until `size` are selected; fewer where an arm has too few."""
    taken = set(selected)
    drawn = []
    share, left_over = divmod(size - len(selected), len(arms))
    for rank, arm in enumerate(arms):
        wanted = share + (rank < left_over)
        free = [index for index in arm.frames if index not in taken]
        far = [index for index in free if all(abs(index - other) >= gap for other in taken)] if gap else free
        if wanted and free:
            chances = softmax(nearest_scores(arm, far or free), temperature)
            picks = _draw(rng, far or free, wanted, chances)
            taken.update(picks)
            drawn += picks
    return drawn


def nearest_scores(arm: Arm, indices: list[int]) -> Array:
    """(K,) the score of the sampled frame nearest to each index, of two the one sampled first; from 0 to 1."""
    sampled, scores = np.array(list(arm.scores)), np.array(list(arm.scores.values()))
    values = scores.clip(0.0, 1.0)[np.abs(sampled - np.array(indices)[:, None]).argmin(axis=1)]
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.ones(len(values))


def next_best(access: Access, selected: Collection[int], size: int, arms: list[Arm], count: int) -> list[int]:
    """The best frames to fill the selection up to `size`: scored ones, then also those of arm after arm."""
    missing, taken = size - len(selected), set(selected)
    free = {index: score for index, score in access.known.items() if index not in taken}
    last = max(arm.frames[-1] for arm in arms)
    for frames in (*(arm.frames for arm in arms), range(last + 1, count)):
        if len(free) >= missing:
            break
        free |= access.scores([index for index in frames if index not in free and index not in taken])
    return _best_first(free)[:missing]


def _best_first(scores: dict[int, float]) -> list[int]:
    """Equal scores keep their order."""
    return sorted(scores, key=lambda index: -scores[index])


def _draw(rng: np.random.Generator, indices: list[int], size: int, chances: Array | None = None) -> list[int]:
    """Up to `size` of the indices without replacement; no draw is made for none."""
    size = min(size, len(indices))
    return [indices[k] for k in rng.choice(len(indices), size, replace=False, p=chances)] if size else []
