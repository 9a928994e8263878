"""Removal of markup: tags, style codes, entities and invisible characters.

Every pattern stops at the next opening bracket, so that the time is linear in the length of any text.
"""

import html
import re
import unicodedata

_TAG_NAMES = "i|b|u|s|c|v|p|em|br|rt|rp|tt|big|del|div|ins|sub|sup|bdi|bdo|font|lang|mark|ruby|span|small|strike|strong"
KNOWN_TAG = re.compile(rf"</?(?:{_TAG_NAMES})(?:[\s.=:/][^<>]*)?>", re.IGNORECASE)
ANY_TAG = re.compile(r"<[^<>]*>")
BREAK = re.compile(r"<br\b[^<>]*>|\\N", re.IGNORECASE)
OVERRIDE = re.compile(r"\{\\[^{}]*\}")  # SubStation's {\an8}, which occurs in other formats too
_INLINE_TIME = re.compile(r"<(?:\d{1,4}:){1,2}\d{1,2}(?:[.,]\d{1,6})?>", re.ASCII)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});|&nbsp;?", re.IGNORECASE | re.ASCII)

# Overrides, embeddings and isolates of writing direction reorder the text after them; U+200E and U+200F do not.
_INVISIBLE = {
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *(0x200B, 0x2060, 0xFEFF, 0xFFFE, 0xFFFF),
}
_CONTROLS = {code for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace()}
_DROPPED = dict.fromkeys(_INVISIBLE | _CONTROLS)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def plain_lines(text: str) -> tuple[str, ...]:
    """Clean SubRip and free text: only known tags are removed, since "<laughs>" may be text."""
    text = BREAK.sub("\n", OVERRIDE.sub("", text)).replace("\\h", " ")
    return clean_lines(_INLINE_TIME.sub("", text))


def clean_lines(text: str, tag: re.Pattern[str] = KNOWN_TAG) -> tuple[str, ...]:
    """Remove the tags, resolve entities, and split into lines with visible characters.

    Spaces are collapsed, control and reordering characters dropped.
    """
    text = unescape(tag.sub("", text))
    if not text.isascii():
        text = _SURROGATE.sub("", text)
    lines = (" ".join(line.translate(_DROPPED).split()) for line in text.split("\n"))
    return tuple(line for line in lines if any(map(_is_visible, line)))


def unescape(text: str) -> str:
    """Resolve complete, short entities once: html.unescape fails on a number of 5,000 digits."""
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def _is_visible(character: str) -> bool:
    return character > " " and (character < "\x7f" or unicodedata.category(character) not in ("Cf", "Zs", "Cn"))
