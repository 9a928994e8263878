"""Subtitles in XML: TTML and YouTube's timed text. They are parsed as a stream: a large file builds no tree.

Files that declare entities are rejected: no subtitle needs them, and a few lines of them can expand to gigabytes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn
from xml.parsers import expat

from framesift.text.subtitles.base import (
    Cue,
    ParsedCues,
    SubtitleFormat,
    UnreadableSubtitles,
    parse_seconds,
)
from framesift.text.subtitles.markup import plain_lines, unescape

_ROOT = re.compile(r"<(?:[\w-]{1,20}:)?(tt|timedtext|transcript)[\s>]", re.IGNORECASE)
_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)[a-z0-9]{0,31};?", re.IGNORECASE)
_NOT_XML = dict.fromkeys([*(k for k in range(32) if k not in (9, 10)), 0xFFFE, 0xFFFF])

_FRAMES = re.compile(r"(\d{1,4}):(\d{2}):(\d{2})[:;](\d{1,4})(?:\.(\d{1,4}))?", re.ASCII)
_OFFSET = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)(h|ms|m|s|f|t)", re.ASCII)
_HIDDEN = {"metadata", "title", "desc", "copyright", "agent", "name", "head", "style", "set"}
_MAX_DEPTH = 200


class _XmlFormat(SubtitleFormat):
    """A format that is recognised by its root element; the handlers of `document` collect the cues."""

    roots: ClassVar[tuple[str, ...]]
    document: ClassVar["type[_TtmlCues | _YouTubeCues]"]

    def matches(self, text: str) -> bool:
        match = _ROOT.search(text[:8192]) if text.lstrip()[:1] == "<" else None
        return match is not None and match[1].lower() in self.roots

    def parse(self, text: str) -> ParsedCues:
        """Parse a text; bare ampersands and HTML's entities are repaired first."""
        document = self.document()
        # Expat would apply the declared encoding, but the text is already decoded.
        text = re.sub(r"^\s*<\?xml[^<>]*\?>", "", text)
        text = _BARE_AMPERSAND.sub(_repair_entity, text.translate(_NOT_XML).strip())
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = document.start
        parser.CharacterDataHandler = document.text
        parser.EndElementHandler = document.end
        parser.EntityDeclHandler = _reject_entities
        try:
            parser.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            line = "".join(text.split("\n", error.lineno)[error.lineno - 1 : error.lineno])
            reason = f"its XML is damaged at line {error.lineno}, {expat.ErrorString(error.code)}"
            raise UnreadableSubtitles(reason, line) from None
        return document


def _reject_entities(name: str, *_: object) -> NoReturn:
    raise UnreadableSubtitles("it declares XML entities, which are not supported", f"<!ENTITY {name}")


def _repair_entity(entity: re.Match[str]) -> str:
    """Replace HTML's entities by their characters and escape other ampersands."""
    character = unescape(entity[0])
    return character if character != entity[0] and character not in "<>&" else "&amp;" + entity[0][1:]


