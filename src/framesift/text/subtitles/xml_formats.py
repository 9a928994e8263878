"""Formats in XML: TTML (DFXP, iTT, lyrics) and YouTube's srv1, srv2 and srv3.

Read as a stream, so that a large file builds no tree. A file that declares entities is refused: no subtitle needs them,
and a few lines of them can grow to gigabytes.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NoReturn
from xml.parsers import expat

from framesift.text.subtitles.cues import CLOCK, Cue, Parsed, Unreadable, clock_seconds, seconds
from framesift.text.subtitles.markup import plain_lines, unescape

_ROOT = re.compile(r"<(?:[\w-]{1,20}:)?(tt|timedtext|transcript)[\s>]", re.IGNORECASE)
_LOOSE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)[a-z0-9]{0,31};?", re.IGNORECASE)
_NOT_XML = dict.fromkeys([*(k for k in range(32) if k not in (9, 10)), 0xFFFE, 0xFFFF])
_CLOCK = re.compile(CLOCK, re.ASCII)
_FRAMES = re.compile(r"(\d{1,4}):(\d{2}):(\d{2})[:;](\d{1,4})(?:\.(\d{1,4}))?", re.ASCII)
_OFFSET = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)(h|ms|m|s|f|t)", re.ASCII)
_HIDDEN = {"metadata", "title", "desc", "copyright", "agent", "name", "head", "style", "set"}
_MAX_DEPTH = 200


def xml_root(text: str) -> str:
    """The name of the root element among those we know, or ""."""
    match = _ROOT.search(text[:8192]) if text.lstrip()[:1] == "<" else None
    return match[1].lower() if match else ""


@dataclass
class _Element:
    """An open element: its time, and the words collected below it."""

    name: str
    begin_s: float = 0.0
    end_s: float | None = None
    timed: bool = False  # it or an element around it says when
    own_time: bool = False  # it does, or within a <p> one between does
    language: str = ""
    sequence: bool = False
    cursor_s: float = 0.0  # where the next child of a sequence begins
    words: list[str] | None = None
    hidden: bool = False


@dataclass
class _Clock:
    """How a document counts: ttp:frameRate and its relatives."""

    nominal_fps: float = 30.0
    multiplier: float = 1.0
    tick_rate: float = 1.0
    smpte: bool = False
    drop_frame: bool = False
    absolute: bool = False  # Apple's lyrics: nested times all count from the start

    def seconds(self, value: str | None) -> float | None:
        """A time expression in seconds; None when there is none or it can't be read."""
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
        return seconds(value)


@dataclass
class _Ttml:
    """Handlers for a TTML document. A timed <p> is a cue; where only its spans are timed, each of them is."""

    cues: list[Cue] = field(default_factory=list)
    clock: _Clock = field(default_factory=_Clock)
    open: list[_Element] = field(default_factory=list)
    offender: str = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) >= _MAX_DEPTH:
            raise Unreadable(f"its elements are nested deeper than {_MAX_DEPTH}", f"<{tag}>")
        name = _local(tag)
        given = {_local(key): value for key, value in attributes.items()}
        if name == "tt":
            self.clock = _read_clock(attributes, given)
        above = self.open[-1] if self.open else _Element("")
        element = self._timed(name, given, above)
        if name in ("tt", "body", "div"):
            element.language = given.get("lang") or above.language
        if name == "br" and above.words is not None:
            above.words.append("\n")
        inside = above.words is not None and above.own_time == element.own_time
        if inside:
            element.words = above.words
        elif name in ("p", "span"):
            element.words = []
        self.open.append(element)

    def _timed(self, name: str, given: dict[str, str], above: _Element) -> _Element:
        begin, end, length = (self.clock.seconds(given.get(key)) for key in ("begin", "end", "dur"))
        for key, value in (("begin", begin), ("end", end), ("dur", length)):
            if key in given and value is None:
                self.offender = self.offender or f"{key}={given[key]!r}"
        base = above.cursor_s if above.sequence else above.begin_s
        if self.clock.absolute:
            base = 0.0
        begin_s = above.begin_s if begin is None and self.clock.absolute else base + (begin or 0.0)
        own_time = begin is not None or end is not None or length is not None
        ends = [base + end] if end is not None else []
        if length is not None:
            ends.append(begin_s + length)
        if not ends and above.end_s is not None:
            ends.append(above.end_s)
        return _Element(
            name,
            begin_s,
            min(ends) if ends else None,
            timed=above.timed or own_time,
            own_time=own_time or (above.words is not None and above.own_time),
            language=above.language,
            sequence=given.get("timeContainer") == "seq",
            cursor_s=begin_s,
            hidden=above.hidden or name in _HIDDEN,
        )

    def text(self, words: str) -> None:
        if self.open and not self.open[-1].hidden and (target := self.open[-1].words) is not None:
            target.append(" ".join(words.split("\n")))

    def end(self, _tag: str) -> None:
        element = self.open.pop()
        above = self.open[-1] if self.open else None
        if above is not None and above.sequence:
            above.cursor_s = element.end_s if element.end_s is not None else element.begin_s
        if element.words is None or (above is not None and above.words is element.words):
            return
        lines = plain_lines("".join(element.words))
        if element.own_time or (element.timed and lines):
            self.cues.append(Cue(element.begin_s, element.end_s, lines, element.language))
        elif lines:
            self.offender = self.offender or " ".join(lines)


