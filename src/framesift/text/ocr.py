"""Screen text as events, through OCR.

rapidocr is used because its detector and recogniser are inside its wheel and run offline. OCR of a frame takes a good
part of a second, so a frame is read only if it differs from the last one read.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image

from framesift._utils.machine import thread_count
from framesift._utils.requirements import require
from framesift._utils.text import printable
from framesift.errors import MissingExtra
from framesift.progress import Progress, ignore_progress
from framesift.types import Array, Event

LineReader = Callable[[Array], "list[ScreenLine]"]
Grouped = TypeVar("Grouped")

# Frames are compared as grey thumbnails of this width, in squares of this side, so that a change of a subtitle line,
# which hardly changes the mean of the frame, is detected.
THUMBNAIL_WIDTH = 96
SQUARE = 6
# Grey levels (of 255) by which the mean of a square may differ in equal frames: compression noise stays below it.
MAX_LEVEL_DIFFERENCE = 5.0

# Frames are scaled to a short side of at least the first and a long side of at most the second. At a height of 240,
# enlarging to 416 recognised as much as rapidocr's default of 736 in under half the time; the second bounds the time.
SHORT_SIDE = 416
LONG_SIDE = 1280
# Wider images, such as one line of a subtitle, get a margin instead of a tall enlargement: recognised as well as with
# rapidocr's default of 8 in half the time.
WIDTH_BY_HEIGHT = 5
MIN_CONFIDENCE = 0.75
# Text similarity and box overlap (IoU) from which two readings are the same line.
MIN_SIMILARITY = 0.75
MIN_OVERLAP = 0.3
# A line missed in this many readings, for at most this long, is still the same.
MAX_MISSED_READINGS = 1
MAX_MISSED_S = 2.5

# A logo is small, at the edge and in more than this share of the frames, judged only after enough readings.
LOGO_SHARE = 0.5
LOGO_EDGE = 0.2
LOGO_HEIGHT = 0.15
MIN_LOGO_READINGS = 4

_DIGITS = re.compile(r"\d+")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ScreenLine:
    """A line of text in one frame; its sides are shares of the frame's width and height."""

    text: str
    confidence: float
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def area(self) -> float:
        return (self.right - self.left) * self.height

    def shared_area(self, other: "ScreenLine") -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0.0) * max(height, 0.0)

    def is_at(self, other: "ScreenLine") -> bool:
        """Whether both are at about the same place."""
        shared = self.shared_area(other)
        return shared >= MIN_OVERLAP * (self.area + other.area - shared) > 0


@dataclass
class LineTrack:
    """A line tracked over frames; `best` is its most confident reading."""

    best: ScreenLine
    latest: ScreenLine
    first_s: float
    last_s: float
    frames: int = 1
    missed: int = 0

    def add(self, line: ScreenLine, time_s: float) -> None:
        self.best = max(self.best, line, key=lambda line: line.confidence)
        self.latest, self.last_s, self.missed = line, time_s, 0
        self.frames += 1


def read_screen(
    frames: Iterable[tuple[float, Array]], *, duration_s: float, progress: Progress = ignore_progress
) -> list[Event]:
    """Read the text in frames, one event from its first to its last appearance.

    frames: (time, frame) in time order, one held in memory at a time; each frame (H, W, 3) RGB uint8. Adjacent lines
    that are visible for the same time, such as a subtitle of two lines, are one event. Text that stays at the edge for
    most of the video, such as a channel's logo, is dropped. progress is called with the seconds done and in total.
    """
    progress("screen text", 0.0, duration_s)
    read = load_ocr()
    tracker = LineTracker()
    last: Array | None = None
    count = readings = 0
    for time_s, frame in frames:
        count += 1
        current = thumbnail(frame)
        if last is not None and is_same_frame(last, current):
            tracker.repeat(time_s)
        else:
            tracker.update(read(frame), time_s)
            last = current
            readings += 1
        progress("screen text", time_s, max(duration_s, time_s))
    tracks = tracker.finish()
    log.info("screen text: read %d of %d frames, %d lines", readings, count, len(tracks))
    return merge_adjacent(tracks if readings < MIN_LOGO_READINGS else without_logos(tracks, count))


