"""The contact sheet: all selected frames on one image, each with its time, role and text."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from PIL import Image, ImageDraw, ImageOps

from framesift._utils.text import counted
from framesift.rendering.palette import ROLE_COLOURS, ROLE_NAMES
from framesift.rendering.typesetting.layout import TextBlock, lay_out

BACKGROUND, INK, FAINT_INK, LETTERBOX = "#ffffff", "#0f172a", "#475569", "#0b0f19"
OTHER_ROLE = "#475569"
# (most cards, columns): thumbnails stay recognisable and the sheet is no taller than necessary.
COLUMNS = ((8, 4), (36, 6), (96, 8), (math.inf, 12))
MIN_CELL_WIDTH = 90
# Limits of the aspect ratio of the cells; images of another ratio are letterboxed.
MIN_ASPECT, MAX_ASPECT = 3 / 4, 16 / 9
TITLE_SIZE, TITLE_LINES = 26.0, 3
NOTE_SIZE = 15.0
TEXT_LINES = 2
# Text size as a fraction of a card's width, and its limits in pixels.
CARD_TEXT, MIN_TEXT, MAX_TEXT = 0.055, 10.0, 17.0
MIN_STRIP_TEXT = 6.0


@dataclass(frozen=True)
class Card:
    """One frame on the sheet. image: a thumbnail of any size and aspect ratio; text: that of its event, if any.

    is_damaged: marked as damaged beside its role.
    """

    image: Image.Image
    time: str
    role: str
    text: str
    is_damaged: bool


@dataclass(frozen=True)
class Grid:
    """Layout of a sheet, in pixels."""

    width: int
    columns: int
    margin: int
    gap: int
    cell: tuple[int, int]
    text_size: float

    @property
    def strip(self) -> int:
        """Height of the coloured strip under a thumbnail."""
        return math.ceil(self.text_size * 1.6)


def sheet(cards: Sequence[Card], *, title: str, width: int = 1600) -> Image.Image:
    """Draw the cards in their order, row by row, under the title and the number of frames in each role."""
    grid = _grid(cards, width)
    inside = max(1, width - 2 * grid.margin)
    heading = lay_out(title, inside, sizes=(TITLE_SIZE,), lines=TITLE_LINES)
    note = lay_out(_note(cards), inside, sizes=(NOTE_SIZE,), lines=2)
    texts = [lay_out(card.text, grid.cell[0], sizes=(grid.text_size,), lines=TEXT_LINES) for card in cards]
    pairs = list(zip(cards, texts, strict=True))
    rows = [pairs[k : k + grid.columns] for k in range(0, len(pairs), grid.columns)]
    # Of a row: thumbnails, strip, and the texts where there are any.
    text_heights = [max(block.height for _, block in row) for row in rows]
    heights = [grid.cell[1] + grid.strip + (text and text + math.ceil(grid.text_size * 0.5)) for text in text_heights]

    note_top = grid.margin + heading.height + (grid.gap if heading.lines else 0)
    top = note_top + note.height + grid.gap
    canvas = Image.new("RGB", (width, top + sum(heights) + grid.gap * max(0, len(rows) - 1) + grid.margin), BACKGROUND)
    heading.draw(canvas, (grid.margin, grid.margin), INK)
    note.draw(canvas, (grid.margin, note_top), FAINT_INK)
    for row, height in zip(rows, heights, strict=True):
        for column, (card, block) in enumerate(row):
            _draw_card(canvas, grid, card, block, (grid.margin + column * (grid.cell[0] + grid.gap), top))
        top += height + grid.gap
    return canvas


def _grid(cards: Sequence[Card], width: int) -> Grid:
    preferred = next(columns for most, columns in COLUMNS if len(cards) <= most)
    margin = max(2, round(width * 0.02))
    columns = max(1, min(preferred, (width - 2 * margin) // MIN_CELL_WIDTH))
    gap = max(4, round(margin * 4 / (columns + 2)))
    cell = max(1, (width - 2 * margin - gap * (columns - 1)) // columns)
    aspect = median([card.image.width / max(1, card.image.height) for card in cards] or [MAX_ASPECT])
    height = max(1, round(cell / min(max(aspect, MIN_ASPECT), MAX_ASPECT)))
    return Grid(width, columns, margin, gap, (cell, height), min(max(cell * CARD_TEXT, MIN_TEXT), MAX_TEXT))


def _draw_card(canvas: Image.Image, grid: Grid, card: Card, text: TextBlock, xy: tuple[int, int]) -> None:
    x, y = xy
    width, height = grid.cell
    brush = ImageDraw.Draw(canvas)
    canvas.paste(ImageOps.pad(card.image.convert("RGB"), grid.cell, Image.Resampling.LANCZOS, LETTERBOX), xy)
    y += height
    brush.rectangle((x, y, x + width - 1, y + grid.strip - 1), fill=ROLE_COLOURS.get(card.role, OTHER_ROLE))
    name = ROLE_NAMES.get(card.role, card.role)
    role = f"{name}, damaged" if card.is_damaged else name
    _draw_strip(canvas, grid, (card.time, role), (x, y))
    text.draw(canvas, (x, y + grid.strip + round(grid.text_size * 0.3)), INK, within=width)


def _draw_strip(canvas: Image.Image, grid: Grid, parts: Sequence[str], xy: tuple[int, int]) -> None:
    """Time at the left, role at the right; smaller where they would overlap."""
    x, y = xy
    side = round(grid.text_size * 0.4)
    width = grid.cell[0] - 2 * side
    blocks = [lay_out(part, width, sizes=(grid.text_size,), lines=1) for part in parts]
    needed = sum(block.width for block in blocks) + grid.text_size * 0.8
    if needed > width:
        size = max(MIN_STRIP_TEXT, grid.text_size * width / needed)
        blocks = [lay_out(part, width, sizes=(size,), lines=1) for part in parts]
    for block, start in zip(blocks, (0, width - blocks[1].width), strict=True):
        block.draw(canvas, (x + side + start, y + (grid.strip - block.height) // 2), "white")


def _note(cards: Sequence[Card]) -> str:
    roles = Counter(card.role for card in cards)
    counts = ", ".join(f"{count} {ROLE_NAMES.get(role, role)}" for role, count in roles.items())
    return f"{counted(len(cards), 'frame')}: {counts}."
