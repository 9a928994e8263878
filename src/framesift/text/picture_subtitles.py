"""Picture subtitles (PGS, VobSub, DVB) inside video files and in files of their own, through PyAV and OCR.

FFmpeg's decoders give pictures whose pixels are indexes of a palette, which PyAV does not expose. That of PGS, which
has up to 256 colours, is parsed here from the packets; the few colours of the others are told apart by their place.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import av
import av.container
import av.error
import numpy as np
from av.subtitles.codeccontext import SubtitleCodecContext
from av.subtitles.stream import SubtitleStream
from av.subtitles.subtitle import BitmapSubtitle, SubtitleSet

from framesift.errors import InputError
from framesift.progress import Progress, ignore_progress
from framesift.text.ocr import LineReader, load_ocr
from framesift.text.subtitles.base import Cue
from framesift.text.subtitles.languages import language_code, scripts
from framesift.text.subtitles.repairs import to_events
from framesift.types import Event
from framesift.types.vectors import Array
from framesift.video.container import (
    MICROSECOND,
    check_file,
    discard_other_streams,
    open_container,
    open_file,
    read_packets,
    tag,
)

log = logging.getLogger(__name__)

# The names of the formats by FFmpeg's decoders.
FORMATS = {"pgssub": "PGS", "dvdsub": "VobSub", "dvbsub": "DVB"}
# The scripts that the model inside rapidocr was trained on.
READABLE_SCRIPTS = frozenset(("LATIN", "CJK", "HIRAGANA", "KATAKANA"))

_FILE_FORMATS = "sup,vobsub,mpeg"
# Pixels around the text: the detector misses text at the edge.
MARGIN = 24
# The decoders reject pictures larger than the video; this bounds several in one display.
MAX_PIXELS = 4096 * 4096
_OPEN_END = (0, 2**32 - 1)  # FFmpeg's values for "until the next display"
_NOTHING: Array = np.zeros((0, 0), dtype=np.uint8)
_PGS_PALETTE, _PGS_COMPOSITION = 0x14, 0x16


@dataclass(frozen=True)
class _Display:
    """What is shown from start_s on: a grey picture (H, W), empty for nothing; end_s None: until the next display."""

    start_s: float
    end_s: float | None
    picture: Array


def read_pictures(
    path: str | os.PathLike[str], index: int, *, progress: Progress = ignore_progress
) -> tuple[list[Event], tuple[str, ...]]:
    """Recognise the text of a track of picture subtitles; return the events and warnings of what could not be read.

    index is that of the stream in the video. progress is called with the seconds done and in total.
    """
    with open_container(path) as container:
        stream = next(stream for stream in container.streams.subtitles if stream.index == index)
        zero = (container.start_time or 0) * MICROSECOND
        return _read_stream(container, stream, zero, "track", progress)


def read_picture_file(
    path: str | os.PathLike[str], *, language: str = "", progress: Progress = ignore_progress
) -> tuple[list[Event], tuple[str, ...]]:
    """Recognise the text of a .sup or .idx file as `read_pictures` does. An .idx may hold several languages."""
    with _open_picture_file(path) as container:
        wanted = language or "en"
        streams = container.streams.subtitles
        stream = min(streams, key=lambda each: (language_code(tag(each, "language")) != wanted, each.index))
        return _read_stream(container, stream, Fraction(0), "subtitles", progress)


def picture_languages(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the languages that an .idx file states, as two-letter codes; a .sup file states none."""
    with _open_picture_file(path) as container:
        codes = (language_code(tag(stream, "language")) for stream in container.streams.subtitles)
        return tuple(dict.fromkeys(code for code in codes if code))


def _open_picture_file(path: str | os.PathLike[str]) -> av.container.InputContainer:
    name = check_file(path)
    try:
        container = open_file(name, _FILE_FORMATS)
        if container.streams.subtitles:
            return container
        container.close()
    except (av.error.FFmpegError, ValueError, OSError):
        pass
    raise InputError(f"{name} contains no pictures; expected PGS (.sup), or VobSub (.idx with its .sub)")


def _read_stream(
    container: av.container.InputContainer, stream: SubtitleStream, zero: Fraction, source: str, progress: Progress
) -> tuple[list[Event], tuple[str, ...]]:
    """Read a stream of pictures whose times count from `zero`."""
    name = container.name.removeprefix("file:")
    total_s = float((container.duration or 0) * MICROSECOND)
    progress("subtitle pictures", 0.0, total_s)
    read = load_ocr()
    discard_other_streams(container, stream)
    try:
        cues = list(_read_cues(_displays(container, stream, zero), read, total_s, progress))
    except (av.error.FFmpegError, OSError) as error:
        why = f"can't be read ({error.strerror}); the file may be damaged"
        raise InputError(f"{name}: its picture subtitles {why}") from None
    events, repairs = to_events(cues, source=source)
    empty = sum(not cue.lines for cue in cues)
    log.info("%s: %d events from %d pictures, repairs: %s", name, len(events), len(cues), dict(repairs))
    return events, (f"no text was recognised in {empty} of {len(cues)} subtitle pictures",) if empty else ()


def can_recognise(language: str) -> bool:
    """Return whether the OCR model has the script of a language, a two-letter code or ""."""
    return not READABLE_SCRIPTS.isdisjoint(scripts(language))


def _read_cues(displays: Iterable[_Display], read: LineReader, total_s: float, progress: Progress) -> Iterator[Cue]:
    for shown in _with_ends(displays):
        lines = read(np.repeat(shown.picture[:, :, None], 3, axis=2))
        yield Cue(shown.start_s, shown.end_s, tuple(line.text for line in lines))
        progress("subtitle pictures", shown.start_s, max(total_s, shown.start_s))