def parse_ttml(text: str) -> Parsed:
    """TTML in any of its dress: clock, frame, tick and offset times, nested and in sequence."""
    document = _Ttml()
    _feed(text, document)
    return Parsed(document.cues, offender=document.offender)


@dataclass
class _YouTube:
    """Handlers for srv1 (<text start dur> in seconds) and srv2, srv3 (<text> or <p>, t and d in milliseconds)."""

    cues: list[Cue] = field(default_factory=list)
    words: list[str] | None = None
    times: tuple[float, float | None] | None = None
    scrolls: bool = False
    offender: str = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in ("p", "text"):
            self.scrolls = self.scrolls or "w" in attributes
            scale = 1.0 if "start" in attributes else 0.001
            start_s = seconds(attributes.get("start", attributes.get("t")))
            length_s = seconds(attributes.get("dur", attributes.get("d")))
            self.words, self.times = [], None
            if start_s is None:
                self.offender = self.offender or f"<{tag} {attributes}>"
            else:
                self.times = (start_s * scale, None if length_s is None else (start_s + length_s) * scale)
        elif tag == "br" and self.words is not None:
            self.words.append("\n")

    def text(self, words: str) -> None:
        if self.words is not None:
            self.words.append(words)

    def end(self, tag: str) -> None:
        if tag in ("p", "text") and self.words is not None:
            # These files escape their text twice.
            lines = plain_lines(unescape("".join(self.words)))
            if self.times is not None and (lines or not self.scrolls):
                self.cues.append(Cue(*self.times, lines))
            self.words = None


def parse_youtube_xml(text: str) -> Parsed:
    """YouTube's timed text. In a scrolling window a line stays on screen after the next has come: it ends there."""
    document = _YouTube()
    _feed(text, document)
    return Parsed(cut_at_the_next(document.cues) if document.scrolls else document.cues, offender=document.offender)


def cut_at_the_next(cues: Iterable[Cue]) -> list[Cue]:
    """Cues that each end when the next begins, where they would overlap it."""
    cut = sorted(cues, key=lambda cue: cue.start_s)
    for k, (cue, after) in enumerate(pairwise(cut)):
        if cue.end_s is not None and cue.start_s < after.start_s < cue.end_s:
            cut[k] = Cue(cue.start_s, after.start_s, cue.lines, cue.language)
    return cut


def _feed(text: str, document: _Ttml | _YouTube) -> None:
    """Run the handlers over the text; loose ampersands and HTML's entities are mended first."""
    # Expat reads the declared encoding, which is no longer that of the text.
    text = re.sub(r"^\s*<\?xml[^<>]*\?>", "", text)
    text = _LOOSE.sub(_mend, text.translate(_NOT_XML).strip())
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = document.start
    parser.CharacterDataHandler = document.text
    parser.EndElementHandler = document.end
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        lines = text.split("\n", error.lineno)
        line = lines[error.lineno - 1] if error.lineno <= len(lines) else ""
        raise Unreadable(f"its XML is damaged at line {error.lineno}, {expat.ErrorString(error.code)}", line) from None


def _refuse_entities(name: str, *_: object) -> NoReturn:
    raise Unreadable("it declares XML entities, which no subtitle needs", f"<!ENTITY {name}")


def _mend(loose: re.Match[str]) -> str:
    """HTML's entity as its character; any other ampersand as one."""
    known = unescape(loose[0])
    return known if known != loose[0] and known not in "<>&" else "&amp;" + loose[0][1:]


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _read_clock(attributes: dict[str, str], given: dict[str, str]) -> _Clock:
    clock = _Clock(smpte=given.get("timeBase") == "smpte", drop_frame=given.get("dropMode", "").startswith("drop"))
    clock.nominal_fps = _rate(given.get("frameRate"), 30.0)
    numerator, _, denominator = given.get("frameRateMultiplier", "1 1").replace(":", " ").strip().partition(" ")
    clock.multiplier = _rate(numerator, 1.0) / _rate(denominator, 1.0)
    frames_per_tick = clock.nominal_fps * clock.multiplier * _rate(given.get("subFrameRate"), 1.0)
    clock.tick_rate = _rate(given.get("tickRate"), frames_per_tick if "frameRate" in given else 1.0)
    clock.absolute = "timing" in given and any("music.apple.com" in value for value in attributes.values())
    return clock


def _rate(value: str | None, default: float) -> float:
    rate = seconds(value)
    return rate if rate is not None and rate > 0 else default
