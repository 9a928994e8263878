"""Subtitle tracks inside video files, through PyAV: which there are, and the events of those that are text.

The text is read from the packets: FFmpeg's decoders would convert it to ASS, which loses the speakers.
"""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from framesift.text.subtitles.timed_blocks import webvtt_lines
from framesift.types import Event
from framesift.video.container import MICROSECOND, discard_other_streams, open_container, read_packets, tag

log = logging.getLogger(__name__)

_CLEANERS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "mov_text": plain_lines,
    "subrip": plain_lines,
    "srt": plain_lines,
    "text": plain_lines,
    "ass": packet_lines,
    "ssa": packet_lines,
    "webvtt": webvtt_lines,
}


# The names of formats of pictures, which can't be read, by FFmpeg's decoders.
_PICTURES = {"pgssub": "PGS", "dvdsub": "VobSub", "dvbsub": "DVB"}
# Tracks with these words in their title hold a part of the dialogue, or something else than it.
_PARTIAL = ("forced", "commentary")


@dataclass(frozen=True)
class EmbeddedTrack:
    """A subtitle track inside a video: `name` as shown to users, `language` as a two-letter code or ""."""

    index: int
    name: str
    language: str = ""
    is_partial: bool = False
    is_text: bool = True


def list_tracks(video_path: str | os.PathLike[str], *, language: str | None = None) -> list[EmbeddedTrack]:
    """List the subtitle tracks of a video, best first, as `read_track` prefers them."""
    with open_container(video_path) as container:
        streams = sorted(container.streams.subtitles, key=lambda stream: _rank(stream, language_code(language)))
        return [
            EmbeddedTrack(
                stream.index,
                _describe(stream),
                language_code(tag(stream, "language")),
                is_partial=_is_partial(stream),
                is_text=_codec(stream) in _CLEANERS,
            )
            for stream in streams
        ]


def read_track(
    video_path: str | os.PathLike[str], *, index: int | None = None, language: str | None = None
) -> list[Event]:
    """Read the events of a text track: at least one, or InputError. Times count from the container's start time.

    index is that of the stream in the file. Without it, the requested language is preferred, then the default track,
    then English, then the first; tracks of forced lines come after complete ones.
    """
    path = Path(video_path)
    try:
        with open_container(path) as container:
            stream = _find_stream(path, list(container.streams.subtitles), index, language)
            name = _describe(stream)  # streams are invalid once the container is closed
            discard_other_streams(container, stream)
            cues = list(_read_cues(container, stream))
    except (av.error.FFmpegError, OSError) as error:
        raise InputError(f"{path}: its text tracks can't be read ({error.strerror}); the file may be damaged") from None
    events, repairs = to_events(cues, source="track")
    if not events:
        raise InputError(f"{path} contains no events: its {name} has {len(cues)} cues, none with text")
    log.info("%s: %d events from %s, repairs: %s", path, len(events), name, dict(repairs) or "none")
    return events


def _find_stream(path: Path, streams: list[SubtitleStream], index: int | None, language: str | None) -> SubtitleStream:
    """Return the requested or best track, or raise an InputError that lists the tracks."""
    if not streams:
        raise InputError(f"{path} has no subtitle track")
    text = [stream for stream in streams if _codec(stream) in _CLEANERS]
    listed = ", ".join(map(_describe, streams))
    if index is not None:
        requested = next((stream for stream in text if stream.index == index), None)
        if requested is None:
            raise InputError(f"{path} has no text track {index}; it has {listed}")
        return requested
    if not text:
        raise InputError(f"{path} has no text track, only {listed}, which are pictures")
    return min(text, key=lambda stream: _rank(stream, language_code(language)))


def _rank(stream: SubtitleStream, wanted: str) -> tuple[bool, bool, bool, bool, bool, int]:
    own_language = language_code(tag(stream, "language"))
    return (
        not (wanted and own_language == wanted),
        _is_partial(stream),
        _codec(stream) not in _CLEANERS,
        not stream.disposition & Disposition.default,
        own_language != "en",
        stream.index,
    )


def _is_partial(stream: SubtitleStream) -> bool:
    title = tag(stream, "title").lower()
    return bool(stream.disposition & (Disposition.forced | Disposition.comment)) or any(w in title for w in _PARTIAL)


def _read_cues(container: av.container.InputContainer, stream: SubtitleStream) -> Iterator[Cue]:
    clean = _CLEANERS[_codec(stream)]
    zero = (container.start_time or 0) * MICROSECOND
    for packet in read_packets(container, stream):
        if packet.pts is None or packet.time_base is None:
            continue
        data = bytes(packet)
        if _codec(stream) == "mov_text":
            data = data[2 : 2 + int.from_bytes(data[:2], "big")]  # the rest are styles
        if not data:
            continue  # in MP4, the time between two cues
        start = packet.pts * packet.time_base - zero
        end_s = float(start + packet.duration * packet.time_base) if packet.duration else None
        yield Cue(float(start), end_s, clean(_decode(data)))


def _decode(data: bytes) -> str:
    try:
        return decode(data)[0]
    except UnreadableSubtitles:
        return ""


def _codec(stream: SubtitleStream) -> str:
    return stream.codec_context.name if stream.codec_context is not None else "unknown"


def _describe(stream: SubtitleStream) -> str:
    language = f" ({tag(stream, 'language')})" if language_code(tag(stream, "language")) else ""
    return f"track {stream.index} {_PICTURES.get(_codec(stream), _codec(stream))}{language}"
