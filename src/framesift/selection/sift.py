"""Sift: the words and the frames that match the question, spread over time, as many of each as stand out.

One rule chooses both. Greedily, x maximises

    score(x) − weight · exp(−(seconds from x to the nearest one chosen before) / 8)

with scores scaled to [0, 1] per video. Events come first: how far the best of them stands out from the video's text
decides their share of the budget. Frames fill the rest; near-duplicates of a chosen frame come last. docs/sift.md
gives the measurement behind every constant.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from framesift._utils.text import duration_text, ordinal, quoted
from framesift.errors import OptionError
from framesift.selection.gcr.ground import ANCHORED, NO_FREE_FRAME, NOT_REACHED, event_frame_ranges
from framesift.selection.result_builders import all_selected_note
from framesift.selection.scores import Ranking, min_max
from framesift.selection.selector import Selector
from framesift.selection.spread import DuplicateFilter, Spread
from framesift.selection.validation import check_number, check_options, check_positive
from framesift.types import Evidence, Role, Selection, Slot
from framesift.types.vectors import TIE_TOLERANCE, Array, UnitRows

UNRELATED_PERCENTILE = 10.0  # of the events' scores: taken as that of a text unrelated to the question
VISUAL_LEVEL = 0.5  # scaled relevance from which a frame is a visual match, below it context
CARRIED = "on a frame selected for its picture"
BELOW_FLOOR = "does not stand out"


@dataclass(frozen=True)
class SiftConfig:
    """The options of sift.

    width_s: of the temporal kernel. frame_weight, event_weight: of nearness in time against the score; 0 for none.
    duplicate: where near-duplicates begin, as a share of the way from the mean cosine of this video's frames to 1; 1
    for no such rule. lexical: weight of shared words beside the cosine. low, high: how far the best event stands out
    when events get none of the budget, and when they get max_share of it. floor: events that stand out less than this
    share of what the best one does get no frame of their own. carry: whether frames selected for their
    picture show the words of an event they lie in.
    """

    width_s: float = 8.0
    frame_weight: float = 2.0
    event_weight: float = 1.0
    duplicate: float = 0.75
    lexical: float = 0.3
    low: float = 0.25
    high: float = 0.4
    max_share: float = 0.75
    floor: float = 0.2
    carry: bool = True

    def __post_init__(self) -> None:
        check_positive("width_s", self.width_s)
        for name in ("frame_weight", "event_weight", "lexical"):
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


@dataclass(frozen=True)
class EventMatch:
    """How well each event's text matches the question.

    cosine, lexical (E,) as given; score (E,) both together, scaled to [0, 1]; order (E,) best first, of equal ones the
    earlier start first; lo, hi (E,) the range of each event's frames. stand_out: how far the best one is from a text
    unrelated to the question, which is 0 away, towards one of the same meaning, which is 1 away; strength (E,): how
    far each one is, relative to the best.
    """

    cosine: Array
    lexical: Array
    score: Array
    order: Array
    lo: Array
    hi: Array
    stand_out: float
    strength: Array


@dataclass(frozen=True)
class Choice:
    """One greedy choice: the frame, its event if it was chosen for words, and the numbers that decided.

    value = score − weight · nearness. nearest: the frame chosen before that is nearest in time, distance_s from it.
    """

    index: int
    event: int | None
    score: float
    value: float
    nearness: float
    nearest: int | None
    distance_s: float
    is_duplicate: bool = False


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
    match = match_events(evidence, lexical=config.lexical)
    share = config.share(match.stand_out)
    quota = min(int(share * budget + TIE_TOLERANCE), size)
    words, without_frame = choose_events(
        evidence, match, size=quota, floor=config.floor, weight=config.event_weight, width_s=config.width_s
    )
    mean = evidence.vectors.mean_cosine
    pictures = choose_frames(
        relevance,
        evidence.times_s,
        [choice.index for choice in words],
        size=size,
        weight=config.frame_weight,
        width_s=config.width_s,
        vectors=evidence.vectors if config.duplicate < 1 else None,
        threshold=mean + config.duplicate * (1.0 - mean),
    )
    shown = {choice.index: choice.event for choice in words if choice.event is not None}
    if config.carry:
        shown |= carried_events(match, shown.values(), [choice.index for choice in pictures], first=budget)
    visual = [choice.index for choice in pictures if relevance[choice.index] >= VISUAL_LEVEL]
    roles: dict[int, Role] = {choice.index: "context" for choice in pictures}
    roles |= dict.fromkeys(visual, "visual")
    roles |= dict.fromkeys(shown, "ground")
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
    context = [_context_row(choice) for choice in pictures if choice.index not in visual]
    trace: dict[str, Any] = {
        "candidates": len(evidence),
        "duration_s": evidence.duration_s,
        "options": asdict(config),
        "looked_at": len(evidence),
        "quotas": {"ground": quota},
        "ground": {
            "stand_out": match.stand_out,
            "share": share,
            "events_outside": evidence.events_outside,
            "events": _event_rows(evidence, match, words, without_frame, shown, floor=config.floor),
        },
        "cover": {"visual": visual, "context": context},
        "reasons": _reasons(evidence, match, [*words, *pictures], shown, budget=budget, quota=quota),
    }
    if len(evidence) < budget:
        trace["note"] = all_selected_note(len(evidence), budget)
    return Selection(slots, "sift", budget, trace)


def match_events(evidence: Evidence, *, lexical: float) -> EventMatch:
    """Score every event's text against the question: its cosine, and `lexical` times the words they share.

    A cosine counts from that of an unrelated text, so that an encoder for which all texts are alike gives the same
    scores as one for which they are not.
    """
    start_s, end_s = evidence.event_times_s.T
    lo, hi = event_frame_ranges(evidence.times_s, start_s, end_s)
    count = len(start_s)
    raw, distance, stand_out = np.zeros(count), np.zeros(count), 0.0
    if count:
        unrelated = float(np.percentile(evidence.event_relevance, UNRELATED_PERCENTILE))
        raw = (evidence.event_relevance - unrelated) / max(1.0 - unrelated, TIE_TOLERANCE)
        raw = raw + lexical * evidence.event_lexical
        distance = raw - np.percentile(raw, UNRELATED_PERCENTILE)
        stand_out = float(distance.max())
    score = min_max(raw)
    order = np.lexsort((np.arange(count), start_s, -score))
    strength = distance / max(stand_out, TIE_TOLERANCE)
    return EventMatch(evidence.event_relevance, evidence.event_lexical, score, order, lo, hi, stand_out, strength)


def choose_events(
    evidence: Evidence, match: EventMatch, *, size: int, floor: float, weight: float, width_s: float
) -> tuple[list[Choice], set[int]]:
    """Choose up to `size` events above the floor, each with its most relevant free frame; and those that had none left.

    An answer is given over several sentences: beside a chosen one, the next sentence is worth less than another
    passage.
    """
    ranking, count = Ranking(evidence.relevance), len(evidence)
    start_s, end_s = evidence.event_times_s.T
    by_start = np.lexsort((np.arange(len(start_s)), start_s))
    spread = Spread(match.score[by_start], ((start_s + end_s) / 2)[by_start], weight, width_s)
    spread.remove(np.flatnonzero(match.strength[by_start] < floor - TIE_TOLERANCE))
    free = np.ones(count, dtype=bool)
    chosen: list[Choice] = []
    without_frame: set[int] = set()
    frame_of: dict[int, int] = {}
    while len(chosen) < size and (item := spread.best()) is not None:
        event = int(by_start[item])
        frames = slice(match.lo[event], match.hi[event])
        rank = int(np.where(free[frames], ranking.rank[frames], count).min())
        if rank == count:
            without_frame.add(event)
            spread.remove(item)
            continue
        frame_of[item] = index = int(ranking.order[rank])
        free[index] = False
        chosen.append(_choice(spread, item, index=index, event=event, nearest=frame_of.get(int(spread.nearest[item]))))
        spread.choose(item)
    return chosen, without_frame


def choose_frames(
    score: Array,
    times_s: Array,
    taken: Sequence[int],
    *,
    size: int,
    weight: float,
    width_s: float,
    vectors: UnitRows | None,
    threshold: float,
) -> list[Choice]:
    """Choose frames until there are `size` with those taken.

    Those whose cosine with a chosen frame is above the threshold come when no other is left; without vectors, there is
    no such rule.
    """
    spread = Spread(score, times_s, weight, width_s)
    for index in taken:
        spread.choose(index)
    duplicates = None if vectors is None else DuplicateFilter(vectors, taken, threshold)
    chosen: list[Choice] = []
    held_back: set[int] = set()
    while len(taken) + len(chosen) < size:
        best = spread.best()
        if best is None and duplicates is not None:
            held_back, duplicates = set(duplicates.found), None
            spread.restore(np.array(sorted(held_back)))
        elif best is not None and duplicates is not None and not duplicates.is_cleared(best):
            spread.remove(duplicates.find(spread.leading(duplicates.batch)))
        elif best is not None:
            nearest = int(spread.nearest[best])
            chosen.append(
                _choice(
                    spread,
                    best,
                    index=best,
                    nearest=nearest if nearest >= 0 else None,
                    is_duplicate=best in held_back,
                )
            )
            spread.choose(best)
            if duplicates is not None:
                duplicates.choose(best)
    return chosen


def carried_events(match: EventMatch, used: Iterable[int], pictures: Sequence[int], *, first: int) -> dict[int, int]:
    """Frame index → event: for each frame inside some of the `first` best events, the best that no frame shows yet."""
    shown = set(used)
    best = match.order[:first]
    carried: dict[int, int] = {}
    for index in pictures:
        inside = best[(match.lo[best] <= index) & (index < match.hi[best])].tolist()
        event = next((event for event in inside if event not in shown), None)
        if event is not None:
            carried[index] = event
            shown.add(event)
    return carried


def _choice(
    spread: Spread,
    item: int,
    *,
    index: int,
    nearest: int | None,
    event: int | None = None,
    is_duplicate: bool = False,
) -> Choice:
    return Choice(
        index,
        event,
        float(spread.score[item]),
        float(spread.value[item]),
        spread.nearness(item),
        nearest,
        float(spread.distance_s[item]),
        is_duplicate,
    )


def _context_row(choice: Choice) -> dict[str, Any]:
    return {"index": choice.index, "score": choice.value, "redundancy": choice.nearness, "closest": choice.nearest}


def _event_rows(
    evidence: Evidence,
    match: EventMatch,
    words: Sequence[Choice],
    without_frame: set[int],
    shown: Mapping[int, int],
    *,
    floor: float,
) -> list[dict[str, Any]]:
    """One row per event, as GCR's trace has."""
    anchored = {choice.event for choice in words}
    frame_of = {event: index for index, event in shown.items()}
    rows = []
    for k, (position, event) in enumerate(zip(evidence.event_positions, evidence.events, strict=True)):
        if k in frame_of:
            outcome = ANCHORED if k in anchored else CARRIED
        elif k in without_frame:
            outcome = NO_FREE_FRAME
        else:
            outcome = BELOW_FLOOR if match.strength[k] < floor - TIE_TOLERANCE else NOT_REACHED
        rows.append(
            {
                "position": position,
                "start_s": event.start_s,
                "end_s": event.end_s,
                "text": event.text,
                "text_relevance": float(match.cosine[k]),
                "shared_words": float(match.lexical[k]),
                "score": float(match.score[k]),
                "outcome": outcome,
                "index": frame_of.get(k),
            }
        )
    return rows


