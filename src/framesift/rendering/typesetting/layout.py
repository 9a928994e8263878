"""Layout: lines of text in any script, fitted into a box and drawn. `shaping.py` provides the shaped lines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, groupby
from typing import Any

import numpy as np
import uharfbuzz as hb
from PIL import Image

from framesift.rendering.typesetting.fonts import REGULAR
from framesift.rendering.typesetting.shaping import (
    Letter,
    Paragraph,
    ShapedLine,
    ellipsis_after,
    read_paragraph,
    shape_line,
)

LINE_GAP = 0.14  # ems
# Upper bound on the number of letters per em.
MAX_LETTERS_PER_EM = 6
# An ellipsis follows a whole word if that drops at most this many letters.
MAX_DROPPED_LETTERS = 12
BALANCING_STEPS = 6

# As in UAX #14 and the Japanese kinsoku rules: none of these may begin a line …
_NO_START = set("、。，．：；？！,.:;?!)]}）］｝〉》」』】〕”’»›…‥・ー々ゝゞヽヾ〜%％‰℃°")
_NO_START |= set("ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶ")
_NO_START_AFTER_SPACE = set("?!:;»%")  # French puts a space before them
# … and none of these may end one.
_NO_END = set("([{（［｛〈《「『【〔“‘«‹¡¿$¥￥€£#＃")
_HYPHENS = set("-‐–—")
# Scripts written without spaces.
_IDEOGRAPHIC = {"Hani", "Hira", "Kana", "Bopo", "Yiii"}
_WITHOUT_SPACES = {"Thai"}

LetterSpan = tuple[int, int]


@dataclass(frozen=True)
class TextBlock:
    """Lines at a size in pixels, ready to draw.

    is_cut: whether they show only part of the text; is_rtl: whether the text is right-to-left.
    """

    lines: tuple[ShapedLine, ...]
    size: float
    is_cut: bool = False
    is_rtl: bool = False

    @property
    def width(self) -> int:
        return math.ceil(max((line.width for line in self.lines), default=0.0) * self.size)

    @property
    def height(self) -> int:
        gaps = LINE_GAP * max(0, len(self.lines) - 1)
        return math.ceil((sum(line.height for line in self.lines) + gaps) * self.size)

    def draw(
        self, image: Image.Image, xy: tuple[int, int], fill: str, *, within: int | None = None, centred: bool = False
    ) -> None:
        """Draw with the top left corner at xy. within: the width in which lines are aligned."""
        left, y = float(xy[0]), float(xy[1])
        for line in self.lines:
            free = max(0.0, (within or 0) - line.width * self.size)
            _draw_line(image, line, self.size, (left + free * (0.5 if centred else float(self.is_rtl)), y), fill)
            y += (line.height + LINE_GAP) * self.size


def lay_out(
    text: str,
    width: float,
    *,
    sizes: Sequence[float],
    lines: int,
    height: float = math.inf,
    weight: float = REGULAR,
) -> TextBlock:
    """Lay out a text in at most `lines` lines of at most `width` pixels, in the first of `sizes` in which it fits.

    If it fits in none, the last size is used and the text ends in an ellipsis. height: the maximum height of all lines
    in pixels, though one line is always laid out. A text that no font can draw gives a block without lines.
    """
    paragraph = read_paragraph(text, lines * (int(width / sizes[-1]) + 1) * MAX_LETTERS_PER_EM, weight)
    allowed = breaks([x.text for x in paragraph.letters], [x.script for x in paragraph.letters])
    block = TextBlock((), sizes[-1])
    for size in sizes:
        spans = _balance(paragraph.letters, allowed, width / size, lines)
        for count in range(len(spans), 0, -1):
            is_cut = not paragraph.is_whole or spans[count - 1][1] < len(paragraph.letters)
            rows = _set_lines(paragraph, allowed, spans[:count], width / size, is_cut)
            block = TextBlock(rows, size, is_cut, paragraph.base == 1)
            if block.height <= height:
                break
        if not block.is_cut and block.height <= height:
            break
    return block


def _wrap(letters: Sequence[Letter], allowed: Sequence[bool], width: float, max_lines: int) -> list[LetterSpan]:
    """Fill line by line, up to `max_lines`; a word wider than a line is broken between letters."""
    spans: list[LetterSpan] = []
    start = 0
    while start < len(letters) and len(spans) < max_lines:
        end, used, last_break = start, 0.0, start
        while end < len(letters) and (letters[end].text == " " or used + letters[end].advance <= width or end == start):
            used += letters[end].advance
            end += 1
            if allowed[end - 1]:
                last_break = end
        if end < len(letters) and last_break > start:
            end = last_break
        spans.append((start, end))
        start = end
    return spans


def _balance(letters: Sequence[Letter], allowed: Sequence[bool], width: float, max_lines: int) -> list[LetterSpan]:
    """As few lines as `_wrap` gives, but of about equal width, so that the last line is not a single word."""
    spans = _wrap(letters, allowed, width, max_lines)
    if len(spans) < 2 or spans[-1][1] < len(letters):
        return spans
    narrow, wide = width / len(spans), width
    for _ in range(BALANCING_STEPS):
        middle = (narrow + wide) / 2
        tried = _wrap(letters, allowed, middle, len(spans))
        if tried[-1][1] == len(letters) and _is_unbroken(tried, allowed) >= _is_unbroken(spans, allowed):
            wide, spans = middle, tried
        else:
            narrow = middle
    return spans


def _is_unbroken(spans: Sequence[LetterSpan], allowed: Sequence[bool]) -> bool:
    """Whether lines end only where a break is allowed."""
    return all(allowed[end - 1] for _, end in spans[:-1])


def _set_lines(
    paragraph: Paragraph, allowed: Sequence[bool], spans: Sequence[LetterSpan], width: float, is_cut: bool
) -> tuple[ShapedLine, ...]:
    rows = [_trimmed(paragraph.letters[start:end]) for start, end in spans]
    if is_cut:
        rows[-1] = _with_ellipsis(paragraph, allowed, spans[-1][0], width)
    return tuple(shape_line(row, paragraph.language) for row in rows if row)


def _trimmed(letters: Sequence[Letter]) -> Sequence[Letter]:
    end = len(letters)
    while end and letters[end - 1].text == " ":
        end -= 1
    return letters[:end]


def _with_ellipsis(paragraph: Paragraph, allowed: Sequence[bool], start: int, width: float) -> Sequence[Letter]:
    """As much of a line as fits with an ellipsis, up to the end of a word if one is near."""
    letters = paragraph.letters
    ellipsis = ellipsis_after(letters[start], paragraph.base)
    if ellipsis is None:
        return _trimmed(letters[start:])
    end, used = start, ellipsis.advance
    while end < len(letters) and used + letters[end].advance <= width:
        used += letters[end].advance
        end += 1
    near = range(end, max(start + 1, end - MAX_DROPPED_LETTERS), -1)
    end = next((k for k in near if k == len(letters) or allowed[k - 1]), max(end, start + 1))
    return [*_trimmed(letters[start:end]), ellipsis]


def _draw_line(image: Image.Image, line: ShapedLine, size: float, xy: tuple[float, float], fill: str) -> None:
    """Draw a line whose box has its top left corner at xy; ink above or below the box is clipped."""
    x, y = xy
    # Glyphs may extend beyond their advance by part of an em.
    margin = math.ceil(size / 2)
    left, top = math.floor(x) - margin, math.floor(y)
    width, height = math.ceil(line.width * size) + 2 * margin + 1, math.ceil(line.height * size) + 1
    base = top + height - (y + line.ascent * size)  # from the bottom of the mask, as in HarfBuzz
    canvas = hb.RasterDraw()
    canvas.extents = hb.RasterExtents(0, 0, width, height, 0)
    for glyph in line.glyphs:
        scale = size / glyph.face.units
        canvas.transform = (scale, 0, 0, scale, x - left + glyph.x * size, base + glyph.y * size)
        canvas.draw_glyph(glyph.face.font, glyph.index)
    raster = canvas.render()
    if raster is None:
        return
    extents = raster.extents
    rows = np.frombuffer(raster.buffer, dtype=np.uint8).reshape(extents.height, extents.stride)[::-1, : extents.width]
    mask = Image.fromarray(np.ascontiguousarray(rows))
    image.paste(fill, (left, top), mask)


# Line breaking ------------------------------------------------------------------------------------------------------


def breaks(clusters: Sequence[str], scripts: Sequence[str]) -> list[bool]:
    """For each cluster, whether a line may end after it. scripts: ISO 15924, "" for characters without a script."""
    allowed = [False] * len(clusters)
    for k in range(len(clusters) - 1):
        before, after = clusters[k], clusters[k + 1]
        if after == " ":
            continue
        if before == " ":
            allowed[k] = after[0] not in _NO_START_AFTER_SPACE
        elif before[0] in _HYPHENS:
            allowed[k] = bool(k) and clusters[k - 1] != " " and after[0].isalpha()
        elif _is_ideographic(before, scripts[k]) or _is_ideographic(after, scripts[k + 1]):
            allowed[k] = before[0] not in _NO_END and after[0] not in _NO_START
    for is_unspaced, run in groupby(range(len(clusters)), key=lambda k: scripts[k] in _WITHOUT_SPACES):
        if is_unspaced:
            places = list(run)
            for k in _word_ends([clusters[place] for place in places]):
                allowed[places[k]] = True
    return allowed


def _is_ideographic(cluster: str, script: str) -> bool:
    return script in _IDEOGRAPHIC or "\u3000" <= cluster[0] <= "\u30ff" or "\uff01" <= cluster[0] <= "\uff60"


def _word_ends(clusters: Sequence[str]) -> list[int]:
    """Indices of the clusters that end a Thai word, except the last."""
    sizes = list(accumulate(map(len, clusters)))
    ends = set(accumulate(map(len, _thai().parse("".join(clusters)))))
    return [k for k, size in enumerate(sizes[:-1]) if size in ends]


@cache
def _thai() -> Any:
    import budoux

    return budoux.load_default_thai_parser()
