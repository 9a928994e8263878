"""Formats in JSON: YouTube's json3, Whisper and its kin, LongVideoBench's two shapes, plain lists and JSON Lines."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from framesift.text.subtitles.cues import UNTIL_THE_END, Cue, NotSubtitles, Parsed, Unreadable, seconds
from framesift.text.subtitles.markup import plain_lines
from framesift.text.subtitles.xml_formats import cut_at_the_next

_LISTS = ("segments", "chunks", "transcription", "transcript", "subtitles", "captions", "cues", "events", "body")
_STARTS = ("start", "begin", "from", "start_s", "start_time", "startTime")
_ENDS = ("end", "to", "stop", "end_s", "end_time", "endTime")
_LENGTHS = ("duration", "dur", "duration_s")
_TEXTS = ("text", "line", "content", "caption", "sentence", "word")


def looks_like_json(text: str) -> bool:
    """Whether it begins as an object or a list of JSON does: "[Script Info]" and "{12}{34}" do not."""
    start = text[:4096].split(None, 1)
    head = "".join("".join(start).split())[:3]
    return head[:2] in ("[{", "[[", "[]", "{}") or head[:2] == '{"'


def parse_json(text: str) -> Parsed:
    """Cues from whichever of the shapes this is."""
    data = _load(text)
    if isinstance(data, dict) and isinstance(events := data.get("events"), list) and _is_json3(events):
        return _parse_json3(events)
    items = _items(data)
    cues: list[Cue] = []
    repairs: Counter[str] = Counter()
    offender = ""
    for item in items:
        cue = _cue(item) if isinstance(item, dict) else None
        if cue is not None:
            cues.append(cue)
        else:
            repairs["unreadable dropped"] += 1
            offender = offender or json.dumps(item)[:200]
    if items and not cues:
        raise NotSubtitles("it is JSON, but none of its entries has a start and a text", offender)
    return Parsed(cues, repairs, offender)


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.split("\n") if line.strip()]
        if error.msg == "Extra data" and len(lines) > 1:
            return [_load_line(line) for line in lines]
        damaged = text.split("\n", error.lineno)[error.lineno - 1]
        raise Unreadable(f"its JSON is damaged at line {error.lineno}, {error.msg}", damaged) from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"its JSON can't be read, {error}", text[:80]) from None


def _load_line(line: str) -> object:
    """One line of JSON Lines; a damaged one stays a text, which is no cue."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _items(data: object) -> list[object]:
    """The list that holds the cues."""
    if isinstance(data, list):
        return data
    if isinstance(data, dict):
        for key in _LISTS:
            if isinstance(data.get(key), list):
                return list(data[key])
        if _cue(data) is not None:
            return [data]
    keys = ", ".join(map(str, data)) if isinstance(data, dict) else repr(data)
    raise NotSubtitles("it is JSON, but holds no list of cues", keys[:200])


def _cue(item: Mapping[str, object]) -> Cue | None:
    """A cue in any spelling of its keys, or None."""
    start, end = _first(item, _STARTS), _first(item, _ENDS)
    pair = item.get("timestamp", item.get("timestamps"))
    if isinstance(pair, list) and len(pair) == 2:
        start, end = pair
    elif isinstance(pair, dict):  # whisper.cpp
        start, end = pair.get("from"), pair.get("to")
    text = _first(item, _TEXTS)
    if text is None and isinstance(words := item.get("words"), list):
        text = " ".join(str(_first(word, _TEXTS) or "").strip() for word in words if isinstance(word, dict))
    start_s, end_s, length_s = seconds(start), seconds(end), seconds(_first(item, _LENGTHS))
    if start_s is None or not isinstance(text, str):
        return None
    if end_s is None:
        end_s = start_s + length_s if length_s is not None else None if end is None else UNTIL_THE_END
    if isinstance(pair, list) and seconds(end) is None:
        end_s = UNTIL_THE_END
    return Cue(start_s, end_s, plain_lines(text))


def _first(item: Mapping[str, object], keys: Iterable[str]) -> object:
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _is_json3(events: list[object]) -> bool:
    return any(isinstance(event, dict) and "tStartMs" in event for event in events)


def _parse_json3(events: list[object]) -> Parsed:
    """YouTube's own: pieces of text in milliseconds. In a scrolling window a line ends when the next comes."""
    cues = []
    scrolls = False
    repairs: Counter[str] = Counter()
    for event in events:
        if not isinstance(event, dict) or not isinstance(pieces := event.get("segs"), list):
            continue  # a window's or a pen's description
        scrolls = scrolls or "wWinId" in event
        start, length = seconds(event.get("tStartMs")), seconds(event.get("dDurationMs"))
        lines = plain_lines("".join(str(piece.get("utf8", "")) for piece in pieces if isinstance(piece, dict)))
        if start is None:
            repairs["unreadable dropped"] += 1
        elif lines or not event.get("aAppend"):
            cues.append(Cue(start / 1000, None if length is None else (start + length) / 1000, lines))
    return Parsed(cut_at_the_next(cues) if scrolls else cues, repairs)
