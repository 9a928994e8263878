"""TTML (.ttml, .dfxp, .itt) and Apple's lyrics: clock, frame, tick and offset times, nested and in sequence."""

import re
from dataclasses import dataclass, field

from framesift.text.subtitles.base import (
    CLOCK,
    Cue,
    ParsedCues,
    SubtitleFormat,
    UnreadableSubtitles,
    clock_seconds,
    parse_seconds,
)
from framesift.text.subtitles.markup import plain_lines
from framesift.text.subtitles.xml_stream import parse_xml, subtitle_root

_CLOCK = re.compile(CLOCK, re.ASCII)
_FRAMES = re.compile(r"(\d{1,4}):(\d{2}):(\d{2})[:;](\d{1,4})(?:\.(\d{1,4}))?", re.ASCII)
_OFFSET = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)(h|ms|m|s|f|t)", re.ASCII)
_HIDDEN = {"metadata", "title", "desc", "copyright", "agent", "name", "head", "style", "set"}
_MAX_DEPTH = 200


class TTML(SubtitleFormat):
    """TTML. A timed <p> is a cue; where only its spans are timed, each of them is."""

    name = "TTML"
    endings = (".ttml", ".dfxp", ".itt", ".xml")

    def matches(self, text: str) -> bool:
        return subtitle_root(text) == "tt"

    def parse(self, text: str) -> ParsedCues:
        document = _TtmlDocument()
        parse_xml(text, document)
        return ParsedCues(document.cues, bad_line=document.bad_line)


@dataclass
class _Element:
    """An open element: its times, and the text collected inside it."""

    name: str
    begin_s: float = 0.0
    end_s: float | None = None
    timed: bool = False  # it or an ancestor has a time
    own_time: bool = False  # it has a time, or inside a <p> an element between the two has
    language: str = ""
    sequence: bool = False  # its children follow one another
    cursor_s: float = 0.0  # where the next child of a sequence starts
    content: list[str] | None = None
    hidden: bool = False


@dataclass
class _TimeBase:
    """The units of a document's times: ttp:frameRate and related attributes."""

    nominal_fps: float = 30.0
    multiplier: float = 1.0
    tick_rate: float = 1.0
    smpte: bool = False
    drop_frame: bool = False
    absolute: bool = False  # Apple's lyrics: nested times are relative to the start of the document

    def parse(self, value: str | None) -> float | None:
        """Convert a time expression to seconds; None if it is missing or can't be parsed."""
        if value is None:
            return None
        value = value.strip()
        fps = self.nominal_fps * self.multiplier
        if offset := _OFFSET.fullmatch(value):
            unit = {"h": 3600, "m": 60, "s": 1, "ms": 0.001, "f": 1 / fps, "t": 1 / self.tick_rate}[offset[2]]
            return float(offset[1]) * unit
        if frames := _FRAMES.fullmatch(value):
            hours, minutes, whole, count = (int(part) for part in frames.groups()[:4])
            whole += hours * 3600 + minutes * 60
            if not self.smpte:
                return whole + count / fps
            labels = whole * self.nominal_fps + count
            if self.drop_frame:
                labels -= 2 * (whole // 60 - whole // 600)
            return labels / fps
        if clock := _CLOCK.fullmatch(value):
            time_s = clock_seconds(*clock.groups())
            return time_s / self.multiplier if self.smpte else time_s
        return parse_seconds(value)


@dataclass
class _TtmlDocument:
    """Collects the cues of a TTML document."""

    cues: list[Cue] = field(default_factory=list)
    time_base: _TimeBase = field(default_factory=_TimeBase)
    open_elements: list[_Element] = field(default_factory=list)
    bad_line: str = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open_elements) >= _MAX_DEPTH:
            raise UnreadableSubtitles(f"its elements are nested deeper than {_MAX_DEPTH}", f"<{tag}>")
        name = _local_name(tag)
        local = {_local_name(key): value for key, value in attributes.items()}
        if name == "tt":
            self.time_base = _read_time_base(attributes, local)
        parent = self.open_elements[-1] if self.open_elements else _Element("")
        element = self._element(name, local, parent)
        if name in ("tt", "body", "div"):
            element.language = local.get("lang") or parent.language
        if name == "br" and parent.content is not None:
            parent.content.append("\n")
        if parent.content is not None and parent.own_time == element.own_time:
            element.content = parent.content
        elif name in ("p", "span"):
            element.content = []
        self.open_elements.append(element)

    def _element(self, name: str, local: dict[str, str], parent: _Element) -> _Element:
        begin, end, duration = (self.time_base.parse(local.get(key)) for key in ("begin", "end", "dur"))
        for key, value in (("begin", begin), ("end", end), ("dur", duration)):
            if key in local and value is None:
                self.bad_line = self.bad_line or f"{key}={local[key]!r}"
        base = parent.cursor_s if parent.sequence else parent.begin_s
        if self.time_base.absolute:
            base = 0.0
        begin_s = parent.begin_s if begin is None and self.time_base.absolute else base + (begin or 0.0)
        own_time = begin is not None or end is not None or duration is not None
        ends = [base + end] if end is not None else []
        if duration is not None:
            ends.append(begin_s + duration)
        if not ends and parent.end_s is not None:
            ends.append(parent.end_s)
        return _Element(
            name,
            begin_s,
            min(ends) if ends else None,
            timed=parent.timed or own_time,
            own_time=own_time or (parent.content is not None and parent.own_time),
            language=parent.language,
            sequence=local.get("timeContainer") == "seq",
            cursor_s=begin_s,
            hidden=parent.hidden or name in _HIDDEN,
        )

    def text(self, content: str) -> None:
        element = self.open_elements[-1] if self.open_elements else _Element("")
        if element.content is not None and not element.hidden:
            element.content.append(" ".join(content.split("\n")))

    def end(self, _tag: str) -> None:
        element = self.open_elements.pop()
        parent = self.open_elements[-1] if self.open_elements else None
        if parent is not None and parent.sequence:
            parent.cursor_s = element.end_s if element.end_s is not None else element.begin_s
        if element.content is None or (parent is not None and parent.content is element.content):
            return
        lines = plain_lines("".join(element.content))
        if element.own_time or (element.timed and lines):
            self.cues.append(Cue(element.begin_s, element.end_s, lines, element.language))
        elif lines:
            self.bad_line = self.bad_line or " ".join(lines)


def _local_name(name: str) -> str:
    return name.rpartition(":")[2]


def _read_time_base(attributes: dict[str, str], local: dict[str, str]) -> _TimeBase:
    time_base = _TimeBase()
    time_base.smpte = local.get("timeBase") == "smpte"
    time_base.drop_frame = local.get("dropMode", "").startswith("drop")
    time_base.nominal_fps = _parse_rate(local.get("frameRate"), 30.0)
    numerator, _, denominator = local.get("frameRateMultiplier", "1 1").replace(":", " ").strip().partition(" ")
    time_base.multiplier = _parse_rate(numerator, 1.0) / _parse_rate(denominator, 1.0)
    ticks_per_s = time_base.nominal_fps * time_base.multiplier * _parse_rate(local.get("subFrameRate"), 1.0)
    time_base.tick_rate = _parse_rate(local.get("tickRate"), ticks_per_s if "frameRate" in local else 1.0)
    time_base.absolute = "timing" in local and any("music.apple.com" in value for value in attributes.values())
    return time_base


def _parse_rate(value: str | None, default: float) -> float:
    rate = parse_seconds(value)
    return rate if rate is not None and rate > 0 else default
