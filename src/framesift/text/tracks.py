"""Text tracks inside video files, through PyAV.

The packets are read as they are: they hold the text itself, which FFmpeg's decoders would turn into ASS, losing who
speaks.
"""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import av.container
import av.error
from av.stream import Disposition
from av.subtitles.stream import SubtitleStream

from framesift.errors import InputError
from framesift.text.subtitles.base import Cue, UnreadableSubtitles
from framesift.text.subtitles.encodings import decode
from framesift.text.subtitles.languages import language_code
from framesift.text.subtitles.markup import plain_lines
from framesift.text.subtitles.repairs import to_events
from framesift.text.subtitles.substation import packet_lines
from framesift.text.subtitles.webvtt import webvtt_lines
from framesift.types import Event
from framesift.video.container import MICROSECOND, open_container, read_only

log = logging.getLogger(__name__)


_Clean = Callable[[str], tuple[str, ...]]
_CLEANERS: dict[str, _Clean] = {
    "mov_text": plain_lines,
    "subrip": plain_lines,
    "srt": plain_lines,
    "text": plain_lines,
    "ass": packet_lines,
    "ssa": packet_lines,
    "webvtt": webvtt_lines,
}


def read_track(
    video_path: str | os.PathLike[str], *, index: int | None = None, language: str | None = None
) -> list[Event]:
    """The events of a text track, on the container's clock less its start time: at least one, or InputError.

    index is the stream's in the file. Without it: a track in the language that is asked for, else the default one, else
    English, else the first; tracks of forced lines only after whole ones.
    """
    path = Path(video_path)
    try:
        with open_container(path) as container:
            stream = _choose(path, list(container.streams.subtitles), index, language)
            name = _name(stream)  # once the container is closed, its streams are gone
            read_only(container, stream)
            cues = list(_cues(container, stream))
    except (av.error.FFmpegError, OSError) as error:
        raise InputError(f"{path}: its text tracks can't be read ({error.strerror}); get the file again") from None
    events, repairs = to_events(cues, source="track")
    if not events:
        raise InputError(f"{path} holds no event: its {name} has {len(cues)} cues, none with words")
    log.info("%s: %d events from %s, mended: %s", path, len(events), name, dict(repairs) or "nothing")
    return events


def _choose(path: Path, streams: list[SubtitleStream], index: int | None, language: str | None) -> SubtitleStream:
    """The track that is meant, or an InputError that lists those there are."""
    if not streams:
        raise InputError(f"{path} holds no subtitle track")
    text = [stream for stream in streams if _codec(stream) in _CLEANERS]
    listed = ", ".join(map(_name, streams))
    if index is not None:
        chosen = next((stream for stream in text if stream.index == index), None)
        if chosen is None:
            raise InputError(f"{path} has no text track {index}; it has {listed}")
        return chosen
    if not text:
        raise InputError(f"{path} holds no text track, only {listed}: pictures of text can't be read as text")
    asked = language_code(language)

    def rank(stream: SubtitleStream) -> tuple[bool, bool, bool, bool, int]:
        spoken = language_code(stream.language)
        return (
            not (asked and spoken == asked),
            bool(stream.disposition & Disposition.forced),
            not stream.disposition & Disposition.default,
            spoken != "en",
            stream.index,
        )

    return min(text, key=rank)


def _cues(container: av.container.InputContainer, stream: SubtitleStream) -> Iterator[Cue]:
    clean = _CLEANERS[_codec(stream)]
    zero = (container.start_time or 0) * MICROSECOND
    for packet in container.demux(stream):
        if packet.pts is None or packet.time_base is None:
            continue
        data = bytes(packet)
        if _codec(stream) == "mov_text":
            data = data[2 : 2 + int.from_bytes(data[:2], "big")]  # styles may follow the text
        if not data:
            continue  # in MP4 an empty packet fills the time between two cues
        start = packet.pts * packet.time_base - zero
        end_s = float(start + packet.duration * packet.time_base) if packet.duration else None
        yield Cue(float(start), end_s, clean(_text(data)))


def _text(data: bytes) -> str:
    try:
        return decode(data)[0]
    except UnreadableSubtitles:
        return ""


def _codec(stream: SubtitleStream) -> str:
    return stream.codec_context.name if stream.codec_context is not None else "unknown"


def _name(stream: SubtitleStream) -> str:
    language = f" ({stream.language})" if language_code(stream.language) else ""
    return f"track {stream.index} {_codec(stream)}{language}"
