"""JSON: lists of cues as Whisper's tools, LongVideoBench and others write them, JSON Lines, and YouTube's json3.

The tools differ only in the names of the keys and in where the list is, so one parser reads them all.
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from framesift.text.subtitles.base import (
    UNTIL_VIDEO_END,
    Cue,
    NotSubtitles,
    ParsedCues,
    SubtitleFormat,
    UnreadableSubtitles,
    parse_seconds,
)
from framesift.text.subtitles.markup import plain_lines
from framesift.text.word_timing import Word, split_sentences

# Cues are single words, which are joined to sentences, if at least this share of this many has no space and they last
# less than this on average.
SINGLE_WORDS, LEAST_WORDS, WORD_S = 0.95, 10, 0.8
_LIST_KEYS = ("segments", "chunks", "transcription", "transcript", "subtitles", "captions", "cues", "events", "body")
_START_KEYS = ("start", "begin", "from", "start_s", "start_time", "startTime")
_END_KEYS = ("end", "to", "stop", "end_s", "end_time", "endTime")
_DURATION_KEYS = ("duration", "dur", "duration_s")
_TEXT_KEYS = ("text", "line", "content", "caption", "sentence", "word")


class JsonCues(SubtitleFormat):
    """Cues in JSON or JSON Lines."""

    name = "JSON"
    endings = (".json", ".jsonl", ".json3", ".ndjson")

    def matches(self, text: str) -> bool:
        """Return whether the text starts as a JSON object or list; "[Script Info]" and "{12}{34}" do not."""
        head = "".join(text[:4096].split())[:2]
        return head in ("[{", "[[", "[]", "{}", '{"')

    def parse(self, text: str) -> ParsedCues:
        data = _load(text)
        entries = _find_entries(data)
        if isinstance(data, dict) and any(isinstance(entry, dict) and "tStartMs" in entry for entry in entries):
            return _parse_json3(entries)
        language = data.get("language") if isinstance(data, dict) else ""
        parsed = ParsedCues()
        for entry in entries:
            cue = _parse_cue(entry, language if isinstance(language, str) else "")
            if cue is not None:
                parsed.cues.append(cue)
            else:
                parsed.skip(json.dumps(entry)[:200], "unreadable dropped")
        if entries and not parsed.cues:
            raise NotSubtitles("it is JSON, but none of its entries has a start and a text", parsed.bad_line)
        if _are_words(parsed.cues):
            words = [Word(cue.start_s, cue.end_s or cue.start_s, f" {' '.join(cue.lines)}") for cue in parsed.cues]
            parsed.cues = [Cue(e.start_s, e.end_s, (e.text,), parsed.cues[0].language) for e in split_sentences(words)]
        return parsed


def _are_words(cues: Sequence[Cue]) -> bool:
    """Whether cues are single words: short in time, without a space, by their starts."""
    if len(cues) < LEAST_WORDS or any(cue.end_s is None or len(cue.lines) != 1 for cue in cues):
        return False
    spoken_s = sum((cue.end_s or 0.0) - cue.start_s for cue in cues) / len(cues)
    single = sum(" " not in cue.lines[0] for cue in cues) / len(cues)
    in_order = all(a.start_s <= b.start_s for a, b in itertools.pairwise(cues))
    return in_order and single > SINGLE_WORDS and 0 < spoken_s < WORD_S


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.split("\n") if line.strip()]
        if error.msg == "Extra data" and len(lines) > 1:
            return [_load_line(line) for line in lines]
        damaged = text.split("\n", error.lineno)[error.lineno - 1]
        raise UnreadableSubtitles(f"its JSON is damaged at line {error.lineno}, {error.msg}", damaged) from None
    except (ValueError, RecursionError) as error:
        raise UnreadableSubtitles(f"its JSON can't be read, {error}", text[:80]) from None


def _load_line(line: str) -> object:
    """Load one line of JSON Lines; a damaged one stays a text, which is counted as unreadable."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _find_entries(data: Any) -> list[object]:
    """Return the list that holds the cues."""
    if isinstance(data, list):
        return data
    if isinstance(data, dict):
        for key in _LIST_KEYS:
            if isinstance(data.get(key), list):
                return list(data[key])
        if _parse_cue(data, "") is not None:
            return [data]
    keys = ", ".join(map(str, data)) if isinstance(data, dict) else repr(data)
    raise NotSubtitles("it is JSON, but contains no list of cues", keys[:200])


def _parse_cue(entry: object, language: str) -> Cue | None:
    """Parse a cue with any of the known keys; None if it has no start or no text."""
    if not isinstance(entry, dict):
        return None
    start, end = _first_value(entry, _START_KEYS), _first_value(entry, _END_KEYS)
    pair = entry.get("timestamp", entry.get("timestamps"))
    if isinstance(pair, list) and len(pair) == 2:
        start, end = pair
    elif isinstance(pair, dict):  # whisper.cpp
        start, end = pair.get("from"), pair.get("to")
    text = _first_value(entry, _TEXT_KEYS)
    if text is None and isinstance(words := entry.get("words"), list):
        text = " ".join(str(_first_value(word, _TEXT_KEYS) or "").strip() for word in words if isinstance(word, dict))
    start_s, end_s = parse_seconds(start), parse_seconds(end)
    if start_s is None or not isinstance(text, str):
        return None
    if end_s is None:
        duration_s = parse_seconds(_first_value(entry, _DURATION_KEYS))
        if isinstance(pair, list) or (duration_s is None and end is not None):
            end_s = UNTIL_VIDEO_END
        elif duration_s is not None:
            end_s = start_s + duration_s
    return Cue(start_s, end_s, plain_lines(text), language)


def _parse_json3(events: list[object]) -> ParsedCues:
    """Parse YouTube's events of text segments, in milliseconds."""
    parsed = ParsedCues()
    for event in events:
        if not isinstance(event, dict) or not isinstance(segments := event.get("segs"), list):
            continue  # the description of a window or pen
        parsed.scrolls = parsed.scrolls or "wWinId" in event
        start, duration = parse_seconds(event.get("tStartMs")), parse_seconds(event.get("dDurationMs"))
        lines = plain_lines("".join(str(segment.get("utf8", "")) for segment in segments if isinstance(segment, dict)))
        if start is None:
            parsed.skip("", "unreadable dropped")
        elif lines or not event.get("aAppend"):
            parsed.cues.append(Cue(start / 1000, None if duration is None else (start + duration) / 1000, lines, ""))
    return parsed


def _first_value(entry: Mapping[str, object], keys: Iterable[str]) -> object:
    return next((entry[key] for key in keys if entry.get(key) is not None), None)