def _reasons(
    evidence: Evidence,
    match: EventMatch,
    choices: Sequence[Choice],
    shown: Mapping[int, int],
    *,
    budget: int,
    quota: int,
) -> list[dict[str, Any]]:
    """For each frame in the order chosen, the sentences that say why."""
    rank = {int(event): k for k, event in enumerate(match.order, 1)}
    rows = []
    for choice in choices:
        event = shown.get(choice.index)
        words = ""
        if event is not None:
            words = (
                f"{quoted(evidence.events[event].text)} ranks {ordinal(rank[event])} of {len(rank)} texts for the "
                f"question (cosine {match.cosine[event]:.2f}, shared words {match.lexical[event]:.2f})"
            )
        kind = "text" if choice.event is not None else "frame"
        apart = f", {duration_text(choice.distance_s)} from the nearest {kind} chosen before"
        apart = "" if choice.nearest is None else apart
        if choice.event is not None:
            why = [
                f"Chosen for its words: {words}{apart}.",
                f"The best text stands out by {match.stand_out:.2f}, so words get {quota} of {budget} frames.",
            ]
        else:
            role = "A visual match" if choice.score >= VISUAL_LEVEL else "Context"
            why = [f"{role}: its relevance is {choice.score:.2f} on this video's scale from 0 to 1{apart}."]
            if choice.is_duplicate:
                why.append("It resembles a frame chosen before it; no other candidate was left.")
            if words:
                why.append(f"It shows what is said there: {words}.")
        rows.append({"index": choice.index, "sentences": why})
    return rows


DEFAULTS = asdict(SiftConfig())
SELECTOR = Selector(
    "sift",
    sift,
    "words and frames that match the question, spread over time",
    DEFAULTS,
    needs=("vectors", "events", "words"),
)
