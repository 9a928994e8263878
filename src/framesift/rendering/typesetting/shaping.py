"""Shaping: from text to glyphs, with the font and direction of each letter.

HarfBuzz does the shaping, python-bidi the writing direction (UAX #9). Pillow's own shaping needs a system library that
many machines lack; without it Arabic is drawn unjoined and reversed, without a warning.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate, groupby

import bidi
import regex
import uharfbuzz as hb

from framesift.rendering.typesetting import fonts
from framesift.rendering.typesetting.fonts import Typeface
from framesift.text.subtitles.markup import plain_lines

# In ems. A line is as high as its ink, between the height of Latin text and that of Thai with all its marks; higher ink
# is clipped.
MIN_ASCENT, MAX_ASCENT = 0.76, 1.25
MIN_DESCENT, MAX_DESCENT = 0.22, 0.55

# Longer texts are cut before shaping; no band fits as much.
MAX_CHARACTERS = 20_000

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

_LEVEL = re.compile(r"Level\(\s*(\d+)")

# The language decides the form of Han characters: any kana makes the text Japanese, any hangul Korean.
_LANGUAGES = (({"Hira", "Kana"}, "ja"), ({"Hang"}, "ko"), ({"Hani", "Bopo"}, "zh"))


@dataclass(frozen=True)
class Letter:
    """A grapheme cluster with its font, script and level. advance is in ems.

    script: ISO 15924, "" for characters common to several scripts; run: the script it is shaped with.
    """

    text: str
    script: str
    run: str
    face: Typeface
    level: int = 0
    advance: float = 0.0


@dataclass(frozen=True)
class Glyph:
    """A glyph and its position in a line, in ems from the line's left end and baseline."""

    face: Typeface
    index: int
    x: float
    y: float


@dataclass(frozen=True)
class ShapedLine:
    """A shaped line. Lengths in ems, glyphs from left to right."""

    text: str
    glyphs: tuple[Glyph, ...]
    width: float
    ascent: float
    descent: float

    @property
    def height(self) -> float:
        return self.ascent + self.descent


@dataclass(frozen=True)
class Paragraph:
    """Letters in logical order. base: 1 for right-to-left text, else 0; is_whole: whether no letter was cut off."""

    letters: tuple[Letter, ...]
    base: int
    language: str
    is_whole: bool


@lru_cache(maxsize=64)
def read_paragraph(text: str, max_letters: int, weight: float = fonts.REGULAR) -> Paragraph:
    """Split a text into at most `max_letters` letters; those that no font has are reported and left out."""
    parts = clusters(drawable(text[:MAX_CHARACTERS]))
    is_whole = len(parts) <= max_letters and len(text) <= MAX_CHARACTERS
    parts = parts[:max_letters]
    scripts = [next(filter(None, map(_script_of, part)), "") for part in parts]
    language = next((name for some, name in _LANGUAGES if some & set(scripts)), "")
    letters: list[Letter] = []
    has_gaps = False
    for part, script, run, face in zip(
        parts, scripts, _runs(scripts), _faces(parts, scripts, language, weight), strict=True
    ):
        if face is None:
            fonts.report(*_script_name(part, script))
            has_gaps = True
        elif part != " " or (letters and letters[-1].text != " "):
            letters.append(Letter("".join(filter(face.covers, part)), script, run, face))
    while letters and letters[-1].text == " ":
        letters.pop()
    # Punctuation alone carries no information.
    if has_gaps and not any(letter.text[0].isalnum() for letter in letters):
        letters = []
    base = bidi.get_base_level("".join(letter.text for letter in letters)) if letters else 0
    return Paragraph(_measured(letters, base, language), base, language, is_whole)


def shape_line(letters: Sequence[Letter], language: str) -> ShapedLine:
    """Shape one line into glyphs from left to right."""
    glyphs = []
    x, ascent, descent = 0.0, MIN_ASCENT, MIN_DESCENT
    runs = _split(letters)
    for k in visual_order([run[0].level for run in runs]):
        face = runs[k][0].face
        for info, position in _shape(runs[k], language):
            dx, dy = position.x_offset / face.units, position.y_offset / face.units
            glyphs.append(Glyph(face, info.codepoint, x + dx, dy))
            x += position.x_advance / face.units
            ink = face.font.get_glyph_extents(info.codepoint)
            if ink is not None:
                ascent = max(ascent, dy + ink.y_bearing / face.units)
                descent = max(descent, -dy - (ink.y_bearing + ink.height) / face.units)
    text = "".join(letter.text for letter in letters)
    return ShapedLine(text, tuple(glyphs), x, min(ascent, MAX_ASCENT), min(descent, MAX_DESCENT))


