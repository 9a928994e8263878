"""Text as a viewer would read it: no tags, no styling codes, no entities, nothing invisible.

Every pattern stops at the next opening bracket, so that the work stays linear on any text.
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
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s([^<>]*)>")
_OVERRIDE = re.compile(r"\{\\[^{}]*\}")
_ANY_OVERRIDE = re.compile(r"\{([^{}]*)\}")
_DRAWING = re.compile(r"\\p(\d{1,3})", re.ASCII)
_MICRODVD_CODE = re.compile(r"\{[a-z]:[^{}]*\}", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});|&nbsp;?", re.IGNORECASE | re.ASCII)
_NOTE = re.compile(r"\[[^][]*\]|【[^【】]*】|［[^［］]*］")
_WHOLE_LINE_NOTE = re.compile(r"[-‐–—>\s]*(?:\([^()]*\)|（[^（）]*）)[\s.]*")
_MUSIC = re.compile(r"[♩♪♫♬♭♮♯🎵🎶]")

# Overrides, embeddings and isolates of writing direction reorder what follows them; a mark (U+200E, U+200F) does not.
_DISTURBING = {
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *(0x200B, 0x2060, 0xFEFF, 0xFFFE, 0xFFFF),
}
_DROPPED = dict.fromkeys(_DISTURBING) | {
    code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace()
}
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def plain_lines(text: str) -> tuple[str, ...]:
    """Lines of SubRip and of free text: only tags that are known to be tags go, for "<laughs>" may be words."""
    text = _BREAK.sub("\n", _OVERRIDE.sub("", text)).replace("\\h", " ")
    return tidy_lines(unescape(_KNOWN_TAG.sub("", _INLINE_TIME.sub("", text))))


def html_lines(text: str) -> tuple[str, ...]:
    """Lines of SAMI, where line ends are blanks and every bracket is a tag."""
    text = _BREAK.sub("\n", " ".join(without_comments(text).split("\n")))
    return tidy_lines(unescape(_ANY_TAG.sub("", text)))


def webvtt_lines(text: str) -> tuple[str, ...]:
    """Lines of WebVTT, where every bracket is a tag and <v Name> says who speaks."""
    speaker = ""

    def name(voice: re.Match[str]) -> str:
        nonlocal speaker
        if voice[1].strip() in ("", speaker):
            return ""
        speaker = voice[1].strip()
        return f"{speaker}: "

    return tidy_lines(unescape(_ANY_TAG.sub("", _VOICE.sub(name, _OVERRIDE.sub("", text)))))


def substation_lines(text: str) -> tuple[str, ...]:
    """Lines of ASS and SSA: overrides and comments in braces go, and so do drawings, which are no words."""
    pieces, drawing = [], False
    for k, piece in enumerate(_ANY_OVERRIDE.split(text)):
        if k % 2:
            for scale in _DRAWING.findall(piece):
                drawing = scale.strip("0") != ""
        elif not drawing:
            pieces.append(piece)
    text = "".join(pieces).replace("\\N", "\n").replace("\\n", "\n").replace("\\h", " ")
    return tidy_lines(unescape(_KNOWN_TAG.sub("", text)))


def microdvd_lines(text: str) -> tuple[str, ...]:
    """Lines of MicroDVD: "|" parts them, {y:i} and a leading "/" style them."""
    text = _MICRODVD_CODE.sub("", _OVERRIDE.sub("", text)).replace("|", "\n")
    return tidy_lines(unescape(_KNOWN_TAG.sub("", re.sub(r"^[ \t]*/", "", text, flags=re.MULTILINE))))


def unescape(text: str) -> str:
    """Resolve entities once. Only complete and short ones: the standard function chokes on a number of 5,000 digits."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def without_comments(text: str) -> str:
    """The text without <!-- … -->; one that never closes stays."""
    kept, at = [], 0
    while (opened := text.find("<!--", at)) >= 0 and (closed := text.find("-->", opened)) >= 0:
        kept.append(text[at:opened])
        at = closed + 3
    return "".join((*kept, text[at:]))


def tidy_lines(text: str) -> tuple[str, ...]:
    """Lines that hold something to see, blanks collapsed and what would disturb a line dropped."""
    if not text.isascii():
        text = _SURROGATE.sub("", text)
    lines = (" ".join(line.translate(_DROPPED).split()) for line in text.split("\n"))
    return tuple(line for line in lines if any(map(_is_seen, line)))


def without_notes(lines: Iterable[str]) -> tuple[str, ...]:
    """Lines without [notes], lines all in parentheses and music signs. Sung words and speaker marks stay."""
    kept = []
    for line in lines:
        bare = "" if _WHOLE_LINE_NOTE.fullmatch(line) else " ".join(_MUSIC.sub(" ", _NOTE.sub(" ", line)).split())
        if any(c.isalnum() for c in bare):
            kept.append(bare)
    return tuple(kept)


def _is_seen(character: str) -> bool:
    return character > " " and (character < "\x7f" or unicodedata.category(character) not in ("Cf", "Zs", "Cn"))
