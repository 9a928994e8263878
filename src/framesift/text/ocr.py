"""What is written on screen, as events.

rapidocr reads the pictures, because its detector and recogniser come inside its wheel and run without a network.
Reading a picture takes a good part of a second, so a picture is read only where it differs from the last one read.
"""

import importlib.util
import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from framesift.errors import FramesiftError, MissingExtra
from framesift.progress import Progress, ignore_progress
from framesift.types import Event
from framesift.types.vectors import Array

Reader = Callable[[Array], "list[Line]"]

INSTALL = "pip install 'framesift[screentext]'"

# The picture is compared as a grey thumbnail of this width in squares of this side, so that a line of subtitles, which
# hardly moves the mean of the whole picture, is noticed.
THUMBNAIL_WIDTH = 96
SQUARE = 6
# Grey levels (of 255) by which one square's mean may differ in the same picture: compression noise stays below it.
SAME_LEVEL = 5.0

# Pictures are read at a short side of at least the first and a long side of at most the second. On pictures 240 high,
# enlarging to 416 read as much as to rapidocr's own 736 in under half the time; the second only bounds the time.
SHORT_SIDE = 416
LONG_SIDE = 1280
LEAST_CONFIDENCE = 0.75
# Likeness of two readings of the same text, and how little the place of one may overlap the other's.
SAME_TEXT = 0.75
SAME_PLACE = 0.3
# A text missed once or for no longer than this is still the same sighting.
MISSED_READINGS = 1
MISSED_S = 2.5

# A logo: small, at the edge, there in more than this share of the pictures, however many readings it takes.
LOGO_SHARE = 0.5
LOGO_EDGE = 0.2
LOGO_HEIGHT = 0.15
LOGO_READINGS = 4

_DIGITS = re.compile(r"\d+")
_JOINERS = {"\u200c", "\u200d"}  # invisible, but part of the spelling in several scripts

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Line:
    """A line of text in one picture. box: left, top, right, bottom as shares of the picture's width and height."""

    text: str
    confidence: float
    box: tuple[float, float, float, float]


@dataclass
class Sighting:
    """A line followed from picture to picture; `best` is its most confident reading."""

    best: Line
    latest: Line
    first_s: float
    last_s: float
    pictures: int = 1
    missed: int = 0

    def see(self, line: Line, time_s: float) -> None:
        if line.confidence > self.best.confidence:
            self.best = line
        self.latest, self.last_s, self.missed = line, time_s, 0


def read_screen(
    frames: Iterable[tuple[float, Array]], *, duration_s: float, progress: Progress = ignore_progress
) -> list[Event]:
    """The text in the pictures, each from its first to its last sighting.

    frames: (time, picture) in time order, one held at a time; pictures (H, W, 3) RGB uint8. Lines that stand together
    for the same time, such as a subtitle of two lines, are one event. What stays at the picture's edge for most of
    the video, such as a channel's logo, is none. progress is called with the seconds done and the seconds in all.
    """
    read = load_reader()
    followed = Follower()
    last: Array | None = None
    seen = readings = 0
    for time_s, picture in frames:
        seen += 1
        now = thumbnail(picture)
        if last is not None and same_picture(last, now):
            followed.same(time_s)
        else:
            followed.update(read(picture), time_s)
            last = now
            readings += 1
        progress("screen text", time_s, max(duration_s, time_s))
    found = followed.finish()
    kept = found if readings < LOGO_READINGS else without_logos(found, seen)
    log.info(
        "screen text: read %d of %d pictures, %d lines, %d of a logo", readings, seen, len(kept), len(found) - len(kept)
    )
    return together(kept)


def available() -> tuple[bool, str]:
    """Whether `read_screen` can run here; if not, the sentence that says why and what to install."""
    try:
        _models()
    except FramesiftError as error:
        return False, str(error)
    return True, ""


# pictures -------------------------------------------------------------------------------------------------------------


def thumbnail(picture: Array) -> Array:
    """Grey (h, 96) float32, each value the mean of its part of the picture."""
    height, width = picture.shape[:2]
    size = THUMBNAIL_WIDTH, max(SQUARE, round(THUMBNAIL_WIDTH * height / width))
    grey = Image.fromarray(picture).convert("L").resize(size, Image.Resampling.BOX)
    return np.asarray(grey, dtype=np.float32)