def ellipsis_after(letter: Letter, base: int) -> Letter | None:
    """An ellipsis in the letter's font if it has one, at the end of the paragraph's direction."""
    face = letter.face if letter.face.covers("…") else fonts.find("…", weight=letter.face.weight)
    if face is None:
        return None
    glyph = face.font.get_nominal_glyph(ord("…"))
    return Letter("…", "", letter.run, face, base, face.font.get_glyph_h_advance(glyph) / face.units if glyph else 0.0)


def _measured(letters: Sequence[Letter], base: int, language: str) -> tuple[Letter, ...]:
    """Set the levels and advances of letters."""
    levels = embedding_levels("".join(letter.text for letter in letters), base)
    start, levelled = 0, []
    for letter in letters:
        levelled.append(replace(letter, level=levels[start]))
        start += len(letter.text)
    measured: list[Letter] = []
    for run in _split(levelled):
        owners = [k for k, letter in enumerate(run) for _ in letter.text]
        advances = [0] * len(run)
        for info, position in _shape(run, language):
            advances[owners[info.cluster]] += position.x_advance
        measured += (
            replace(letter, advance=advance / letter.face.units) for letter, advance in zip(run, advances, strict=True)
        )
    return tuple(measured)


def _split(letters: Sequence[Letter]) -> list[list[Letter]]:
    """Split into runs of one font, one script and one direction."""
    return [list(run) for _, run in groupby(letters, key=lambda letter: (id(letter.face), letter.run, letter.level))]


def _shape(run: Sequence[Letter], language: str) -> list[tuple[hb.GlyphInfo, hb.GlyphPosition]]:
    buffer = hb.Buffer()
    buffer.add_str("".join(letter.text for letter in run))
    buffer.direction = "rtl" if run[0].level % 2 else "ltr"
    buffer.script = run[0].run or "Zyyy"
    if language:
        buffer.language = language
    hb.shape(run[0].face.font, buffer)
    return list(zip(buffer.glyph_infos, buffer.glyph_positions, strict=True))


# Writing direction ----------------------------------------------------------------------------------------------------


def embedding_levels(text: str, base: int) -> list[int]:
    """The level of each character by the Unicode bidirectional algorithm; odd levels are right-to-left."""
    per_byte = _LEVEL.findall(bidi.get_display(text, base_dir="LR"[base], debug=True))
    ends = accumulate(len(character.encode()) for character in text)
    return [int(per_byte[end - 1]) for end in ends]


def visual_order(levels: Sequence[int]) -> list[int]:
    """The indices in order from left to right (rule L2)."""
    order = list(range(len(levels)))
    for level in range(max(levels, default=0), 0, -1):
        groups = groupby(order, key=lambda k: levels[k] >= level)
        order = [k for reverse, group in groups for k in (reversed([*group]) if reverse else group)]
    return order


# Scripts and fonts ----------------------------------------------------------------------------------------------------


def _faces(parts: Sequence[str], scripts: Sequence[str], language: str, weight: float) -> list[Typeface | None]:
    """The font of each letter; characters without a script take that of the letter before or after them if it fits."""
    faces = [
        fonts.find(part, language, weight) if script else None for part, script in zip(parts, scripts, strict=True)
    ]
    nearest: Iterator[Typeface | None] = accumulate(reversed(faces), lambda later, face: face or later)
    following = list(nearest)[::-1]
    before = None
    for k, (part, script) in enumerate(zip(parts, scripts, strict=True)):
        if not script:
            neighbours = (face for face in (before, following[k]) if face is not None and face.covers(part))
            faces[k] = next(neighbours, None) or fonts.find(part, language, weight)
        before = faces[k] or before
    return faces


def _runs(scripts: Sequence[str]) -> list[str]:
    """The scripts, with those of characters that have none taken from the letter before, or from the first letter."""
    latest = next(filter(None, scripts), "")
    return [latest := script or latest for script in scripts]


@cache
def _script_of(character: str) -> str:
    buffer = hb.Buffer()
    buffer.add_str(character)
    buffer.guess_segment_properties()
    script = buffer.script
    return script if script and script not in ("Zyyy", "Zinh", "Zzzz") else ""


def _script_name(cluster: str, script: str) -> tuple[str, str]:
    """A letter of the script, and the name of the script as in Unicode character names."""
    if not script:
        return cluster[0], "symbols"
    letter = next(c for c in cluster if _script_of(c) == script)
    name = unicodedata.name(letter, script).split()[0].title()
    return letter, f"{'Chinese' if name == 'Cjk' else name} letters"


# Text as it can be drawn: no markup, no emoji, no direction controls, one line ----------------------------------------


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
