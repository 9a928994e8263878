"""SAMI: HTML of a kind, whose <SYNC Start=ms> blocks last until the next one; several languages may share a file."""

import re
from collections import defaultdict

from framesift.text.subtitles.cues import Cue, Parsed
from framesift.text.subtitles.markup import html_lines

_SYNC = re.compile(r"<sync\b([^<>]*)>", re.IGNORECASE)
_PARAGRAPH = re.compile(r"<p\b([^<>]*)>", re.IGNORECASE)
_START = re.compile(r"\bstart\s*=\s*[\"']?\s*(-?\d{1,10})", re.IGNORECASE | re.ASCII)
_CLASS = re.compile(r"\bclass\s*=\s*[\"']?\s*([\w-]{1,40})", re.IGNORECASE)
_LANGUAGE = re.compile(r"\.([\w-]{1,40})\s{0,9}\{[^{}]*?\blang\s{0,9}:\s{0,9}([\w-]{1,20})", re.IGNORECASE)


def looks_like_sami(text: str) -> bool:
    return "<sami" in text[:4096].lower() or _SYNC.search(text) is not None


def parse_sami(text: str) -> Parsed:
    """Each block's paragraphs, shown until the next block of the same class; a blank one only clears the screen."""
    first, *rest = _SYNC.split(text)
    languages = {name.lower(): language for name, language in _LANGUAGE.findall(first[:65_536])}
    shown: dict[str, list[tuple[float, tuple[str, ...]]]] = defaultdict(list)
    offender = ""
    for attributes, body in zip(rest[::2], rest[1::2], strict=True):
        if not (start := _START.search(attributes)):
            offender = offender or f"<SYNC{attributes}>"
            continue
        opening, *paragraphs = _PARAGRAPH.split(body)
        if not paragraphs:
            paragraphs = ["", opening]
        for marks, words in zip(paragraphs[::2], paragraphs[1::2], strict=True):
            name = _CLASS.search(marks)
            shown[name[1].lower() if name else ""].append((int(start[1]) / 1000, html_lines(words)))
    cues = [
        (order, Cue(start_s, end_s, lines, languages.get(name, name)))
        for name, blocks in shown.items()
        for order, (start_s, end_s, lines) in enumerate(_until_the_next(blocks))
        if lines
    ]
    return Parsed([cue for _, cue in sorted(cues, key=lambda item: item[0])], offender=offender)


def _until_the_next(
    blocks: list[tuple[float, tuple[str, ...]]],
) -> list[tuple[float, float | None, tuple[str, ...]]]:
    ends: list[float | None] = [start_s for start_s, _ in blocks[1:]]
    return [(start_s, end_s, lines) for (start_s, lines), end_s in zip(blocks, [*ends, None], strict=True)]
