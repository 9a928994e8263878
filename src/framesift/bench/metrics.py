"""Accuracies with intervals, and paired comparisons on the questions that both methods answered."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

from framesift.batch.results import Result
from framesift.bench.statistics import DRAWS, SEED, Interval, difference_interval, holm, mcnemar, share_interval
from framesift.errors import InputError

GroupKey = TypeVar("GroupKey")

ALPHA = 0.05
OVERALL = "Overall"
# The order of groups in tables; others follow by name.
GROUP_ORDER = ("Short", "Medium", "Long")


@dataclass(frozen=True)
class ResultSetting:
    """A line of a table: everything that identifies a result except the question."""

    dataset: str
    method: str
    variant: str
    budget: int
    text_mode: str
    reader: str
    prompt: str
    encoder: str
    events: str
    fps: str
    seed: int
    event_encoder: str = ""
    visual_demand: str = "rules"
    namer: str = ""
    blank_frames: str = "keep"
    unchanged_frames: str = "encode"
    prompt_times: bool = True
    uniform_frames: str = "candidates"
    time_format: str = "auto"

    @classmethod
    def of(cls, row: Result) -> "ResultSetting":
        return cls(
            dataset=row.dataset,
            method=row.method,
            variant=row.variant,
            budget=row.budget,
            text_mode=row.text_mode,
            reader=row.reader,
            prompt=row.prompt,
            encoder=row.encoder,
            events=row.events,
            fps=row.fps,
            seed=row.seed,
            event_encoder=row.event_encoder,
            visual_demand=row.visual_demand,
            namer=row.namer,
            blank_frames=row.blank_frames,
            unchanged_frames=row.unchanged_frames,
            prompt_times=row.prompt_times,
            uniform_frames=row.uniform_frames,
            time_format=row.time_format,
        )


@dataclass(frozen=True)
class AccuracyScore:
    """The accuracy over some questions. n: answers that count; unparsed: of these, replies that name no option or
    several; errors: questions without an answer, not in n.
    """

    accuracy: Interval
    n: int
    correct: int
    videos: int
    unparsed: int
    errors: int


@dataclass(frozen=True)
class Pair:
    """A paired difference, first minus second, on the questions both answered; `dropped`: those only one answered.

    only_first and only_second: questions that only one answered correctly. p: of McNemar's test, which assumes
    independent questions; p_holm: adjusted for the pairs compared together. The interval resamples whole videos.
    """

    first: str
    second: str
    difference: Interval
    n: int
    dropped: int
    only_first: int
    only_second: int
    p: float
    p_holm: float

    @property
    def distinguishable(self) -> bool:
        """Whether the interval excludes 0 and the adjusted p is below 0.05."""
        return (self.difference.low > 0 or self.difference.high < 0) and self.p_holm < ALPHA

    @property
    def verdict(self) -> str:
        """+0.4 (−0.9 … 1.7), not distinguishable"""
        value, low, high = (100 * part for part in self.difference)
        verdict = "distinguishable" if self.distinguishable else "not distinguishable"
        return f"{signed(value)} ({minus(low)} … {minus(high)}), {verdict}"


def by_setting(rows: Iterable[Result]) -> dict[ResultSetting, list[Result]]:
    """Group rows by setting, in order of first occurrence."""
    return group_by(rows, ResultSetting.of)


def group_by(rows: Iterable[Result], key: Callable[[Result], GroupKey]) -> dict[GroupKey, list[Result]]:
    """Group rows by a key, in order of first occurrence."""
    groups: dict[GroupKey, list[Result]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def score(rows: Sequence[Result]) -> AccuracyScore | None:
    """The accuracy over rows of one setting; None if none of them is an answer."""
    answers = [row for row in rows if row.is_answer]
    if not answers:
        return None
    hits = [bool(row.correct) for row in answers]
    videos = [row.video_id for row in answers]
    return AccuracyScore(
        accuracy=share_interval(hits, videos),
        n=len(answers),
        correct=sum(hits),
        videos=len(set(videos)),
        unparsed=sum(not row.parsed for row in answers),
        errors=sum(bool(row.error) for row in rows),
    )


def score_by(rows: Sequence[Result], names: Callable[[Result], Iterable[str]]) -> dict[str, AccuracyScore]:
    """The accuracy for each name that `names` returns for a row; a row may have several."""
    parts: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        for name in names(row):
            parts[name].append(row)
    scores = {name: score(part) for name, part in parts.items()}
    return {name: accuracy for name in ordered_groups(scores) if (accuracy := scores[name]) is not None}


def score_groups(rows: Sequence[Result]) -> dict[str, AccuracyScore]:
    """The accuracy of each group, then of all questions under Overall."""
    groups = score_by(rows, lambda row: (row.group,) if row.group else ())
    overall = score(rows)
    return groups if overall is None else {**groups, OVERALL: overall}


def score_categories(rows: Sequence[Result]) -> dict[str, AccuracyScore]:
    return score_by(rows, lambda row: row.categories)


def compare(
    first: Sequence[Result],
    second: Sequence[Result],
    *,
    names: tuple[str, str] = ("first", "second"),
    draws: int = DRAWS,
    seed: int = SEED,
) -> Pair:
    """The paired difference of two settings on the questions both answered."""
    ours, theirs = _answers(first, names[0]), _answers(second, names[1])
    shared = [key for key in ours if key in theirs]
    dropped = len(ours) + len(theirs) - 2 * len(shared)
    if not shared:
        raise InputError(f"{names[0]} and {names[1]} have no question in common; expected answers to the same ones")
    hits = [(bool(ours[key].correct), bool(theirs[key].correct)) for key in shared]
    if any(ours[key].truth != theirs[key].truth for key in shared):
        raise InputError(f"{names[0]} and {names[1]} were scored on different answers; expected one data set")
    videos = [f"{ours[key].dataset}/{ours[key].video_id}" for key in shared]
    only_first, only_second = sum(a and not b for a, b in hits), sum(b and not a for a, b in hits)
    p = mcnemar(only_first, only_second)
    interval = difference_interval([int(a) - int(b) for a, b in hits], videos, draws=draws, seed=seed)
    return Pair(*names, interval, len(shared), dropped, only_first, only_second, p, p)


def compare_all(rows: Mapping[str, Sequence[Result]], *, against: str | None = None) -> list[Pair]:
    """Compare every pair of the named rows, or each with one of them, with p adjusted over all these pairs."""
    if against is not None and against not in rows:
        raise InputError(f"there is no {against!r} to compare with; expected one of {', '.join(rows)}")
    names = list(rows)
    selected = [(name, against) for name in names if name != against] if against else list(combinations(names, 2))
    pairs = [compare(rows[a], rows[b], names=(a, b)) for a, b in selected]
    return adjusted(pairs)


def adjusted(pairs: Sequence[Pair]) -> list[Pair]:
    """Adjust p over all these pairs by Holm's method."""
    return [replace(pair, p_holm=p) for pair, p in zip(pairs, holm([pair.p for pair in pairs]), strict=True)]


def ordered_groups(names: Iterable[str]) -> list[str]:
    """Short, Medium, Long, then any others by name."""
    rank = {name: k for k, name in enumerate(GROUP_ORDER)}
    return sorted(names, key=lambda name: (rank.get(name, len(rank)), name))


def signed(value: float, digits: int = 1) -> str:
    """Format as +0.4, −0.9 or 0.0, with a true minus sign."""
    text = minus(value, digits)
    return text if text.startswith("−") or float(text) == 0 else f"+{text}"


def minus(value: float, digits: int = 1) -> str:
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def _answers(rows: Sequence[Result], name: str) -> dict[tuple[str, str], Result]:
    by_question: dict[tuple[str, str], Result] = {}
    for row in rows:
        if row.is_answer:
            key = (row.dataset, row.item_id)
            if key in by_question:
                raise InputError(f"{name} answers {row.item_id} twice; expected rows of one setting")
            by_question[key] = row
    return by_question
