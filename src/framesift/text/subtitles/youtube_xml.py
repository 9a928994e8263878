"""YouTube's timed text in XML (.srv1, .srv2, .srv3)."""

from dataclasses import dataclass, field

from framesift.text.subtitles.base import Cue, ParsedCues, SubtitleFormat, parse_seconds, trim_overlaps
from framesift.text.subtitles.markup import plain_lines, unescape
from framesift.text.subtitles.xml_stream import parse_xml, subtitle_root


class YouTubeXml(SubtitleFormat):
    """srv1, srv2 and srv3. In a scrolling window a line stays visible after the next one appears: it ends there."""

    name = "YouTube XML"
    endings = (".srv3", ".srv2", ".srv1", ".xml")

    def matches(self, text: str) -> bool:
        return subtitle_root(text) in ("timedtext", "transcript")

    def parse(self, text: str) -> ParsedCues:
        document = _YouTubeDocument()
        parse_xml(text, document)
        cues = trim_overlaps(document.cues) if document.scrolls else document.cues
        return ParsedCues(cues, bad_line=document.bad_line)


@dataclass
class _YouTubeDocument:
    """Handlers for srv1 (<text start dur> in seconds) and srv2, srv3 (<text> or <p>, t and d in milliseconds)."""

    cues: list[Cue] = field(default_factory=list)
    content: list[str] | None = None
    times: tuple[float, float | None] | None = None
    scrolls: bool = False
    bad_line: str = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in ("p", "text"):
            self.scrolls = self.scrolls or "w" in attributes
            scale = 1.0 if "start" in attributes else 0.001
            start_s = parse_seconds(attributes.get("start", attributes.get("t")))
            duration_s = parse_seconds(attributes.get("dur", attributes.get("d")))
            self.content, self.times = [], None
            if start_s is None:
                self.bad_line = self.bad_line or f"<{tag} {attributes}>"
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
                self.cues.append(Cue(*self.times, lines))
            self.content = None
