"""Cleaning text for drawing: no markup, no emoji, no direction controls, one line."""

import unicodedata

import regex

from framesift.text.subtitles.markup import plain_lines

# Combining marks per letter; more would leave the line.
MAX_MARKS = 8

# An emoji, its variants, and what a joiner adds. Symbols such as © and ♥ are kept unless a selector makes them emoji.
_BASE = r"(?:[\p{Emoji_Presentation}\U0001f300-\U0001faff]|\p{Extended_Pictographic}(?=[\ufe0f\p{Emoji_Modifier}]))"
_VARIANT = r"[\p{Emoji_Modifier}\ufe0f\u20e3\U000e0020-\U000e007f]*"
_JOINED = rf"(?:\u200d\p{{Extended_Pictographic}}{_VARIANT})*"
_EMOJI = regex.compile(
    rf"\p{{Regional_Indicator}}+|{_BASE}{_VARIANT}{_JOINED}|[\p{{Emoji_Modifier}}\ufe0e\ufe0f\u20e3]"
)
_CLUSTER = regex.compile(r"\X")
_JOINERS = "\u200c\u200d"  # part of the spelling in several scripts
# A line break inside Chinese or Japanese text is not a space.
_UNSPACED = regex.compile(r"(?<=[\p{Han}\p{Hiragana}\p{Katakana}。、！？])\n(?=[\p{Han}\p{Hiragana}\p{Katakana}「『])")


def drawable(text: str) -> str:
    """Return the drawable part of a text as one line in NFC."""
    text = regex.sub(r"[\ud800-\udfff]", "", text)
    text = unicodedata.normalize("NFC", _EMOJI.sub("", "\n".join(plain_lines(text))))
    text = _UNSPACED.sub("", text)
    line = " ".join("".join(c for c in text if c.isspace() or c in _JOINERS or _is_visible(c)).split())
    return line if line.strip(_JOINERS + " ") else ""


def clusters(text: str) -> list[str]:
    """Split into grapheme clusters, with at most MAX_MARKS combining marks each."""
    return [cluster[: MAX_MARKS + 1] for cluster in _CLUSTER.findall(text)]


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
