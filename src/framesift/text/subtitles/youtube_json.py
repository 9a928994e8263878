"""YouTube's timed text in JSON (.json3), which `json_cues` recognises by its events."""

from collections import Counter

from framesift.text.subtitles.base import Cue, ParsedCues, parse_seconds, trim_overlaps
from framesift.text.subtitles.markup import plain_lines


def is_json3(events: list[object]) -> bool:
    """Return whether a list of events is YouTube's."""
    return any(isinstance(event, dict) and "tStartMs" in event for event in events)


def parse_json3(events: list[object]) -> ParsedCues:
    """Parse events of text segments, in milliseconds. In a scrolling window a line ends when the next one starts."""
    cues = []
    scrolls = False
    repairs: Counter[str] = Counter()
    for event in events:
        if not isinstance(event, dict) or not isinstance(segments := event.get("segs"), list):
            continue  # the description of a window or pen
        scrolls = scrolls or "wWinId" in event
        start, duration = parse_seconds(event.get("tStartMs")), parse_seconds(event.get("dDurationMs"))
        lines = plain_lines("".join(str(segment.get("utf8", "")) for segment in segments if isinstance(segment, dict)))
        if start is None:
            repairs["unreadable dropped"] += 1
        elif lines or not event.get("aAppend"):
            cues.append(Cue(start / 1000, None if duration is None else (start + duration) / 1000, lines))
    return ParsedCues(trim_overlaps(cues) if scrolls else cues, repairs)