def same_picture(one: Array, other: Array) -> bool:
    """Whether no square of the two thumbnails differs by more than noise."""
    if one.shape != other.shape:
        return False
    apart = np.abs(one - other)
    rows, columns = (np.arange(0, size, SQUARE) for size in apart.shape)
    sums = np.add.reduceat(np.add.reduceat(apart, rows, axis=0), columns, axis=1)
    sizes = np.outer(np.diff([*rows, apart.shape[0]]), np.diff([*columns, apart.shape[1]]))
    return bool((sums / sizes).max() <= SAME_LEVEL)


def _models() -> tuple[Path, Path]:
    """The detector and the recogniser inside the wheel, found without importing the package."""
    for package in ("rapidocr", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(f"screen text needs {package}: {INSTALL}")
    spec = importlib.util.find_spec("rapidocr")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        models = Path(place, "models")
        detectors, recognisers = (sorted(models.glob(f"*_{kind}_*.onnx")) for kind in ("det", "rec"))
        if detectors and recognisers:
            return detectors[0], recognisers[0]
    raise MissingExtra(f"this rapidocr carries no models in its wheel, 3.10 does: {INSTALL}")


def load_reader() -> Reader:
    """A function from a picture to its lines. The models are named by path, so none is ever downloaded."""
    detector, recogniser = _models()
    from rapidocr import RapidOCR

    engine = RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,  # upside-down text is no subtitle
            "Global.max_side_len": LONG_SIDE,
            "Det.limit_side_len": SHORT_SIDE,
            "Det.model_path": str(detector),
            "Rec.model_path": str(recogniser),
        }
    )

    def read(picture: Array) -> list[Line]:
        return rows(_lines(engine(np.ascontiguousarray(picture[:, :, ::-1])), picture.shape))

    return read


def _lines(result: Any, shape: tuple[int, ...]) -> list[Line]:
    height, width = shape[:2]
    lines: list[Line] = []
    if not len(result):
        return lines
    for corners, text, confidence in zip(result.boxes, result.txts, result.scores, strict=True):
        text = clean(text)
        if confidence >= LEAST_CONFIDENCE and sum(map(str.isalnum, text)) >= 2:
            (left, top), (right, bottom) = np.min(corners, axis=0), np.max(corners, axis=0)
            box = float(left / width), float(top / height), float(right / width), float(bottom / height)
            lines.append(Line(text, float(confidence), box))
    return lines


def clean(text: str) -> str:
    """Text without control, formatting and unassigned characters: whoever made the video wrote it, not the user."""
    kept = (c if unicodedata.category(c)[0] != "C" or c in _JOINERS else " " for c in text)
    return " ".join("".join(kept).split())


def rows(lines: Iterable[Line]) -> list[Line]:
    """Boxes side by side on one row, no further apart than two letters, are one line."""
    joined: list[Line] = []
    for line in sorted(lines, key=lambda line: line.box[0]):
        for k, before in enumerate(joined):
            height = min(_height(line), _height(before))
            level = min(line.box[3], before.box[3]) - max(line.box[1], before.box[1]) > 0.6 * height
            letter = (before.box[2] - before.box[0]) / len(before.text)
            if level and 0 <= line.box[0] - before.box[2] + letter <= 3 * letter:
                confidence = min(line.confidence, before.confidence)
                joined[k] = Line(f"{before.text} {line.text}", confidence, _around(before.box, line.box))
                break
        else:
            joined.append(line)
    return sorted(joined, key=lambda line: (line.box[1], line.box[0]))


# sightings ------------------------------------------------------------------------------------------------------------


