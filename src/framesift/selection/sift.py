"""Sift: the words and the frames that match the question, spread over time, as many of each as stand out.

One rule chooses both. Greedily, x maximises

    score(x) − weight · exp(−(seconds from x to the nearest one chosen before) / 8)

with scores scaled to [0, 1] per video. Events come first: how far the best of them stands out from the video's text
decides their share of the budget. Frames fill the rest, where those chosen for their words weigh less; near-duplicates
of a chosen frame come last. docs/sift.md gives the measurement behind every constant.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from framesift.errors import OptionError
from framesift.selection.event_match import EventMatch, match_events
from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import Selector
from framesift.selection.sift_trace import VISUAL_LEVEL, context_row, event_rows, reasons
from framesift.selection.spread import Choice, DuplicateFilter, Spread
from framesift.selection.validation import check_number, check_options, check_positive
from framesift.types import CandidateIndex, Evidence, Role, Selection, Slot
from framesift.types.vectors import TIE_TOLERANCE, Array, UnitRows


@dataclass(frozen=True)
class SiftConfig:
    """The options of sift.

    width_s: of the temporal kernel. frame_weight, event_weight: of nearness in time against the score; 0 for none.
    words_weight: of a frame's nearness to one chosen for its words, which may show something else.
    duplicate: where near-duplicates begin, as a share of the way from the mean cosine of this video's frames to 1; 1
    for no such rule. lexical: weight of shared words beside the cosine. low, high: how far the best event stands out
    when events get none of the budget, and when they get max_share of it. floor: events that stand out less than this
    share of what the best one does get no frame of their own. carry: whether frames selected for their
    picture show the words of an event they lie in.
    """

    width_s: float = 8.0
    frame_weight: float = 2.0
    event_weight: float = 1.0
    words_weight: float = 0.5
    duplicate: float = 0.75
    lexical: float = 0.3
    low: float = 0.25
    high: float = 0.4
    max_share: float = 0.75
    floor: float = 0.2
    carry: bool = True

    def __post_init__(self) -> None:
        check_positive("width_s", self.width_s)
        for name in ("frame_weight", "event_weight", "words_weight", "lexical"):
            check_number(name, getattr(self, name), low=0)
        for name in ("duplicate", "max_share", "floor"):
            check_number(name, getattr(self, name), low=0, high=1)
        check_number("high", self.high, low=check_number("low", self.low))
        if not isinstance(self.carry, bool):
            raise OptionError(f"carry is {self.carry!r}; expected true or false")

    def share(self, stand_out: float) -> float:
        """The events' share of the budget: 0 up to `low`, growing evenly to max_share at `high`."""
        if stand_out >= self.high:
            return self.max_share
        return self.max_share * max(stand_out - self.low, 0.0) / (self.high - self.low)


def sift(evidence: Evidence, budget: int, **options: Any) -> Selection:
    """Select the events and the frames that match the question, spread over time.

    options: any field of `SiftConfig`. visual_demand is not used: the scores decide how much of the budget words get.
    Cost: O(budget · (N + E)), and cosines of the leading candidates only. Ties go to the earlier frame, and to the
    event that starts earlier.
    """
    check_options("sift", options, DEFAULTS)
    config = SiftConfig(**options)
    size = min(budget, len(evidence))
    relevance = min_max(evidence.relevance)
    match = match_events(evidence, lexical=config.lexical, floor=config.floor)
    share = config.share(match.stand_out)
    quota = min(int(share * budget + TIE_TOLERANCE), size)
    words = choose_events(evidence, match, size=quota, weight=config.event_weight, width_s=config.width_s)
    mean = evidence.vectors.mean_cosine
    pictures, duplicates = choose_frames(
        relevance,
        evidence.times_s,
        list(words),
        size=size,
        weight=config.frame_weight,
        taken_weight=config.words_weight,
        width_s=config.width_s,
        vectors=evidence.vectors if config.duplicate < 1 else None,
        threshold=mean + config.duplicate * (1.0 - mean),
    )
    shown = {index: choice.item for index, choice in words.items()}
    if config.carry:
        shown |= carried_events(match, shown.values(), list(pictures), first=budget)
    visual = [index for index in pictures if relevance[index] >= VISUAL_LEVEL]
    roles: dict[int, Role] = dict.fromkeys(pictures, "context")
    roles |= dict.fromkeys(visual, "visual")
    roles |= dict.fromkeys(words, "ground")
    slots = tuple(
        Slot(
            index,
            float(evidence.times_s[index]),
            role,
            float(evidence.relevance[index]),
            evidence.events[shown[index]] if index in shown else None,
        )
        for index, role in roles.items()
    )
    trace = {
        "quotas": {"ground": quota},
        "ground": {
            "stand_out": match.stand_out,
            "share": share,
            "events_outside": evidence.events_outside,
            "events": event_rows(evidence, match, words, shown),
        },
        "cover": {
            "visual": list(map(CandidateIndex, visual)),
            "context": [context_row(choice) for index, choice in pictures.items() if index not in visual],
        },
        "reasons": reasons(match, words, pictures, duplicates, shown, quota=quota),
    }
    return Selection(slots, "", 0, trace)


