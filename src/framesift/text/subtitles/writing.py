"""Writes events as SubRip or WebVTT."""

import html
from collections.abc import Sequence

from framesift.types import Event


def to_srt(events: Sequence[Event]) -> str:
    """The events as SubRip."""
    cues = (f"{number}\n{_times(event, ',')}\n{_lines(event)}\n" for number, event in enumerate(events, 1))
    return "\n".join(cues)


def to_vtt(events: Sequence[Event]) -> str:
    """The events as WebVTT, which browsers read as captions."""
    cues = (f"{_times(event, '.')}\n{html.escape(_lines(event), quote=False)}\n" for event in events)
    return "\n".join(["WEBVTT\n", *cues])


def _times(event: Event, point: str) -> str:
    start_ms = max(0, round(1000 * event.start_s))
    end_ms = max(start_ms + 1, round(1000 * event.end_s))  # players skip a cue without a duration
    return f"{_time(start_ms, point)} --> {_time(end_ms, point)}"


def _time(ms: int, point: str) -> str:
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}{point}{ms % 1000:03d}"


def _lines(event: Event) -> str:
    """The text without empty lines, which would end the cue."""
    return "\n".join(line for line in event.text.splitlines() if line.strip())
