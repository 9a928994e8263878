"""Removal of markup: tags, style codes, entities and invisible characters.

Every pattern stops at the next opening bracket, so that the time is linear in the length of any text.
"""

import html
import re
import unicodedata
from collections.abc import Iterable

_TAG_NAMES = "i|b|u|s|c|v|p|em|br|rt|rp|tt|big|del|div|ins|sub|sup|bdi|bdo|font|lang|mark|ruby|span|small|strike|strong"
_KNOWN_TAG = re.compile(rf"</?(?:{_TAG_NAMES})(?:[\s.=:/][^<>]*)?>", re.IGNORECASE)
_BREAK = re.compile(r"<br\b[^<>]*>|\\N", re.IGNORECASE)
_ANY_TAG = re.compile(r"<[^<>]*>")
_INLINE_TIME = re.compile(r"<(?:\d{1,4}:){1,2}\d{1,2}(?:[.,]\d{1,6})?>", re.ASCII)
_OVERRIDE = re.compile(r"\{\\[^{}]*\}")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});|&nbsp;?", re.IGNORECASE | re.ASCII)
_BRACKETED_NOTE = re.compile(r"\[[^][]*\]|【[^【】]*】|［[^［］]*］")
_PARENTHESISED_LINE = re.compile(r"[-‐–—>\s]*(?:\([^()]*\)|（[^（）]*）)[\s.]*")
_MUSIC = re.compile(r"[♩♪♫♬♭♮♯🎵🎶]")

# Overrides, embeddings and isolates of writing direction reorder the text after them; U+200E and U+200F do not.
_INVISIBLE = {
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *(0x200B, 0x2060, 0xFEFF, 0xFFFE, 0xFFFF),
}
_DROPPED = dict.fromkeys(_INVISIBLE) | {
    code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace()
}
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def plain_lines(text: str) -> tuple[str, ...]:
    """Clean SubRip and free text: only known tags are removed, since "<laughs>" may be text."""
    text = break_lines(strip_overrides(text)).replace("\\h", " ")
    return tidy_lines(unescape(strip_known_tags(_INLINE_TIME.sub("", text))))


def break_lines(text: str) -> str:
    """Replace <br> and \\N by line ends."""
    return _BREAK.sub("\n", text)


def strip_overrides(text: str) -> str:
    """Remove the override codes of SubStation ({\\an8}), which occur in other formats too."""
    return _OVERRIDE.sub("", text)


def strip_known_tags(text: str) -> str:
    """Remove the tags that subtitles use for styles."""
    return _KNOWN_TAG.sub("", text)


def strip_all_tags(text: str) -> str:
    """Remove everything in angle brackets."""
    return _ANY_TAG.sub("", text)


def unescape(text: str) -> str:
    """Resolve complete, short entities once: html.unescape fails on a number of 5,000 digits."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def tidy_lines(text: str) -> tuple[str, ...]:
    """Split into lines with visible characters; spaces are collapsed, control and reordering characters dropped."""
    if not text.isascii():
        text = _SURROGATE.sub("", text)
    lines = (" ".join(line.translate(_DROPPED).split()) for line in text.split("\n"))
    return tuple(line for line in lines if any(map(_is_visible, line)))


def without_notes(lines: Iterable[str]) -> tuple[str, ...]:
    """Remove [notes], lines all in parentheses and music symbols. Lyrics and dashes before speakers stay."""
    cleaned = []
    for line in lines:
        bare = " ".join(_MUSIC.sub(" ", _BRACKETED_NOTE.sub(" ", line)).split())
        if any(c.isalnum() for c in bare) and not _PARENTHESISED_LINE.fullmatch(line):
            cleaned.append(bare)
    return tuple(cleaned)


def _is_visible(character: str) -> bool:
    return character > " " and (character < "\x7f" or unicodedata.category(character) not in ("Cf", "Zs", "Cn"))