class Follower:
    """Follows lines from picture to picture."""

    def __init__(self) -> None:
        self._open: list[Sighting] = []
        self._closed: list[Sighting] = []

    def same(self, time_s: float) -> None:
        """The picture is the last one read: what was in it still is."""
        for sighting in self._open:
            if not sighting.missed:
                sighting.last_s = time_s
                sighting.pictures += 1

    def update(self, lines: Sequence[Line], time_s: float) -> None:
        left = list(self._open)
        for line in lines:
            match = max(left, key=lambda sighting: _likeness(line, sighting), default=None)
            if match is not None and _likeness(line, match) > 0:
                left.remove(match)
                match.see(line, time_s)
                match.pictures += 1
            else:
                self._open.append(Sighting(line, line, time_s, time_s))
        for sighting in left:
            sighting.missed += 1
            if sighting.missed > MISSED_READINGS or time_s - sighting.last_s > MISSED_S:
                self._open.remove(sighting)
                self._closed.append(sighting)

    def finish(self) -> list[Sighting]:
        """All sightings by their start, then from top to bottom."""
        return sorted([*self._closed, *self._open], key=lambda s: (s.first_s, s.best.box[1], s.best.box[0]))


def _likeness(line: Line, sighting: Sighting) -> float:
    """0 where the line is no new reading of the sighting's; a text that moves must be the same to the letter."""
    alike = max(similarity(line.text, sighting.latest.text), similarity(line.text, sighting.best.text))
    needed = SAME_TEXT if _overlap(line.box, sighting.latest.box) >= SAME_PLACE else 1.0
    return alike if alike >= needed else 0.0


def similarity(one: str, other: str) -> float:
    one, other = ("".join(text.casefold().split()) for text in (one, other))
    return 1.0 if one == other else SequenceMatcher(None, one, other, autojunk=False).ratio()


def without_logos(found: Sequence[Sighting], pictures: int) -> list[Sighting]:
    """Drop what stays at one place of the edge in most pictures; a clock that runs there counts as one text.

    With it goes what was read in its place: the logo again, half covered.
    """
    groups: list[list[Sighting]] = []
    for sighting in found:
        for group in groups:
            if _overlap(sighting.best.box, group[0].best.box) >= SAME_PLACE and (
                similarity(_DIGITS.sub("0", sighting.best.text), _DIGITS.sub("0", group[0].best.text)) >= SAME_TEXT
            ):
                group.append(sighting)
                break
        else:
            groups.append([sighting])
    logos = [g for g in groups if sum(s.pictures for s in g) > LOGO_SHARE * pictures and _at_edge(g[0].best.box)]
    gone = {id(sighting) for group in logos for sighting in group}
    places = [group[0].best.box for group in logos]
    return [s for s in found if id(s) not in gone and not any(_inside(s.best.box, place) for place in places)]


def together(sightings: Sequence[Sighting]) -> list[Event]:
    """One event for lines that stand under each other for the same time."""
    blocks: list[list[Sighting]] = []
    for sighting in sightings:
        for block in blocks:
            if _continues(block[-1], sighting):
                block.append(sighting)
                break
        else:
            blocks.append([sighting])
    return [
        Event(block[0].first_s, block[0].last_s, " ".join(s.best.text for s in block), source="screen")
        for block in sorted(blocks, key=lambda block: (block[0].first_s, block[0].last_s))
    ]


def _continues(above: Sighting, below: Sighting) -> bool:
    if (above.first_s, above.last_s) != (below.first_s, below.last_s):
        return False
    upper, lower = above.best.box, below.best.box
    height = max(_height(above.best), _height(below.best))
    beside = min(upper[2], lower[2]) - max(upper[0], lower[0])
    return beside > 0 and -0.5 * height <= lower[1] - upper[3] <= 0.8 * height


def _height(line: Line) -> float:
    return line.box[3] - line.box[1]


def _at_edge(box: Sequence[float]) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return min(x, 1 - x, y, 1 - y) < LOGO_EDGE and box[3] - box[1] < LOGO_HEIGHT


def _around(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float, float]:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Intersection over union."""
    both = _shared_area(one, other)
    return both / (_area(one) + _area(other) - both) if both else 0.0


def _inside(one: Sequence[float], other: Sequence[float]) -> bool:
    return _shared_area(one, other) > 0.6 * _area(one)


def _area(box: Sequence[float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _shared_area(one: Sequence[float], other: Sequence[float]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)
