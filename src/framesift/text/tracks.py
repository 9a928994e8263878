"""Subtitle tracks inside video files, through PyAV: which there are, and the events of those that are text.

The text is read from the packets: FFmpeg's decoders would convert it to ASS, which loses the speakers.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import av.container
import av.error
from av.stream import Disposition
from av.subtitles.stream import SubtitleStream

from framesift._utils.files import StrPath
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
    **dict.fromkeys(("mov_text", "subrip", "srt", "text"), plain_lines),
    **dict.fromkeys(("ass", "ssa"), packet_lines),
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
    language: str
    is_partial: bool
    is_text: bool


def list_tracks(video_path: StrPath) -> list[EmbeddedTrack]:
    """List the subtitle tracks of a video, best first.

    Complete tracks come before forced lines, then text before pictures, the default track, English, and the order in
    the file.
    """
    with open_container(video_path) as container:
        streams = list(container.streams.subtitles)
        defaults = [stream.index for stream in streams if stream.disposition & Disposition.default]
        return sorted(
            map(_describe, streams),
            key=lambda track: (
                track.is_partial,
                not track.is_text,
                track.index not in defaults,
                track.language != "en",
                track.index,
            ),
        )


def read_track(video_path: StrPath, track: EmbeddedTrack) -> list[Event]:
    """Read the events of a track of text: at least one, or InputError. Times count from the container's start time."""
    path = Path(video_path)
    if not track.is_text:
        raise InputError(f"the embedded {track.name} is not text and can't be read; pass a file with --subtitles")
    try:
        with open_container(path) as container:
            text = (each for each in container.streams.subtitles if _codec(each) in _CLEANERS)
            stream = next((each for each in text if each.index == track.index), None)
            if stream is None:
                raise InputError(f"{path} has no text track {track.index}; expected the tracks that were listed")
            discard_other_streams(container, stream)
            cues = list(_read_cues(container, stream))
    except (av.error.FFmpegError, OSError) as error:
        raise InputError(f"{path}: its text tracks can't be read ({error.strerror}); the file may be damaged") from None
    events, repairs = to_events(cues, source="track")
    if not events:
        raise InputError(f"{path} contains no events: its {track.name} has {len(cues)} cues, none with text")
    log.info("%s: %d events from %s, repairs: %s", path, len(events), track.name, dict(repairs) or "none")
    return events


def _describe(stream: SubtitleStream) -> EmbeddedTrack:
    language, title, codec = tag(stream, "language"), tag(stream, "title").lower(), _codec(stream)
    code = language_code(language)
    is_partial = bool(stream.disposition & (Disposition.forced | Disposition.comment))
    return EmbeddedTrack(
        stream.index,
        f"track {stream.index} {_PICTURES.get(codec, codec)}{f' ({language})' if code else ''}",
        code,
        is_partial or any(word in title for word in _PARTIAL),
        codec in _CLEANERS,
    )


def _read_cues(container: av.container.InputContainer, stream: SubtitleStream) -> Iterator[Cue]:
    codec = _codec(stream)
    zero = (container.start_time or 0) * MICROSECOND
    for packet in read_packets(container, stream):
        if packet.pts is None or packet.time_base is None:
            continue
        data = bytes(packet)
        if codec == "mov_text":
            data = data[2 : 2 + int.from_bytes(data[:2], "big")]  # the rest are styles
        if not data:
            continue  # in MP4, the time between two cues
        start = packet.pts * packet.time_base - zero
        end_s = float(start + packet.duration * packet.time_base) if packet.duration else None
        yield Cue(float(start), end_s, _CLEANERS[codec](_decode(data)), "")


def _decode(data: bytes) -> str:
    try:
        return decode(data)[0]
    except UnreadableSubtitles:
        return ""


def _codec(stream: SubtitleStream) -> str:
    return stream.codec_context.name if stream.codec_context is not None else "unknown"
