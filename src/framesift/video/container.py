"""Opening a video file that nobody vouches for: which files are read, and which stream in them is meant.

PyAV is used because it is maintained, brings FFmpeg's libraries in its wheel, and gives packets as well as
pictures, which is what makes exact times and skipped work possible.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import av
import av.container
import av.error
import av.video.stream
from av.stream import Discard, Disposition, Stream

from framesift.errors import InputError

StrPath = str | os.PathLike[str]
if TYPE_CHECKING:
    VideoPacket = av.Packet[av.VideoStream]
else:
    VideoPacket = av.Packet  # which takes no brackets when it runs

MICROSECOND = Fraction(1, 1_000_000)  # the unit of a container's start time and duration

# Formats whose whole content is in the one file. Playlists (hls, concat, dash …) name other files and are not among
# them, nor are numbered pictures. Sound files are, so that the message can say what is missing.
FORMATS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,mpegvideo,flv,live_flv,asf,ogg,rm,ivf,gif,apng,h264,hevc,"
    "vvc,av1,obu,m4v,h263,mjpeg,vc1,mxf,nut,wtv,dv,yuv4mpegpipe,amv,nsv,nuv,mp3,wav,flac,aac,aiff,ac3,w64"
)
EXPECTED = "expected a video such as MP4, MKV, WebM, MOV, AVI or MPEG-TS"

# Each thread holds pictures of its own, so large pictures get fewer. Two to a core keep the cores busy while the
# oldest picture is waited for.
MOST_THREADS = 16
MOST_THREADS_LARGE = 8
LARGE_PIXELS = 2048 * 1152

# A picture that claims to be larger than 16K is not decoded.
MOST_PIXELS = 16384 * 8704

_PICTURE_FILES = (b"\xff\xd8\xff", b"\x89PNG", b"BM", b"II*\0", b"MM\0*", b"\0\0\1\0")
_PICTURE_BRANDS = (b"avif", b"heic", b"heix", b"mif1")
_NO_VIDEO = Disposition.attached_pic | Disposition.timed_thumbnails | Disposition.still_image


@dataclass(frozen=True)
class Opened:
    """A container and the one video stream in it that is meant."""

    path: str
    container: av.container.InputContainer
    stream: av.video.stream.VideoStream

    @property
    def codec(self) -> str:
        """The codec's own name ("av1"), whichever decoder reads it."""
        return self.stream.codec_context.codec.canonical_name

    @property
    def tick(self) -> Fraction:
        """Seconds per unit of the stream's times."""
        return self.stream.time_base or MICROSECOND

    @property
    def jumps(self) -> bool:
        """Whether times in this format may start anew in the middle, as in recordings from the air."""
        return self.container.format.name in {"mpegts", "mpeg"}


def open_container(path: StrPath) -> av.container.InputContainer:
    """Open a file that is not to be trusted: it can name no other file, and nothing but an InputError comes of it."""
    name = check_file(path)
    try:
        return av.open(
            # The prefix keeps a colon in the file's name from being read as a protocol.
            f"file:{Path(name).absolute()}",
            "r",
            container_options={"protocol_whitelist": "file", "format_whitelist": FORMATS},
            metadata_errors="replace",
        )
    except (av.error.FFmpegError, ValueError, OSError) as error:
        raise InputError(_why_not_opened(name, error)) from None


def read_only(container: av.container.InputContainer, stream: Stream) -> None:
    """Pass over the packets of all other streams."""
    for other in container.streams:
        if other.index != stream.index:
            other.discard = Discard.all


@contextmanager
def open_video(path: StrPath, *, threads: int | None = None) -> Iterator[Opened]:
    """Open `path` and choose its video stream; anything that can't be used is an InputError."""
    name = os.fspath(path)
    with open_container(path) as container:
        stream = _choose_stream(container, name)
        read_only(container, stream)
        stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = threads or _thread_count(stream.width * stream.height)
        yield Opened(name, container, stream)


def check_file(path: StrPath) -> str:
    """The path as text, once it is known to be a file with something in it."""
    name = os.fspath(path)
    file = Path(name)
    if "\0" in name or not file.exists():
        raise InputError(f"{name!r} does not exist; expected the path of a video file")
    if file.is_dir():
        raise InputError(f"{name!r} is a folder; expected a video file: name one that is in it")
    if not file.is_file():
        raise InputError(f"{name!r} is no ordinary file; {EXPECTED}: save it to a file first")
    if not os.access(file, os.R_OK):
        raise InputError(f"{name!r} may not be read; expected a video file: change its permissions")
    if file.stat().st_size == 0:
        raise InputError(f"{name!r} is empty; {EXPECTED}: copy or download it again")
    return name


def _thread_count(pixels: int) -> int:
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    return min(2 * cores, MOST_THREADS_LARGE if pixels > LARGE_PIXELS else MOST_THREADS)


def _choose_stream(container: av.container.InputContainer, name: str) -> av.video.stream.VideoStream:
    """The stream a player would show: a default one before others, then FFmpeg's own choice, never cover art."""
    if container.format.name.endswith("_pipe") or _is_picture(name):
        raise InputError(f"{name!r} is a still picture; {EXPECTED}")
    usable = [s for s in container.streams.video if not s.disposition & _NO_VIDEO and s.codec_context is not None]
    if not usable:
        if container.streams.video:
            raise InputError(f"{name!r} has no video but a cover picture or one that can't be decoded; {EXPECTED}")
        what = "sound but no pictures" if container.streams.audio else "no pictures"
        raise InputError(f"{name!r} has {what}; {EXPECTED}")
    default = [s for s in usable if s.disposition & Disposition.default] or usable
    best = container.streams.best("video")
    return next((s for s in default if best is not None and s.index == best.index), default[0])


def _why_not_opened(name: str, error: Exception) -> str:
    if _is_picture(name):
        return f"{name!r} is a still picture; {EXPECTED}"
    if isinstance(error, PermissionError):
        return f"{name!r} may not be read; expected a video file: change its permissions"
    return (
        f"{name!r} can't be opened as a video; {EXPECTED}: if it should be one, it is damaged or cut off "
        "(get it again), or in a format not read here (convert it to MP4)"
    )


def _is_picture(name: str) -> bool:
    try:
        with open(name, "rb") as file:
            head = file.read(16)
    except OSError:
        return False
    webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    return head.startswith(_PICTURE_FILES) or webp or (head[4:8] == b"ftyp" and head[8:12] in _PICTURE_BRANDS)