def thumbnail(frame: Array) -> Array:
    """Scale a frame to grey (h, 96) float32, each value the mean of its area; h is a multiple of SQUARE."""
    height, width = frame.shape[:2]
    rows = max(1, round(THUMBNAIL_WIDTH * height / width / SQUARE))
    grey = Image.fromarray(frame).convert("L").resize((THUMBNAIL_WIDTH, rows * SQUARE), Image.Resampling.BOX)
    return np.asarray(grey, dtype=np.float32)


def is_same_frame(one: Array, other: Array) -> bool:
    """Return whether no square of two thumbnails differs by more than noise."""
    if one.shape != other.shape:
        return False
    squares = np.abs(one - other).reshape(-1, SQUARE, THUMBNAIL_WIDTH // SQUARE, SQUARE)
    return bool(squares.mean(axis=(1, 3)).max() <= MAX_LEVEL_DIFFERENCE)


def load_ocr() -> LineReader:
    """Return a function from a frame to its lines. The models are given by path, so none is downloaded."""
    require("onnxruntime", "screentext")
    rapidocr = require("rapidocr", "screentext")
    models = Path(rapidocr.__file__).parent / "models"
    detector, recogniser = (min(models.glob(f"*_{kind}_*.onnx"), default=None) for kind in ("det", "rec"))
    if detector is None or recogniser is None:
        raise MissingExtra("this rapidocr contains no models; 3.10 does: pip install 'framesift[screentext]'")
    engine = rapidocr.RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,  # no detection of upside-down text
            "Global.max_side_len": LONG_SIDE,
            "Global.width_height_ratio": WIDTH_BY_HEIGHT,
            "Det.limit_side_len": SHORT_SIDE,
            "Det.model_path": str(detector),
            "Rec.model_path": str(recogniser),
            "EngineConfig.onnxruntime.intra_op_num_threads": thread_count(),
        }
    )

    def read(frame: Array) -> list[ScreenLine]:
        return join_rows(_to_lines(engine(np.ascontiguousarray(frame[:, :, ::-1])), frame.shape))

    return read


def _to_lines(result: Any, shape: tuple[int, ...]) -> list[ScreenLine]:
    height, width = shape[:2]
    lines: list[ScreenLine] = []
    if not len(result):  # its arrays are None
        return lines
    for corners, text, confidence in zip(result.boxes, result.txts, result.scores, strict=True):
        text = printable(text)  # the text of a video is untrusted
        if confidence >= MIN_CONFIDENCE and sum(map(str.isalnum, text)) >= 2:
            (left, top), (right, bottom) = np.min(corners, axis=0), np.max(corners, axis=0)
            sides = map(float, (left / width, top / height, right / width, bottom / height))
            lines.append(ScreenLine(text, float(confidence), *sides))
    return lines


def join_rows(lines: Iterable[ScreenLine]) -> list[ScreenLine]:
    """Join boxes on one row that are at most two letters apart."""
    rows = _grouped(sorted(lines, key=lambda line: line.left), _continues_row)
    return sorted(map(_joined, rows), key=lambda line: (line.top, line.left))


def _grouped(items: Iterable[Grouped], fits: Callable[[list[Grouped], Grouped], bool]) -> list[list[Grouped]]:
    """Add each item to the first group that it fits, or start one with it."""
    groups: list[list[Grouped]] = []
    for item in items:
        group = next((group for group in groups if fits(group, item)), [])
        group.append(item)
        groups += [group] if len(group) == 1 else []
    return groups


def _continues_row(parts: list[ScreenLine], line: ScreenLine) -> bool:
    row = _joined(parts)
    shared_height = min(line.bottom, row.bottom) - max(line.top, row.top)
    letter = (row.right - row.left) / len(row.text)
    is_beside = 0 <= line.left - row.right + letter <= 3 * letter
    return is_beside and shared_height > 0.6 * min(line.height, row.height)


def _joined(parts: Sequence[ScreenLine]) -> ScreenLine:
    return ScreenLine(
        " ".join(part.text for part in parts),
        min(part.confidence for part in parts),
        min(part.left for part in parts),
        min(part.top for part in parts),
        max(part.right for part in parts),
        max(part.bottom for part in parts),
    )