def _with_ends(displays: Iterable[_Display]) -> Iterator[_Display]:
    """Yield each picture once, until its own end or the next display; one sent again while it is shown continues."""
    shown: _Display | None = None
    for display in displays:
        if shown is not None and shown.picture.size:
            end_s = display.start_s if shown.end_s is None else min(shown.end_s, display.start_s)
            if end_s == display.start_s and np.array_equal(shown.picture, display.picture):
                shown = replace(shown, end_s=display.end_s)
                continue
            yield replace(shown, end_s=max(shown.start_s, end_s))
        shown = display
    if shown is not None and shown.picture.size:
        yield shown


def _displays(container: av.container.InputContainer, stream: SubtitleStream, zero: Fraction) -> Iterator[_Display]:
    decoder = stream.codec_context
    if not isinstance(decoder, SubtitleCodecContext):
        return
    palette = _PgsPalette() if decoder.name == "pgssub" else None
    for packet in read_packets(container, stream):
        if packet.pts is None or packet.time_base is None or not packet.size:
            continue
        if palette is not None:
            palette.update(bytes(packet))
        try:
            decoded = decoder.decode2(packet)
        except av.error.FFmpegError:
            continue  # a damaged picture; the next one is intact again
        if decoded is None:
            continue
        at_s = float(packet.pts * packet.time_base - zero)
        start_s = at_s + decoded.start_display_time / 1000
        has_end = decoded.end_display_time not in _OPEN_END
        end_s = max(start_s, at_s + decoded.end_display_time / 1000) if has_end else None
        yield _Display(start_s, end_s, _draw(decoded, palette.levels() if palette else None))


def _draw(decoded: SubtitleSet, levels: Array | None) -> Array:
    """Draw the pictures of a display on a plain background, in grey; levels (256, 2): brightness and opacity."""
    parts = [
        part for part in decoded if isinstance(part, BitmapSubtitle) and part.width and part.height and part.planes
    ]
    if not parts:
        return _NOTHING
    left, top = min(part.x for part in parts), min(part.y for part in parts)
    width = max(part.x + part.width for part in parts) - left
    height = max(part.y + part.height for part in parts) - top
    if width * height > MAX_PIXELS:
        return _NOTHING
    grey, opacity = np.zeros((2, height, width), dtype=np.float32)
    for part in parts:
        pixels: Any = part.planes[0]  # a buffer, which its type does not declare
        indexes = np.frombuffer(pixels, dtype=np.uint8).reshape(part.height, part.width)
        area = np.s_[part.y - top : part.y - top + part.height, part.x - left : part.x - left + part.width]
        values = (levels if levels is not None else levels_by_place(indexes))[indexes]
        grey[area], opacity[area] = values[:, :, 0], values[:, :, 1] / 255
    if not opacity.any():
        return _NOTHING
    # Dark text without a box is read on white, any other on black.
    background = 255.0 if np.percentile(grey[opacity > 0.5], 95, method="nearest") < 96 else 0.0
    drawn = grey * opacity + background * (1 - opacity)
    return np.pad(drawn.round().astype(np.uint8), MARGIN, constant_values=int(background))


def levels_by_place(indexes: Array) -> Array:
    """Return (256, 2) brightness and opacity for a palette that is not known.

    The colour most common at the edge is the background. The less the pixels of another colour touch it, the brighter
    it is drawn, since the outline surrounds the letters.
    """
    edge = np.concatenate([indexes[0], indexes[-1], indexes[:, 0], indexes[:, -1]])
    background = int(np.bincount(edge).argmax())
    outside = np.pad(indexes == background, 1, constant_values=True)
    touches = outside[:-2, 1:-1] | outside[2:, 1:-1] | outside[1:-1, :-2] | outside[1:-1, 2:]
    counts = np.bincount(indexes.ravel(), minlength=256)
    touching = np.bincount(indexes.ravel(), weights=touches.ravel(), minlength=256)
    share = touching / np.maximum(counts, 1)
    colours = [k for k in np.flatnonzero(counts).tolist() if k != background]
    levels = np.zeros((256, 2), dtype=np.float32)
    most = max((share[k] for k in colours), default=0.0)
    for k in colours:
        levels[k] = 255 if len(colours) == 1 else 255 * (1 - share[k] / most) if most else 255, 255
    return levels


class _PgsPalette:
    """The palettes of a PGS stream, collected from its segments."""

    def __init__(self) -> None:
        self._palettes: dict[int, Array] = {}
        self._current = 0

    def update(self, data: bytes) -> None:
        """Read the palettes of a packet, and which one it uses."""
        at = 0
        while at + 3 <= len(data):
            kind, size = data[at], int.from_bytes(data[at + 1 : at + 3], "big")
            segment = data[at + 3 : at + 3 + size]
            at += 3 + size
            if kind == _PGS_COMPOSITION and len(segment) > 9:
                self._current = segment[9]
                if segment[7] & 0x80:  # an epoch starts: nothing of the last one is used again
                    self._palettes.clear()
            elif kind == _PGS_PALETTE and len(segment) >= 2:
                levels = self._palettes.setdefault(segment[0], np.zeros((256, 2), dtype=np.float32))
                entries = np.frombuffer(segment[2:], dtype=np.uint8)
                for colour, luma, _cr, _cb, alpha in entries[: entries.size // 5 * 5].reshape(-1, 5):
                    levels[colour] = luma, alpha

    def levels(self) -> Array | None:
        return self._palettes.get(self._current)
