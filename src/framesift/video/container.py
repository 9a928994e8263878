"""Opening untrusted video files: the formats accepted, and the choice of the video stream.

PyAV is used because it is maintained, brings FFmpeg's libraries in its wheel, and gives packets as well as
frames, which exact times and selective decoding rely on.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import av
import av.container
import av.error
import av.video.stream
from av.codec.hwaccel import HWAccel
from av.stream import Discard, Disposition, Stream

from framesift._utils.files import StrPath
from framesift._utils.machine import release_free_memory, usable_cores
from framesift.errors import InputError
from framesift.video.files import check_path

if TYPE_CHECKING:
    VideoPacket = av.Packet[av.VideoStream]
else:
    VideoPacket = av.Packet  # not subscriptable at runtime

ChosenStream = TypeVar("ChosenStream", bound=Stream)

MICROSECOND = Fraction(1, 1_000_000)  # the unit of a container's start time and duration

# Formats that are complete in one file. Playlists (hls, concat, dash …) and image sequences refer to other files and
# are excluded. Audio formats are included so that the error can say what is missing.
FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,live_flv,asf,ogg,rm,ivf,gif,apng,h264,hevc,"
    "vvc,av1,obu,m4v,h263,mjpeg,vc1,mxf,nut,wtv,dv,yuv4mpegpipe,amv,nsv,nuv,mp3,wav,flac,aac,aiff,ac3,w64"
)
# Formats whose timestamps may be discontinuous, as in broadcast recordings.
DISCONTINUOUS = frozenset({"mpegts", "mpeg"})
EXPECTED = "expected a video such as MP4, MKV, WebM, MOV, AVI or MPEG-TS"

# Each thread holds its own frames, so large frames get fewer threads. Two per core keep the cores busy while the
# decoder waits for the oldest frame.
MOST_THREADS = 16
MOST_THREADS_LARGE = 8
LARGE_PIXELS = 2048 * 1152

# FFmpeg's index of a larger file takes up to 60 MiB, and nearly as much again while it is made, which is not kept.
LARGE_FILE = 2**28
_opening = threading.Lock()

# Frames declared larger than 16K are not decoded.
MOST_PIXELS = 16384 * 8704

# PyAV 19 escapes metadata that are not UTF-8; PyAV 18 needs to be asked to.
_METADATA: dict[str, Any] = {"metadata_errors": "surrogateescape"} if av.__version__.startswith("18.") else {}

_IMAGE_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG", b"BM", b"II*\0", b"MM\0*", b"\0\0\1\0")
_IMAGE_BRANDS = (b"avif", b"heic", b"heix", b"mif1")
_NOT_VIDEO = Disposition.attached_pic | Disposition.timed_thumbnails | Disposition.still_image


@dataclass(frozen=True)
class OpenedVideo:
    """An open container and its chosen video stream."""

    path: str
    container: av.container.InputContainer
    stream: av.video.stream.VideoStream

    @property
    def codec(self) -> str:
        """The codec's canonical name ("av1"), independent of the decoder."""
        return self.stream.codec_context.codec.canonical_name

    @property
    def tick(self) -> Fraction:
        """Seconds per unit of the stream's times."""
        return self.stream.time_base or MICROSECOND

    @property
    def jumps(self) -> bool:
        """Whether timestamps in this format may be discontinuous, as in broadcast recordings."""
        return self.container.format.name in DISCONTINUOUS


def open_container(path: StrPath, hwaccel: HWAccel | None = None) -> av.container.InputContainer:
    """Open an untrusted file: it can't refer to other files, and any failure is an InputError."""
    name = check_file(path)
    try:
        with _memory_released() if Path(name).stat().st_size > LARGE_FILE else nullcontext():
            # Of these formats, none can refer to other files; the prefix keeps a colon from being parsed as a protocol.
            container: av.container.InputContainer = av.open(
                f"file:{Path(name).absolute()}",
                "r",
                container_options={"protocol_whitelist": "file", "format_whitelist": FORMATS},
                hwaccel=hwaccel,
                **_METADATA,
            )
            return container
    except (av.error.FFmpegError, ValueError, OSError):
        raise InputError(_open_error(name)) from None


