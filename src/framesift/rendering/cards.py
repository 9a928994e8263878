"""Memory cards: each frame under a header with its session's times, its topic and what is said in it.

Yang et al., "MemoryCard", 2026. There the header is added above the frame. Here the canvas keeps the frame's size and
the frame is scaled to the space below the header, so that a card costs as many tokens as the frame.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from PIL import Image

from framesift._utils.text import printable
from framesift.errors import InputError
from framesift.rendering.typesetting.layout import TextBlock, lay_out
from framesift.types import Event, Selection
from framesift.types.video import time_label

METHOD = "memorycard"  # the selector whose trace has the sessions

# Fractions of the canvas' height.
MAX_HEADER = 0.28
HEADING_SIZE, TOPIC_SIZE, HEARD_SIZES = 0.04, 0.05, (0.05, 0.045, 0.04)
MARGIN = 0.02
HEARD_LINES = 3
MIN_TEXT_PIXELS = 8.0
WEIGHT = 650.0  # as for the overlay
BACKGROUND, FAINT, BRIGHT = "#16181d", "#b4c0d0", "white"
MAX_CHARACTERS = 600  # of what is said; more does not fit on any header


@dataclass(frozen=True)
class MemoryCard:
    """The texts of a card's header: its number and times, the topic, and what is said. Each may be empty."""

    heading: str
    topic: str = ""
    heard: str = ""

    @property
    def text(self) -> str:
        lines = [self.heading, self.topic and f"Topic: {self.topic}", self.heard and f"Heard: {self.heard}"]
        return "\n".join(filter(None, lines))


@dataclass(frozen=True)
class _CardTimes:
    start_s: float
    end_s: float
    topic: str = ""


def memory_cards(selection: Selection) -> list[MemoryCard]:
    """The card of each slot, in order.

    Sessions are those that the selector `memorycard` found; for any other, the video is divided in the middle between
    selected frames. What is said in a session are the events whose middle lies in it, so that each is said once.
    """
    basis = selection.basis
    events, videos = ((), ()) if basis is None else (basis.events, basis.videos)
    start_s, end_s = (0.0, 0.0) if basis is None else basis.considered_s
    spans = _sessions(selection) or _spans_around(selection.times_s, start_s, max([end_s, *selection.times_s]))
    heard = _assign(events, spans)
    cards = []
    for slot in selection.slots:
        k = max((k for k, span in enumerate(spans) if span.start_s <= slot.time_s), default=0)
        # A session may reach from one video into the next, so that only the frame's own time is stated.
        times = "" if videos else f"{_minutes(spans[k].start_s)}–{_minutes(spans[k].end_s)} · "
        at = time_label(videos, slot.time_s, _minutes)
        heading = f"Card {k + 1} of {len(spans)} · {times}frame at {at}"
        cards.append(MemoryCard(heading, spans[k].topic, heard[k]))
    return cards


def render_card(image: Image.Image, card: MemoryCard) -> Image.Image:
    """Return an image of the same size: the header, and below it the whole frame, scaled to the space that is left.

    If the header has no text that can be drawn, or the image is too small for legible text, it is a copy of the image.
    """
    frame = image.copy() if image.mode in ("RGB", "L") else image.convert("RGB")
    width, height = frame.size
    margin = max(1, round(MARGIN * height))
    blocks = _blocks(card, width - 2 * margin, height, math.floor(MAX_HEADER * height) - margin)
    header = sum(block.height + margin // 2 for block, _ in blocks) + margin
    if not blocks:
        return frame
    canvas = Image.new("RGB", frame.size, BACKGROUND)
    y = margin // 2
    for block, colour in blocks:
        block.draw(canvas, (margin, y), colour, within=width - 2 * margin)
        y += block.height + margin // 2
    scale = (height - header) / height
    size = max(1, round(width * scale)), height - header
    canvas.paste(frame.resize(size, Image.Resampling.LANCZOS), ((width - size[0]) // 2, header))
    return canvas


def _blocks(card: MemoryCard, width: int, height: int, room: int) -> list[tuple[TextBlock, str]]:
    """The lines of the header that fit into `room` pixels, the heading first, each with its colour."""
    texts = [
        (card.heading, (HEADING_SIZE,), 1, FAINT),
        (card.topic and f"Topic: {card.topic}", (TOPIC_SIZE, HEADING_SIZE), 1, BRIGHT),
        (card.heard and f"Heard: {card.heard}", HEARD_SIZES, HEARD_LINES, BRIGHT),
    ]
    gap = max(1, round(MARGIN * height)) // 2
    blocks = []
    for text, fractions, lines, colour in texts:
        if not text or width < 1:
            continue
        sizes = [max(fraction * height, MIN_TEXT_PIXELS) for fraction in fractions]
        block = lay_out(text, width, sizes=sizes, lines=lines, height=room - gap, weight=WEIGHT)
        if block.lines and block.height + gap <= room:
            blocks.append((block, colour))
            room -= block.height + gap
    return blocks


def _sessions(selection: Selection) -> list[_CardTimes]:
    rows = selection.trace.get("sessions") if selection.method == METHOD else None
    try:
        spans = [_CardTimes(float(row["start_s"]), float(row["end_s"]), printable(row["topic"])) for row in rows or ()]
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        spans = [_CardTimes(math.nan, math.nan)]
    if not all(math.isfinite(span.start_s) and math.isfinite(span.end_s) for span in spans):
        raise InputError("the sessions of this selection can't be read; select the frames again")
    return sorted(spans, key=lambda span: span.start_s)


def _spans_around(times_s: Sequence[float], start_s: float, end_s: float) -> list[_CardTimes]:
    middles = [(a + b) / 2 for a, b in pairwise(times_s)]
    return [_CardTimes(a, b) for a, b in pairwise([start_s, *middles, end_s])]


def _assign(events: Sequence[Event], spans: Sequence[_CardTimes]) -> list[str]:
    """The text of each span: of the events in order whose middle lies in it. The end of the last belongs to it."""
    texts: list[list[str]] = [[] for _ in spans]
    for event in sorted(events, key=lambda event: event.start_s):
        middle_s = (event.start_s + event.end_s) / 2
        for k, span in enumerate(spans):
            if span.start_s <= middle_s < span.end_s or (k == len(spans) - 1 and middle_s == span.end_s):
                texts[k].append(printable(event.text))
    return [" ".join(filter(None, parts))[:MAX_CHARACTERS] for parts in texts]


def _minutes(time_s: float) -> str:
    seconds = round(time_s)
    hours = f"{seconds // 3600}:" if seconds >= 3600 else ""
    return f"{hours}{seconds // 60 % 60:02d}:{seconds % 60:02d}"