class LineTracker:
    """Tracks lines over frames."""

    def __init__(self) -> None:
        self._open: list[LineTrack] = []
        self._closed: list[LineTrack] = []

    def repeat(self, time_s: float) -> None:
        """Extend the lines of the last reading: this frame equals it."""
        for track in self._open:
            if not track.missed:
                track.add(track.latest, time_s)

    def update(self, lines: Sequence[ScreenLine], time_s: float) -> None:
        """Assign the lines of a new reading to tracks, and close the tracks that were missed too long."""
        unmatched = list(self._open)
        for line in lines:
            match = max(unmatched, key=lambda track: _match_score(line, track), default=None)
            if match is not None and _match_score(line, match) > 0:
                unmatched.remove(match)
                match.add(line, time_s)
            else:
                self._open.append(LineTrack(line, line, time_s, time_s))
        for track in unmatched:
            track.missed += 1
            if track.missed > MAX_MISSED_READINGS or time_s - track.last_s > MAX_MISSED_S:
                self._open.remove(track)
                self._closed.append(track)

    def finish(self) -> list[LineTrack]:
        """Return all tracks sorted by start, then from top to bottom."""
        return sorted([*self._closed, *self._open], key=lambda t: (t.first_s, t.best.top, t.best.left))


def _match_score(line: ScreenLine, track: LineTrack) -> float:
    """Return the similarity of a line to a track, 0 if it does not match; text that moves must be identical."""
    score = max(similarity(line.text, track.latest.text), similarity(line.text, track.best.text))
    required = MIN_SIMILARITY if line.is_at(track.latest) else 1.0
    return score if score >= required else 0.0


def similarity(one: str, other: str) -> float:
    """Return the similarity of two texts in [0, 1], ignoring case and spaces."""
    one, other = ("".join(text.casefold().split()) for text in (one, other))
    return 1.0 if one == other else SequenceMatcher(None, one, other, autojunk=False).ratio()


def without_logos(tracks: Sequence[LineTrack], frame_count: int) -> list[LineTrack]:
    """Drop text that stays at one place of the edge in most frames; a running clock there counts as one text.

    Other text read at the same place is dropped too: it is the logo, partly covered.
    """
    groups = _grouped(tracks, lambda group, track: _is_same_place(group[0].best, track.best))
    logos = [g for g in groups if sum(t.frames for t in g) > LOGO_SHARE * frame_count and _is_at_edge(g[0].best)]
    dropped = {id(track) for group in logos for track in group}
    lines = [group[0].best for group in logos]
    others = [track for track in tracks if id(track) not in dropped]
    return [t for t in others if not any(t.best.shared_area(line) > 0.6 * t.best.area for line in lines)]


def _is_same_place(one: ScreenLine, other: ScreenLine) -> bool:
    return one.is_at(other) and similarity(*(_DIGITS.sub("0", line.text) for line in (one, other))) >= MIN_SIMILARITY


def merge_adjacent(tracks: Sequence[LineTrack]) -> list[Event]:
    """Merge lines that are below each other for the same time into one event."""
    blocks = _grouped(tracks, lambda block, track: _continues(block[-1], track))
    return [
        Event(block[0].first_s, block[0].last_s, " ".join(track.best.text for track in block), source="screen")
        for block in sorted(blocks, key=lambda block: (block[0].first_s, block[0].last_s))
    ]


def _continues(above: LineTrack, below: LineTrack) -> bool:
    if (above.first_s, above.last_s) != (below.first_s, below.last_s):
        return False
    upper, lower = above.best, below.best
    height = max(upper.height, lower.height)
    shared_width = min(upper.right, lower.right) - max(upper.left, lower.left)
    return shared_width > 0 and -0.5 * height <= lower.top - upper.bottom <= 0.8 * height


def _is_at_edge(line: ScreenLine) -> bool:
    x, y = (line.left + line.right) / 2, (line.top + line.bottom) / 2
    return min(x, 1 - x, y, 1 - y) < LOGO_EDGE and line.height < LOGO_HEIGHT