@contextmanager
def _memory_released() -> Iterator[None]:
    """Open a large file while no other thread does, and give back what was freed before and during that."""
    with _opening:
        release_free_memory()
        yield
        release_free_memory()


def tag(stream: Stream, key: str) -> str:
    """Return a value of the stream's metadata, with U+FFFD for bytes that are not UTF-8; "" if it is missing."""
    return stream.metadata.get(key, "").encode(errors="surrogateescape").decode(errors="replace")


def players_choice(streams: Sequence[ChosenStream], best: Stream | None) -> ChosenStream:
    """Return the stream a player would choose: of the default ones if there are any, FFmpeg's choice or the first."""
    default = [stream for stream in streams if stream.disposition & Disposition.default] or streams
    return next((stream for stream in default if best is not None and stream.index == best.index), default[0])


def discard_other_streams(container: av.container.InputContainer, stream: Stream) -> None:
    """Discard the packets of all other streams."""
    for other in container.streams:
        if other.index != stream.index:
            other.discard = Discard.all


def read_packets(container: av.container.InputContainer, stream: ChosenStream) -> "Iterator[av.Packet[ChosenStream]]":
    """Yield the packets of a stream to the end of the file."""
    try:
        yield from cast("Iterator[av.Packet[ChosenStream]]", container.demux(stream))
    except IndexError:  # at the end PyAV fails to flush streams that begin inside the file, as in broadcast recordings
        return


@contextmanager
def open_video(path: StrPath, *, threads: int | None = None, hwaccel: HWAccel | None = None) -> Iterator[OpenedVideo]:
    """Open `path` and choose its video stream; an unusable file raises InputError. hwaccel: the device that decodes."""
    name = os.fspath(path)
    with open_container(path, hwaccel) as container:
        stream = _choose_stream(container, name)
        discard_other_streams(container, stream)
        stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = threads or _thread_count(stream.width * stream.height)
        yield OpenedVideo(name, container, stream)


def check_file(path: StrPath) -> str:
    """Return the path as text after checking that it is a readable, non-empty file."""
    name = os.fspath(path)
    check_path(name)
    file = Path(name)
    if "\0" in name or not file.exists():
        raise InputError(f"{name!r} does not exist; expected the path of a video file")
    if file.is_dir():
        raise InputError(f"{name!r} is a directory; expected a video file: name one inside it")
    if not file.is_file():
        raise InputError(f"{name!r} is not a regular file; {EXPECTED}: save it to a file first")
    if not os.access(file, os.R_OK):
        raise InputError(f"{name!r} is not readable; expected a video file: change its permissions")
    if file.stat().st_size == 0:
        raise InputError(f"{name!r} is empty; {EXPECTED}: copy or download it again")
    return name


def _thread_count(pixels: int) -> int:
    return min(2 * usable_cores(), MOST_THREADS_LARGE if pixels > LARGE_PIXELS else MOST_THREADS)


def _choose_stream(container: av.container.InputContainer, name: str) -> av.video.stream.VideoStream:
    """The stream a player would show: default streams first, then FFmpeg's choice, never cover art."""
    if container.format.name.endswith("_pipe") or _is_image(name):
        raise InputError(f"{name!r} is a still image; {EXPECTED}")
    usable = [s for s in container.streams.video if not s.disposition & _NOT_VIDEO and s.codec_context is not None]
    if not usable:
        if container.streams.video:
            raise InputError(f"{name!r} has only a cover image or a video stream that can't be decoded; {EXPECTED}")
        what = "audio but no video stream" if container.streams.audio else "no video stream"
        raise InputError(f"{name!r} has {what}; {EXPECTED}")
    return players_choice(usable, container.streams.best("video"))


def _open_error(name: str) -> str:
    if _is_image(name):
        return f"{name!r} is a still image; {EXPECTED}"
    return (
        f"{name!r} can't be opened as a video; {EXPECTED}: if it should be one, it is damaged or truncated "
        "(download it again), or in an unsupported format (convert it to MP4)"
    )


def _is_image(name: str) -> bool:
    try:
        with open(name, "rb") as file:
            head = file.read(16)
    except OSError:
        return False
    webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    return head.startswith(_IMAGE_SIGNATURES) or webp or (head[4:8] == b"ftyp" and head[8:12] in _IMAGE_BRANDS)
