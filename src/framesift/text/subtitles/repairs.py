"""Conversion of cues to events: repaired, merged and sorted, with a count of each repair."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from framesift.text.subtitles.base import Cue
from framesift.types import Event

# Cues this close are shown without interruption: the steps of a scroll follow at once, others leave a frame or two.
SCROLL_GAP_S = 0.5
REPEAT_GAP_S = 0.1
# The share of consecutive cues that repeat lines from which a file counts as scrolling; in dialogue it is about 1%.
SCROLL_SHARE = 0.2
# One line that starts like the one before it is chance; two grow word by word.
MIN_GROWN_LINES = 2
# Scrolling captions show two or three lines.
MAX_SCROLL_LINES = 4
# The duration of a last cue without an end: 15 characters a second, a common guideline for subtitles.
CHARACTERS_PER_S = 15
MIN_READING_S = 2.0
UNTIL_NEXT_CUE = -math.inf


@dataclass(slots=True)
class _Span:
    start_s: float
    end_s: float
    lines: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.lines)


def trim_overlaps(cues: Iterable[Cue]) -> list[Cue]:
    """Sort cues by start and end each where the next one starts, if they overlap."""
    ordered = sorted(cues, key=lambda cue: cue.start_s)
    trimmed = [
        replace(cue, end_s=following.start_s)
        if cue.end_s is not None and cue.start_s < following.start_s < cue.end_s
        else cue
        for cue, following in pairwise(ordered)
    ]
    return [*trimmed, *ordered[-1:]]


def to_events(
    cues: Iterable[Cue], *, offset_s: float = 0.0, duration_s: float | None = None, source: str = "subtitles"
) -> tuple[list[Event], Counter[str]]:
    """Return the events sorted by start, then in file order, and the count of each repair."""
    repairs: Counter[str] = Counter()
    spans = _merge_repeats(_merge_scrolling(_sort(cues, offset_s, duration_s, repairs), repairs), repairs)
    events = []
    for span in spans:
        start_s = max(span.start_s, 0.0)
        end_s = span.end_s if duration_s is None else min(span.end_s, duration_s)
        if end_s < start_s or (end_s == start_s and span.start_s < span.end_s):
            repairs["outside dropped"] += 1
            continue
        if (start_s, end_s) != (span.start_s, span.end_s):
            repairs["clipped"] += 1
        events.append(Event(start_s, end_s, span.text, source))
    return events, +repairs


def _sort(cues: Iterable[Cue], offset_s: float, duration_s: float | None, repairs: Counter[str]) -> list[_Span]:
    """Drop empty cues, swap reversed times, sort, and close open ends."""
    spans = []
    for cue in cues:
        start_s, end_s = cue.start_s, UNTIL_NEXT_CUE if cue.end_s is None else cue.end_s
        if not cue.lines:
            repairs["empty dropped"] += 1
            continue
        if end_s < start_s and end_s != UNTIL_NEXT_CUE:
            repairs["times swapped"] += 1
            start_s, end_s = end_s, start_s
        spans.append(_Span(start_s + offset_s, end_s + offset_s, list(cue.lines)))
    repairs["out of order"] += sum(after.start_s < before.start_s for before, after in pairwise(spans))
    spans.sort(key=lambda span: span.start_s)
    next_starts = dict(pairwise(sorted({span.start_s for span in spans})))
    for span in spans:
        if math.isinf(span.end_s):
            repairs["open ends closed"] += 1
            reading_s = max(MIN_READING_S, sum(map(len, span.lines)) / CHARACTERS_PER_S)
            video_end_s = span.start_s + reading_s if duration_s is None else duration_s
            until_next = span.end_s == UNTIL_NEXT_CUE or duration_s is None
            span.end_s = next_starts.get(span.start_s, video_end_s) if until_next else video_end_s
        span.end_s = max(span.start_s, span.end_s)
    return spans


def _merge_scrolling(spans: list[_Span], repairs: Counter[str]) -> list[_Span]:
    """Convert scrolling captions, where each cue repeats the last lines, to one span per new line.

    A line lasts until the next one appears, not until it leaves the screen.
    """
    threshold = SCROLL_SHARE * (len(spans) - 1)
    pairs = list(pairwise(spans))
    grown = sum(_count_repeated(*pair, grown=True) > _count_repeated(*pair) for pair in pairs)
    grows = grown >= max(MIN_GROWN_LINES, threshold)
    repeated = [0, *(_count_repeated(*pair, grown=grows) for pair in pairs)]
    steps = sum(1 for k, count in enumerate(repeated) if count and spans[k].lines != spans[k - 1].lines)
    if steps < max(1, threshold):
        return spans
    merged = []
    for span, count in zip(spans, repeated, strict=True):
        if not count:
            merged.append(_Span(span.start_s, span.end_s, span.lines))
            continue
        repairs["rolling lines merged"] += count
        last, new = merged[-1], span.lines[count:]
        last.lines[-1] = span.lines[count - 1]  # the line may have grown
        if new:
            last.end_s = max(last.start_s, min(last.end_s, span.start_s))
            merged.append(_Span(span.start_s, span.end_s, new))
        else:
            last.end_s = max(last.end_s, span.end_s)
    return merged


def _count_repeated(before: _Span, span: _Span, *, grown: bool = False) -> int:
    """Count the first lines that were already visible; with `grown`, the last of them may have been shorter."""
    if span.start_s - before.end_s > SCROLL_GAP_S:
        return 0
    for count in range(min(MAX_SCROLL_LINES, len(before.lines), len(span.lines)), 0, -1):
        old, new = before.lines[-count:], span.lines[:count]
        if old[:-1] == new[:-1] and (old[-1] == new[-1] or (grown and new[-1].startswith(old[-1] + " "))):
            return count
    return 0


def _merge_repeats(spans: list[_Span], repairs: Counter[str]) -> list[_Span]:
    """Merge a text that is repeated while it is visible, or right after."""
    merged = []
    latest: dict[str, _Span] = {}
    for span in spans:
        last = latest.get(span.text)
        if last is not None and span.start_s <= last.end_s + REPEAT_GAP_S:
            last.end_s = max(last.end_s, span.end_s)
            repairs["repeats merged"] += 1
        else:
            latest[span.text] = span
            merged.append(span)
    return merged
