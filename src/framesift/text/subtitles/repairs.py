"""From the cues of a file to events: mended, merged, in order, and each repair counted."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from framesift.text.subtitles.cues import UNTIL_THE_END, Cue
from framesift.types import Event

# Two cues this close are one display: a scroll's steps follow at once, film cuts leave a frame or two between.
SCROLL_GAP_S = 0.5
REPEAT_GAP_S = 0.1
# From this share of neighbours that carry lines over, a file is a scroll; in a film it is one in a hundred.
SCROLL_SHARE = 0.2
# A line that once begins like the one before it is chance; twice, it grows word by word.
FEWEST_GROWN = 2
# A scroll shows two or three lines.
SCROLL_LINES = 4
# How long an open last cue stays when nothing else says: 15 characters a second, as subtitlers reckon.
READING_SPEED = 15
SHORTEST_READING_S = 2.0


@dataclass(slots=True)
class _Span:
    start_s: float
    end_s: float
    lines: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.lines)


def to_events(
    cues: Iterable[Cue], *, offset_s: float = 0.0, duration_s: float | None = None, source: str = "subtitles"
) -> tuple[list[Event], Counter[str]]:
    """Events by start, then in the file's order, with the count of each repair."""
    repairs: Counter[str] = Counter()
    spans = _merge_repeats(_unroll(_in_order(cues, offset_s, duration_s, repairs), repairs), repairs)
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


def _in_order(cues: Iterable[Cue], offset_s: float, duration_s: float | None, repairs: Counter[str]) -> list[_Span]:
    """Cues that say something, times the right way round, sorted, every end known."""
    ordered: list[tuple[float, float | None, tuple[str, ...]]] = []
    for cue in cues:
        start_s, end_s = cue.start_s, cue.end_s
        if not cue.lines:
            repairs["empty dropped"] += 1
            continue
        if end_s is not None and end_s < start_s:
            repairs["times swapped"] += 1
            start_s, end_s = end_s, start_s
        ordered.append((start_s + offset_s, None if end_s is None else end_s + offset_s, cue.lines))
    for k in range(1, len(ordered)):
        repairs["out of order"] += ordered[k][0] < ordered[k - 1][0]
    ordered.sort(key=lambda item: item[0])
    spans = []
    later_s = here_s = None
    for start_s, end_s, lines in reversed(ordered):
        if here_s is not None and start_s < here_s:
            later_s = here_s
        here_s = start_s
        if end_s is None or end_s == UNTIL_THE_END:
            repairs["open ends closed"] += 1
            to_the_end = end_s is not None and duration_s is not None
            end_s = duration_s if to_the_end or later_s is None else later_s
            if end_s is None:
                end_s = start_s + max(SHORTEST_READING_S, sum(map(len, lines)) / READING_SPEED)
        spans.append(_Span(start_s, max(start_s, end_s), list(lines)))
    return spans[::-1]


def _unroll(spans: list[_Span], repairs: Counter[str]) -> list[_Span]:
    """Scrolling captions, where each cue shows the last lines again: one span for each new line.

    A line lasts from its coming until the next one's, not until it leaves the screen.
    """
    enough = SCROLL_SHARE * (len(spans) - 1)
    grown = sum(_carried(before, span, grown=True) > _carried(before, span) for before, span in pairwise(spans))
    grows = grown >= max(FEWEST_GROWN, enough)
    carried = [0, *(_carried(before, span, grown=grows) for before, span in pairwise(spans))]
    steps = sum(1 for k, count in enumerate(carried) if count and spans[k].lines != spans[k - 1].lines)
    if steps < max(1, enough):
        return spans
    unrolled: list[_Span] = []
    for span, count in zip(spans, carried, strict=True):
        if not count:
            unrolled.append(_Span(span.start_s, span.end_s, span.lines))
            continue
        repairs["rolling lines merged"] += count
        last, new = unrolled[-1], span.lines[count:]
        last.lines[-1] = span.lines[count - 1]  # the line may have grown
        if new:
            last.end_s = max(last.start_s, min(last.end_s, span.start_s))
            unrolled.append(_Span(span.start_s, span.end_s, new))
        else:
            last.end_s = max(last.end_s, span.end_s)
    return unrolled


def _carried(before: _Span, span: _Span, *, grown: bool = False) -> int:
    """How many of the first lines were already on screen, the last of them perhaps shorter then if `grown`."""
    if span.start_s - before.end_s > SCROLL_GAP_S:
        return 0
    for count in range(min(SCROLL_LINES, len(before.lines), len(span.lines)), 0, -1):
        old, new = before.lines[-count:], span.lines[:count]
        if old[:-1] == new[:-1] and (old[-1] == new[-1] or (grown and new[-1].startswith(old[-1] + " "))):
            return count
    return 0


def _merge_repeats(spans: list[_Span], repairs: Counter[str]) -> list[_Span]:
    """The same words again while they are on screen, or right after, are one event."""
    kept: list[_Span] = []
    latest: dict[str, _Span] = {}
    for span in spans:
        last = latest.get(span.text)
        if last is not None and span.start_s <= last.end_s + REPEAT_GAP_S:
            last.end_s = max(last.end_s, span.end_s)
            repairs["repeats merged"] += 1
        else:
            latest[span.text] = span
            kept.append(span)
    return kept
