"""Text as it can be drawn: no markup, no emoji, nothing that turns the writing around, one line."""

import unicodedata

import regex

from framesift.text.subtitles.markup import plain_lines

# Marks above this on one letter climb out of any line.
MOST_MARKS = 8

# A picture, its variants, and what a joiner ties to it. Signs such as © and ♥ stay unless a selector makes them one.
_PICTURE = r"(?:[\p{Emoji_Presentation}\U0001f300-\U0001faff]|\p{Extended_Pictographic}(?=[\ufe0f\p{Emoji_Modifier}]))"
_VARIANT = r"[\p{Emoji_Modifier}\ufe0f\u20e3\U000e0020-\U000e007f]*"
_TIED = rf"(?:\u200d\p{{Extended_Pictographic}}{_VARIANT})*"
_EMOJI = regex.compile(
    rf"\p{{Regional_Indicator}}+|{_PICTURE}{_VARIANT}{_TIED}|[\p{{Emoji_Modifier}}\ufe0e\ufe0f\u20e3]"
)
_CLUSTER = regex.compile(r"\X")
_JOINERS = "\u200c\u200d"  # part of the spelling in several scripts
# A line break inside Chinese or Japanese is no blank.
_UNSPACED = regex.compile(r"(?<=[\p{Han}\p{Hiragana}\p{Katakana}。、！？])\n(?=[\p{Han}\p{Hiragana}\p{Katakana}「『])")


def drawable(text: str) -> str:
    """What of a text can be drawn, as one line of NFC."""
    text = regex.sub(r"[\ud800-\udfff]", "", text)
    text = unicodedata.normalize("NFC", _EMOJI.sub("", "\n".join(plain_lines(text))))
    text = _UNSPACED.sub("", text)
    kept = " ".join("".join(c for c in text if c.isspace() or c in _JOINERS or _is_seen(c)).split())
    return kept if kept.strip(_JOINERS + " ") else ""


def clusters(text: str) -> list[str]:
    """What a reader takes for single letters; towers of marks are cut down."""
    return [cluster[: MOST_MARKS + 1] for cluster in _CLUSTER.findall(text)]


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")
