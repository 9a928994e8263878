"""SubStation Alpha: ASS and SSA (.ass, .ssa)."""

import re

from framesift.text.subtitles.base import Cue, ParsedCues, SubtitleFormat, parse_seconds
from framesift.text.subtitles.markup import clean_lines

_FIELDS = ["layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text"]
_SECTION = re.compile(r"^[ \t]*\[(?:Script Info|V4\+? Styles|Events)\]", re.IGNORECASE | re.MULTILINE)
_DIALOGUE = re.compile(r"^[ \t]*Dialogue:[^,\n]{0,20},[ \t]*-?\d{1,2}:\d\d:\d\d", re.IGNORECASE | re.MULTILINE)
_BRACES = re.compile(r"\{([^{}]*)\}")
_DRAWING = re.compile(r"\\p(\d{1,3})", re.ASCII)


class SubStation(SubtitleFormat):
    """ASS and SSA. The fields of a Dialogue line follow the Format line of the events section."""

    name = "SubStation"
    endings = (".ass", ".ssa")

    def matches(self, text: str) -> bool:
        head = text[:65_536]
        return bool(_SECTION.search(head) or _DIALOGUE.search(head))

    def parse(self, text: str) -> ParsedCues:
        fields, section = _FIELDS, "[events]"
        parsed = ParsedCues()
        for line in text.split("\n"):
            kind, colon, rest = line.partition(":")
            kind = kind.strip().lower()
            if kind.startswith("[") and kind.endswith("]"):
                section = kind
            elif kind == "format" and section == "[events]":
                listed = [name.strip().lower() for name in rest.split(",")]
                fields = listed if {"start", "end", "text"} <= set(listed) else _FIELDS
            elif kind == "dialogue" and colon:
                values = dict(zip(fields, rest.split(",", len(fields) - 1), strict=False))
                start_s, end_s = parse_seconds(values.get("start")), parse_seconds(values.get("end"))
                if start_s is None or end_s is None:
                    parsed.skip(line, "damaged times dropped")
                else:
                    parsed.cues.append(Cue(start_s, end_s, _clean(values.get("text", "")), ""))
        return parsed


def packet_lines(packet: str) -> tuple[str, ...]:
    """Clean the text of one event as Matroska stores it: ReadOrder first, then the fields without the times."""
    return _clean(packet.split(",", 8)[-1])


def _clean(text: str) -> tuple[str, ...]:
    """Clean the text of an event: override codes, comments in braces and drawings are removed."""
    visible, drawing = [], False
    for k, piece in enumerate(_BRACES.split(text)):
        if k % 2:
            for scale in _DRAWING.findall(piece):
                drawing = int(scale) > 0
        elif not drawing:
            visible.append(piece)
    return clean_lines("".join(visible).replace("\\N", "\n").replace("\\n", "\n").replace("\\h", " "))
