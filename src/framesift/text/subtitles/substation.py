"""SubStation Alpha: ASS and SSA."""

import re
from collections import Counter

from framesift.text.subtitles.cues import Cue, Parsed, seconds
from framesift.text.subtitles.markup import substation_lines

_FIELDS = ["layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text"]
_SECTION = re.compile(r"^[ \t]*\[(?:Script Info|V4\+? Styles|Events)\]", re.IGNORECASE | re.MULTILINE)
_DIALOGUE = re.compile(r"^[ \t]*Dialogue:[^,\n]{0,20},[ \t]*-?\d{1,2}:\d\d:\d\d", re.IGNORECASE | re.MULTILINE)


def looks_like_substation(text: str) -> bool:
    head = text[:65_536]
    return bool(_SECTION.search(head) or _DIALOGUE.search(head))


def parse_substation(text: str) -> Parsed:
    """The Dialogue lines, their fields in the order that the Format line of the events gives."""
    fields, section = _FIELDS, "[events]"
    repairs: Counter[str] = Counter()
    cues = []
    offender = ""
    for line in text.split("\n"):
        kind, colon, rest = line.partition(":")
        kind = kind.strip().lower()
        if kind.startswith("[") and kind.endswith("]"):
            section = kind
        elif kind == "format" and section == "[events]":
            named = [name.strip().lower() for name in rest.split(",")]
            fields = named if {"start", "end", "text"} <= set(named) else _FIELDS
        elif kind == "dialogue" and colon:
            values = dict(zip(fields, rest.split(",", len(fields) - 1), strict=False))
            start_s, end_s = seconds(values.get("start")), seconds(values.get("end"))
            if start_s is None or end_s is None:
                repairs["damaged times dropped"] += 1
                offender = offender or line
            else:
                cues.append(Cue(start_s, end_s, substation_lines(values.get("text", ""))))
    return Parsed(cues, repairs, offender)


def packet_lines(packet: str) -> tuple[str, ...]:
    """The words of one ASS event as Matroska keeps it: the fields without the times, the reading order first."""
    return substation_lines(packet.split(",", 8)[-1])