class _TimeBase:
    """The units of a document's times: ttp:frameRate and related attributes."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.smpte = attributes.get("timeBase") == "smpte"
        self.drop_frame = attributes.get("dropMode", "").startswith("drop")
        self.nominal_fps = _parse_rate(attributes.get("frameRate"), 30.0)
        numerator, _, denominator = attributes.get("frameRateMultiplier", "").replace(":", " ").strip().partition(" ")
        self.multiplier = _parse_rate(numerator, 1.0) / _parse_rate(denominator, 1.0)
        self.fps = self.nominal_fps * self.multiplier
        ticks_per_s = self.fps * _parse_rate(attributes.get("subFrameRate"), 1.0) if "frameRate" in attributes else 1.0
        self.tick_rate = _parse_rate(attributes.get("tickRate"), ticks_per_s)
        # Apple's lyrics: nested times are relative to the start of the document.
        self.absolute = "timing" in attributes and any("music.apple.com" in value for value in attributes.values())

    def parse(self, value: str) -> float | None:
        """Convert a time expression to seconds; None if it can't be parsed."""
        value = value.strip()
        if offset := _OFFSET.fullmatch(value):
            unit = {"h": 3600, "m": 60, "s": 1, "ms": 0.001, "f": 1 / self.fps, "t": 1 / self.tick_rate}[offset[2]]
            return float(offset[1]) * unit
        if frames := _FRAMES.fullmatch(value):
            hours, minutes, whole, count = (int(part) for part in frames.groups()[:4])
            whole += hours * 3600 + minutes * 60
            if not self.smpte:
                return whole + count / self.fps
            labels = whole * self.nominal_fps + count
            if self.drop_frame:
                labels -= 2 * (whole // 60 - whole // 600)
            return labels / self.fps
        time_s = parse_seconds(value)
        return time_s / self.multiplier if time_s is not None and self.smpte and ":" in value else time_s


def _parse_rate(value: str | None, default: float) -> float:
    rate = parse_seconds(value)
    return rate if rate is not None and rate > 0 else default


@dataclass
class _Element:
    """An open element: its times, and the text collected inside it."""

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
class _TtmlCues(ParsedCues):
    """Collects the cues of a TTML document."""

    time_base: _TimeBase = field(default_factory=lambda: _TimeBase({}))
    open_elements: list[_Element] = field(default_factory=lambda: [_Element()])  # the first one is around the root

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open_elements) > _MAX_DEPTH:
            raise UnreadableSubtitles(f"its elements are nested deeper than {_MAX_DEPTH}", f"<{tag}>")
        name = _local_name(tag)
        local = {_local_name(key): value for key, value in attributes.items()}
        if name == "tt":
            self.time_base = _TimeBase(local)
        parent = self.open_elements[-1]
        if name == "br" and parent.content is not None:
            parent.content.append("\n")
        times = {key: self.time_base.parse(local[key]) for key in ("begin", "end", "dur") if key in local}
        for key, time_s in times.items():
            if time_s is None:
                self.skip(f"{key}={local[key]!r}")
        begin, end, duration = (times.get(key) for key in ("begin", "end", "dur"))
        is_absolute = self.time_base.absolute
        base = 0.0 if is_absolute else parent.cursor_s if parent.sequence else parent.begin_s
        begin_s = parent.begin_s if begin is None and is_absolute else base + (begin or 0.0)
        ends = [base + end] if end is not None else []
        if duration is not None:
            ends.append(begin_s + duration)
        has_time = begin is not None or bool(ends)
        own_time = has_time or (parent.content is not None and parent.own_time)
        shares_content = parent.content is not None and parent.own_time == own_time
        own_language = local.get("lang") if name in ("tt", "body", "div") else None
        element = _Element(
            begin_s,
            min(ends, default=parent.end_s),
            timed=parent.timed or has_time,
            own_time=own_time,
            language=own_language or parent.language,
            sequence=local.get("timeContainer") == "seq",
            cursor_s=begin_s,
            content=parent.content if shares_content else [] if name in ("p", "span") else None,
            hidden=parent.hidden or name in _HIDDEN,
        )
        self.open_elements.append(element)

    def text(self, content: str) -> None:
        element = self.open_elements[-1]
        if element.content is not None and not element.hidden:
            element.content.append(" ".join(content.split("\n")))

    def end(self, _tag: str) -> None:
        element = self.open_elements.pop()
        parent = self.open_elements[-1]
        if parent.sequence:
            parent.cursor_s = element.end_s if element.end_s is not None else element.begin_s
        if element.content is None or parent.content is element.content:
            return
        lines = plain_lines("".join(element.content))
        if element.own_time or (element.timed and lines):
            self.cues.append(Cue(element.begin_s, element.end_s, lines, element.language))
        elif lines:
            self.skip(" ".join(lines))


def _local_name(name: str) -> str:
    return name.rpartition(":")[2]


class TTML(_XmlFormat):
    """TTML (.ttml, .dfxp, .itt) and Apple's lyrics: clock, frame, tick and offset times, nested and in sequence.

    A timed <p> is a cue; where only its spans are timed, each of them is.
    """

    name = "TTML"
    endings = (".ttml", ".dfxp", ".itt", ".xml")
    roots = ("tt",)
    document = _TtmlCues


@dataclass
class _YouTubeCues(ParsedCues):
    """Handlers for srv1 (<text start dur> in seconds) and srv2, srv3 (<text> or <p>, t and d in milliseconds)."""

    content: list[str] | None = None
    times: tuple[float, float | None] | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in ("p", "text"):
            self.scrolls = self.scrolls or "w" in attributes
            scale = 1.0 if "start" in attributes else 0.001
            start_s = parse_seconds(attributes.get("start", attributes.get("t")))
            duration_s = parse_seconds(attributes.get("dur", attributes.get("d")))
            self.content, self.times = [], None
            if start_s is None:
                self.skip(f"<{tag} {attributes}>")
            else:
                self.times = (start_s * scale, None if duration_s is None else (start_s + duration_s) * scale)
        elif tag == "br" and self.content is not None:
            self.content.append("\n")

    def text(self, content: str) -> None:
        if self.content is not None:
            self.content.append(content)

    def end(self, tag: str) -> None:
        if tag in ("p", "text") and self.content is not None:
            # The text is escaped twice.
            lines = plain_lines(unescape("".join(self.content)))
            if self.times is not None and (lines or not self.scrolls):
                self.cues.append(Cue(*self.times, lines, ""))
            self.content = None


class YouTubeXml(_XmlFormat):
    """YouTube's timed text (.srv1, .srv2, .srv3)."""

    name = "YouTube XML"
    endings = (".srv3", ".srv2", ".srv1", ".xml")
    roots = ("timedtext", "transcript")
    document = _YouTubeCues
