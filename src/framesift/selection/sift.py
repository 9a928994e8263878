"""Sift: the words and the frames that match the question, spread over time, as many of each as stand out.

One rule chooses both. Greedily, x maximises

    score(x) − weight · exp(−(seconds from x to the nearest one chosen before) / 8)

with scores scaled to [0, 1] per video. Events come first, and one that repeats a chosen one is worth less; how far the
best of them stands out from the video's text decides their share of the budget. Frames fill the rest, where those
chosen for their words weigh less; near-duplicates of a chosen frame come last. benchmarks/results/sift.md gives the
measurement behind every constant.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from framesift._utils.text import counted
from framesift.selection.gcr.ground import ANCHORED, NO_FREE_FRAME, NOT_REACHED, event_frame_ranges
from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import Amount, Finite, Flag, Positive, Share, check_fields, check_number, selector
from framesift.selection.spread import Choice, DuplicateFilter, Repetition, Spread
from framesift.selection.trace import ContextRow, CoverTrace, GroundTrace, SiftEventRow, event_columns, rows_of
from framesift.types import CandidateIndex, Evidence, Role, Selection
from framesift.types.selection import make_slots
from framesift.types.vectors import TIE_TOLERANCE, Array

UNRELATED_PERCENTILE = 10.0  # of the events' scores: taken as that of a text unrelated to the question
COMPARED = 8  # leading events compared at once with those chosen
STOP_LEVEL = 0.5  # of the value at which `stop` ends, half of the best score
RISE = 0.01  # of that level, for each one chosen: the more there are, the less another one adds
COVERAGE = 4  # frames when `stop` finds nothing that stands out
CARRIED_FLOOR = 0.25  # as `floor`, for text that takes no frame of its own
CARRIED = "on a frame selected for its picture"
BELOW_FLOOR = "does not stand out"


@dataclass(frozen=True)
class SiftConfig:
    """The options of sift.

    width_s: of the temporal kernel. frame_weight, event_weight: of nearness in time against the score; 0 for none.
    words_weight: of a frame's nearness to one chosen for its words, which may show something else. repeat_weight: of
    what an event's text repeats of one chosen before. duplicate: where near-duplicates begin, as a share of the way
    from the mean cosine of this video's frames to 1; 1 for no such rule. lexical: weight of shared words beside the
    cosine. beside: of the better score of the events before and after, by nearness in time. low, high: how far the best
    of E events stands out when events get none of the budget, and when they get max_share of it; chance · log2(1 + E)
    is added to both. floor: events that stand out less than this share of what the best one does get no frame of their
    own. carry: whether frames selected for their picture show the words of an event they lie in. stop: whether to stop
    below the budget when nothing that is left stands out; near and repeated ones count less.
    """

    width_s: Positive = 8.0
    frame_weight: Amount = 2.0
    event_weight: Amount = 0.5
    words_weight: Amount = 0.5
    repeat_weight: Amount = 0.4
    duplicate: Share = 0.75
    lexical: Amount = 0.6
    beside: Amount = 0.4
    chance: Amount = 0.02
    low: Finite = 0.15
    high: Finite = 0.25
    max_share: Share = 0.75
    floor: Share = 0.33
    carry: Flag = True
    stop: Flag = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_number("high", self.high, low=self.low)

    def share(self, stand_out: float, events: int) -> float:
        """The events' share of the budget: 0 up to `low`, growing evenly to max_share at `high`.

        The best of more events stands out farther by chance.
        """
        distance = stand_out - self.chance * math.log2(1 + events)
        if distance >= self.high:
            return self.max_share
        return self.max_share * max(distance - self.low, 0.0) / max(self.high - self.low, TIE_TOLERANCE)


@selector(
    "words and frames that match the question, spread over time",
    needs=("vectors", "events", "words"),
    config=SiftConfig,
    gives_text=True,
)
def sift(evidence: Evidence, budget: int, *, config: SiftConfig) -> Selection:
    """Select the events and the frames that match the question, spread over time.

    visual_demand is not used: the scores decide how much of the budget words get. Cost: O(budget · (N + E)), and
    cosines of the leading candidates only. Ties go to the earlier frame, and to the event that starts earlier.
    """
    size = min(budget, len(evidence))
    relevance = min_max(evidence.relevance)
    match = match_events(evidence, config)
    share = config.share(match.stand_out, len(match.score))
    quota = min(int(share * budget + TIE_TOLERANCE), size)
    words = choose_events(evidence, match, config, size=quota)
    if config.stop and words:
        size = min(size, max(int(len(words) / share + TIE_TOLERANCE), len(words) + 1))
    pictures = choose_frames(evidence, relevance, list(words), config, size=size)
    shown = {index: choice.item for index, choice in words.items()}
    if config.carry:
        shown |= carried_events(match, shown.values(), list(pictures), first=budget)
    # a visual match is nearer to the best frame of the video than to its median, the rest is context
    level = (1.0 + float(np.median(relevance))) / 2
    visual = [index for index in pictures if relevance[index] > level]
    roles: dict[int, Role] = dict.fromkeys(pictures, "context")
    roles |= dict.fromkeys(visual, "visual")
    roles |= dict.fromkeys(words, "ground")
    carried = {index: evidence.events[event] for index, event in shown.items()}
    context = [choice for index, choice in pictures.items() if index not in visual]
    trace = {
        "quotas": {"ground": quota},
        "ground": GroundTrace(
            evidence.events_outside,
            _event_rows(evidence, match, config, words, shown),
            stand_out=match.stand_out,
            share=share,
        ),
        "cover": CoverTrace(list(map(CandidateIndex, visual)), _context_rows(context)),
    }
    if config.stop:
        trace["stopped"] = _why_stopped(len(roles), budget, words=bool(words), matching=bool(words or relevance.any()))
    return Selection(make_slots(evidence, roles, carried), "", 0, trace)


@dataclass(frozen=True)
class EventMatch:
    """How well each event's text matches the question.

    score (E,): cosine, shared words and context, scaled to [0, 1]; middle_s (E,) the time of each; priority (E,) its
    place by start, of equal ones by position; order (E,) best first, of equal ones by priority; lo, hi (E,) the range
    of each event's frames. distance (E,): how far it is from a text unrelated to the question, which is 0 away, towards
    one of the same meaning, which is 1 away; stand_out: that of the best one.
    """

    score: Array
    middle_s: Array
    priority: Array
    order: Array
    lo: Array
    hi: Array
    stand_out: float
    distance: Array

    def stands_out(self, floor: float) -> Array:
        """(E,) bool: whether an event is at least this share as far as the best one."""
        above: Array = self.distance >= floor * self.stand_out - TIE_TOLERANCE
        return above


def match_events(evidence: Evidence, config: SiftConfig) -> EventMatch:
    """Score every event's text against the question: its cosine, and `lexical` times the words they share.

    A cosine counts from that of an unrelated text, so that an encoder for which all texts are alike gives the same
    scores as one for which they are not. What answers is often said beside what names the subject, as a reply: the
    better neighbour's score counts too.
    """
    start_s, end_s = evidence.event_times_s.T
    lo, hi = event_frame_ranges(evidence.times_s, start_s, end_s)
    count, middle_s = len(start_s), (start_s + end_s) / 2
    by_start = np.lexsort((np.arange(count), start_s))
    raw, distance, stand_out = np.zeros(count), np.zeros(count), 0.0
    if count:
        unrelated = float(np.percentile(evidence.event_relevance, UNRELATED_PERCENTILE))
        raw = (evidence.event_relevance - unrelated) / max(1.0 - unrelated, TIE_TOLERANCE)
        raw = raw + config.lexical * evidence.event_lexical
        above, beside = np.maximum(raw[by_start], 0.0), np.zeros(count)
        nearness = np.exp(-np.abs(np.diff(middle_s[by_start])) / config.width_s)
        beside[1:] = above[:-1] * nearness
        beside[:-1] = np.maximum(beside[:-1], above[1:] * nearness)
        raw[by_start] += config.beside * beside
        distance = raw - np.percentile(raw, UNRELATED_PERCENTILE)
        stand_out = float(distance.max())
    score = min_max(raw)
    priority = np.argsort(by_start)
    order = np.lexsort((priority, -score))
    return EventMatch(score, middle_s, priority, order, lo, hi, stand_out, distance)


def choose_events(evidence: Evidence, match: EventMatch, config: SiftConfig, *, size: int) -> dict[int, Choice]:
    """Choose up to `size` events that stand out, each with its most relevant free frame: frame index → choice.

    An answer is given over several sentences: beside a chosen one, the next sentence is worth less than another
    passage, and so is one that says the same.
    """
    ranking, count = Ranking(evidence.relevance), len(evidence)
    spread = Spread(
        match.score, match.middle_s, weight=config.event_weight, width_s=config.width_s, priority=match.priority
    )
    spread.remove(np.flatnonzero(~match.stands_out(config.floor)))
    repetition = None
    if config.repeat_weight and evidence.event_vectors is not None:
        repetition = Repetition(evidence.event_vectors)
    free = np.ones(count, dtype=bool)
    chosen: dict[int, Choice] = {}
    while len(chosen) < size and (event := spread.best()) is not None:
        if repetition is not None and not repetition.is_cleared(event):
            leading = spread.leading(COMPARED)
            spread.repeat(leading, config.repeat_weight * repetition.compare(leading))
            continue
        if config.stop and not _stands_out(spread.value[event], len(chosen)):
            break
        frames = slice(match.lo[event], match.hi[event])
        rank = int(np.where(free[frames], ranking.rank[frames], count).min())
        if rank == count:
            spread.remove(event)
            continue
        index = int(ranking.order[rank])
        free[index] = False
        chosen[index] = spread.choose(event)
        if repetition is not None:
            repetition.choose(event)
    return chosen


def choose_frames(
    evidence: Evidence, score: Array, taken: Sequence[int], config: SiftConfig, *, size: int
) -> dict[int, Choice]:
    """Choose frames until there are `size` with those taken: frame index → choice.

    A near-duplicate, whose cosine with a chosen frame is above the threshold, waits until no other frame is left.
    """
    spread = Spread(score, evidence.times_s, weight=config.frame_weight, width_s=config.width_s)
    for index in taken:
        spread.choose(index, config.words_weight)
    duplicates = None
    if config.duplicate < 1:
        mean = evidence.vectors.mean_cosine
        duplicates = DuplicateFilter(evidence.vectors, taken, mean + config.duplicate * (1.0 - mean))
    chosen: dict[int, Choice] = {}
    if config.stop and not taken and not score.any():
        size = min(size, COVERAGE)
    while len(taken) + len(chosen) < size:
        best = spread.best()
        if config.stop and score.any() and (best is None or not _stands_out(spread.value[best], len(chosen))):
            break
        if best is None and duplicates is not None:
            spread.restore(np.array(sorted(duplicates.found)))
            duplicates = None
        elif best is not None and duplicates is not None and not duplicates.is_cleared(best):
            leading = spread.leading(duplicates.batch)
            spread.remove(duplicates.find(leading, spread.nearest[leading]))
        elif best is not None:
            chosen[best] = spread.choose(best)
            if duplicates is not None:
                duplicates.choose(best)
    return chosen


def carried_events(match: EventMatch, used: Iterable[int], pictures: Sequence[int], *, first: int) -> dict[int, int]:
    """Frame index → event: for frames inside some of the `first` best events, the best that no frame shows yet."""
    shown = set(used)
    best = match.order[:first]
    best = best[match.stands_out(CARRIED_FLOOR)[best]]
    carried = {}
    for index in pictures:
        inside = best[(match.lo[best] <= index) & (index < match.hi[best])].tolist()
        event = next((event for event in inside if event not in shown), None)
        if event is not None:
            carried[index] = event
            shown.add(event)
    return carried


def _stands_out(value: float, chosen: int) -> bool:
    return value >= STOP_LEVEL + RISE * chosen - TIE_TOLERANCE


def _why_stopped(count: int, budget: int, *, words: bool, matching: bool) -> str:
    """Why there are that many frames, in one sentence."""
    if count == budget:
        return f"Stopped at {counted(count, 'frame')}, the most."
    if not matching:
        return f"Nothing stands out: {counted(count, 'frame')} spread over the video."
    return f"Stopped at {counted(count, 'frame')}: no other {'text' if words else 'frame'} stands out."


def _context_rows(choices: Sequence[Choice]) -> Any:
    """The rows of context frames, as of GCR; their redundancy is nearness in time."""
    return rows_of(
        ContextRow,
        [CandidateIndex(choice.item) for choice in choices],
        [choice.value for choice in choices],
        [choice.nearness for choice in choices],
        [None if choice.nearest is None else CandidateIndex(choice.nearest) for choice in choices],
    )


def _event_rows(
    evidence: Evidence, match: EventMatch, config: SiftConfig, words: Mapping[int, Choice], shown: Mapping[int, int]
) -> Any:
    """One row of the trace per event. shown: frame index → event whose text it carries."""
    frame_of = {event: CandidateIndex(index) for index, event in shown.items()}
    outcomes = []
    ranges = zip(match.stands_out(config.floor).tolist(), match.lo.tolist(), match.hi.tolist(), strict=True)
    for k, (stands_out, lo, hi) in enumerate(ranges):
        if k in frame_of:
            outcomes.append(ANCHORED if frame_of[k] in words else CARRIED)
        elif all(index in words for index in range(lo, hi)):
            outcomes.append(NO_FREE_FRAME)
        else:
            outcomes.append(NOT_REACHED if stands_out else BELOW_FLOOR)
    numbers = evidence.event_relevance.tolist(), match.score.tolist()
    indices = map(frame_of.get, range(len(outcomes)))
    return rows_of(SiftEventRow, *event_columns(evidence), *numbers, outcomes, indices, evidence.event_lexical.tolist())