def choose_events(
    evidence: Evidence, match: EventMatch, *, size: int, weight: float, width_s: float
) -> dict[int, Choice]:
    """Choose up to `size` events that stand out, each with its most relevant free frame: frame index → choice.

    An answer is given over several sentences: beside a chosen one, the next sentence is worth less than another
    passage.
    """
    ranking, count = Ranking(evidence.relevance), len(evidence)
    start_s, end_s = evidence.event_times_s.T
    priority = np.empty(len(start_s), dtype=np.int64)
    priority[np.lexsort((np.arange(len(start_s)), start_s))] = np.arange(len(start_s))
    spread = Spread(match.score, (start_s + end_s) / 2, weight=weight, width_s=width_s, priority=priority)
    spread.remove(np.flatnonzero(~match.stands_out))
    free = np.ones(count, dtype=bool)
    chosen: dict[int, Choice] = {}
    while len(chosen) < size and (event := spread.best()) is not None:
        frames = slice(match.lo[event], match.hi[event])
        rank = int(np.where(free[frames], ranking.rank[frames], count).min())
        if rank == count:
            spread.remove(event)
            continue
        index = int(ranking.order[rank])
        free[index] = False
        chosen[index] = spread.choose(event)
    return chosen


def choose_frames(
    score: Array,
    times_s: Array,
    taken: Sequence[int],
    *,
    size: int,
    weight: float,
    taken_weight: float,
    width_s: float,
    vectors: UnitRows | None,
    threshold: float,
) -> tuple[dict[int, Choice], set[int]]:
    """Choose frames until there are `size` with those taken: frame index → choice, and the near-duplicates.

    A frame whose cosine with a chosen one is above the threshold waits until no other is left; without vectors, there
    is no such rule.
    """
    spread = Spread(score, times_s, weight=weight, width_s=width_s)
    for index in taken:
        spread.choose(index, taken_weight)
    duplicates = None if vectors is None else DuplicateFilter(vectors, taken, threshold)
    chosen: dict[int, Choice] = {}
    held_back: set[int] = set()
    while len(taken) + len(chosen) < size:
        best = spread.best()
        if best is None and duplicates is not None:
            held_back, duplicates = set(duplicates.found), None
            spread.restore(np.array(sorted(held_back)))
        elif best is not None and duplicates is not None and not duplicates.is_cleared(best):
            leading = spread.leading(duplicates.batch)
            spread.remove(duplicates.find(leading, spread.nearest[leading]))
        elif best is not None:
            chosen[best] = spread.choose(best)
            if duplicates is not None:
                duplicates.choose(best)
    return chosen, held_back & chosen.keys()


def carried_events(match: EventMatch, used: Iterable[int], pictures: Sequence[int], *, first: int) -> dict[int, int]:
    """Frame index → event: for frames inside some of the `first` best events, the best that no frame shows yet."""
    shown = set(used)
    best = match.order[:first]
    best = best[match.stands_out[best]]
    carried: dict[int, int] = {}
    for index in pictures:
        inside = best[(match.lo[best] <= index) & (index < match.hi[best])].tolist()
        event = next((event for event in inside if event not in shown), None)
        if event is not None:
            carried[index] = event
            shown.add(event)
    return carried


DEFAULTS = asdict(SiftConfig())
SELECTOR = Selector(
    "sift",
    sift,
    "words and frames that match the question, spread over time",
    DEFAULTS,
    needs=("vectors", "events", "words"),
    gives_text=True,
)
