"""Accuracies with intervals, and paired comparisons on the questions that both methods answered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from framesift.batch.items import group_by
from framesift.batch.results import Result
from framesift.bench.statistics import Interval, difference_interval, holm, mcnemar, share_interval
from framesift.errors import InputError

ALPHA = 0.05
OVERALL = "Overall"
# The order of groups in tables; others follow by name.
GROUP_ORDER = ("Short", "Medium", "Long")

# Fields of a row that decide its frames, besides method, options and budget.
FRAME_FIELDS = (
    *("encoder", "events", "fps", "seed", "event_encoder", "visual_demand", "namer"),
    *("blank_frames", "unchanged_frames", "query", "uniform_frames"),
)
PROMPT_FIELDS = ("prompt", "prompt_times", "time_format", "size")
# Together they identify a line of a table.
SETTING = ("dataset", "reader", "variant", "budget", "text_mode", *PROMPT_FIELDS, *FRAME_FIELDS)


@dataclass(frozen=True)
class AccuracyScore:
    """The accuracy over some questions; None without an answer.

    n: answers that count; unparsed: of these, replies that name no option or several; errors: questions without an
    answer, not in n.
    """

    accuracy: Interval | None
    n: int
    unparsed: int
    errors: int


@dataclass(frozen=True)
class Pair:
    """A paired difference, first minus second, on the questions both answered; `dropped`: those only one answered.

    p: of McNemar's test, which assumes independent questions; p_holm: adjusted for the pairs compared together. The
    interval resamples whole videos.
    """

    first: str
    second: str
    difference: Interval
    n: int
    dropped: int
    p: float
    p_holm: float

    @property
    def distinguishable(self) -> bool:
        """Whether the interval excludes 0 and the adjusted p is below 0.05."""
        return (self.difference.low > 0 or self.difference.high < 0) and self.p_holm < ALPHA


def values_of(row: Result, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row.value(name) for name in names)


def by_setting(rows: Iterable[Result]) -> list[list[Result]]:
    """The rows of each setting, in order of first occurrence."""
    return list(group_by(rows, lambda row: values_of(row, SETTING)).values())


def score(rows: Sequence[Result]) -> AccuracyScore:
    """The accuracy over rows of one setting."""
    answers = [row for row in rows if row.is_answer]
    hits, videos = [bool(row.correct) for row in answers], [row.video_id for row in answers]
    return AccuracyScore(
        accuracy=share_interval(hits, videos) if answers else None,
        n=len(answers),
        unparsed=sum(not row.parsed for row in answers),
        errors=sum(bool(row.error) for row in rows),
    )


def score_groups(rows: Sequence[Result]) -> dict[str, AccuracyScore]:
    """The accuracy of each group, then of all questions under Overall."""
    groups = group_by((row for row in rows if row.group), lambda row: row.group)
    return {**{name: score(groups[name]) for name in ranked(groups, GROUP_ORDER)}, OVERALL: score(rows)}


def score_categories(rows: Sequence[Result]) -> dict[str, AccuracyScore]:
    """The accuracy of each category; a row may be in several."""
    answers = [row for row in rows if row.is_answer]
    names = {name for row in answers for name in row.categories}
    return {name: score([row for row in answers if name in row.categories]) for name in sorted(names)}


def compare(first: Sequence[Result], second: Sequence[Result], *, names: tuple[str, str] = ("first", "second")) -> Pair:
    """The paired difference of two settings on the questions both answered."""
    ours, theirs = _answers(first, names[0]), _answers(second, names[1])
    shared = [key for key in ours if key in theirs]
    dropped = len(ours) + len(theirs) - 2 * len(shared)
    if not shared:
        raise InputError(f"{names[0]} and {names[1]} have no question in common; expected answers to the same ones")
    if any(ours[key].truth != theirs[key].truth for key in shared):
        raise InputError(f"{names[0]} and {names[1]} were scored on different answers; expected one data set")
    videos = [f"{ours[key].dataset}/{ours[key].video_id}" for key in shared]
    gains = [int(bool(ours[key].correct)) - int(bool(theirs[key].correct)) for key in shared]
    p = mcnemar(gains.count(1), gains.count(-1))
    return Pair(*names, difference_interval(gains, videos), len(shared), dropped, p, p)


def compare_all(rows: Mapping[str, Sequence[Result]], *, against: str | None = None) -> list[Pair]:
    """Compare every pair of the named rows, or each with one of them, with p adjusted over all these pairs."""
    names = list(rows)
    selected = [(name, against) for name in names if name != against] if against else list(combinations(names, 2))
    pairs = [compare(rows[a], rows[b], names=(a, b)) for a, b in selected]
    adjusted = holm([pair.p for pair in pairs])
    return [replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True)]


def ranked(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """The names in this order, then any others by name."""
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def signed(value: float, digits: int = 1) -> str:
    """Format as +0.4, −0.9 or 0.0, with a true minus sign."""
    text = minus(value, digits)
    return text if text.startswith("−") or float(text) == 0 else f"+{text}"


def minus(value: float, digits: int = 1) -> str:
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def _answers(rows: Sequence[Result], name: str) -> dict[tuple[str, str], Result]:
    by_question = {}
    for row in rows:
        if row.is_answer:
            key = (row.dataset, row.item_id)
            if key in by_question:
                raise InputError(f"{name} answers {row.item_id} twice; expected rows of one setting")
            by_question[key] = row
    return by_question
