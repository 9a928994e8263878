"""SAMI (.smi): HTML-like blocks, <SYNC Start=ms>, in one or several languages."""

import re
from collections import defaultdict

from framesift.text.subtitles.base import Cue, ParsedCues, SubtitleFormat
from framesift.text.subtitles.markup import ANY_TAG, BREAK, clean_lines

_SYNC = re.compile(r"<sync\b([^<>]*)>", re.IGNORECASE)
_PARAGRAPH = re.compile(r"<p\b([^<>]*)>", re.IGNORECASE)
_START = re.compile(r"\bstart\s*=\s*[\"']?\s*(-?\d{1,10})", re.IGNORECASE | re.ASCII)
_CLASS = re.compile(r"\bclass\s*=\s*[\"']?\s*([\w-]{1,40})", re.IGNORECASE)
_LANGUAGE = re.compile(r"\.([\w-]{1,40})\s{0,9}\{[^{}]*?\blang\s{0,9}:\s{0,9}([\w-]{1,20})", re.IGNORECASE)


class SAMI(SubtitleFormat):
    """SAMI. A paragraph is shown until the next block of its class; an empty one only clears the screen."""

    name = "SAMI"
    endings = (".smi", ".sami")

    def matches(self, text: str) -> bool:
        return "<sami" in text[:4096].lower() or _SYNC.search(text) is not None

    def parse(self, text: str) -> ParsedCues:
        head, *rest = _SYNC.split(text)
        languages = {name.lower(): language for name, language in _LANGUAGE.findall(head[:65_536])}
        paragraphs_by_class: dict[str, list[tuple[float, tuple[str, ...]]]] = defaultdict(list)
        parsed = ParsedCues()
        for attributes, body in zip(rest[::2], rest[1::2], strict=True):
            if not (start := _START.search(attributes)):
                parsed.skip(f"<SYNC{attributes}>")
                continue
            opening, *paragraphs = _PARAGRAPH.split(body)
            if not paragraphs:
                paragraphs = ["", opening]
            for paragraph_attributes, content in zip(paragraphs[::2], paragraphs[1::2], strict=True):
                match = _CLASS.search(paragraph_attributes)
                name = match[1].lower() if match else ""
                paragraphs_by_class[name].append((int(start[1]) / 1000, _clean(content)))
        for name, shown in paragraphs_by_class.items():
            ends = [*(start_s for start_s, _ in shown[1:]), None]
            for (start_s, lines), end_s in zip(shown, ends, strict=True):
                if lines:
                    parsed.cues.append(Cue(start_s, end_s, lines, languages.get(name, name)))
        return parsed


def _clean(text: str) -> tuple[str, ...]:
    """Clean the text of a paragraph: line ends are spaces, and every bracket is a tag."""
    return clean_lines(BREAK.sub("\n", " ".join(_strip_comments(text).split("\n"))), ANY_TAG)


def _strip_comments(text: str) -> str:
    """Remove <!-- … -->; one that is never closed stays."""
    parts, at = [], 0
    while (opened := text.find("<!--", at)) >= 0 and (closed := text.find("-->", opened)) >= 0:
        parts.append(text[at:opened])
        at = closed + 3
    return "".join((*parts, text[at:]))
