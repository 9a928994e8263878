"""The clip writer of the tests, and frames that carry their number in blocks that survive compression."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from framesift.video.colour import FrameConverter

# Without the random identifiers of Matroska, and with the threads that a machine of one core has, a clip has the same
# bytes wherever it is written; what a damage or a cut at some byte does depends on them.
BITEXACT = {"fflags": "+bitexact"}
ONE_THREAD = "frame-threads=1"  # of x265
BITS = 10
WIDTH, HEIGHT = 160, 96


def numbered(number: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """A moving pattern with `number` in two rows of five blocks along the top."""
    y, x = np.mgrid[:height, :width]
    base = 128 + 60 * np.sin((x + 3 * number) / 9) + 40 * np.cos((y - 2 * number) / 7)
    picture = np.stack([base, np.roll(base, 11, 1), 255 - base], axis=2).clip(0, 255).astype(np.uint8)
    for bit in range(BITS):
        row, column = divmod(bit, 5)
        rows = slice(row * height // 4, (row + 1) * height // 4)
        picture[rows, column * width // 5 : (column + 1) * width // 5] = 255 if number >> bit & 1 else 0
    return picture


def read_number(picture: np.ndarray) -> int:
    height, width = picture.shape[:2]
    number = 0
    for bit in range(BITS):
        row, column = divmod(bit, 5)
        rows = slice(row * height // 4 + height // 16, (row + 1) * height // 4 - height // 16)
        block = picture[rows, column * width // 5 + width // 20 : (column + 1) * width // 5 - width // 20]
        number |= int(block.mean() > 128) << bit
    return number


@contextmanager
def same_priority() -> Iterator[None]:
    """Leave this thread's priority as it is found.

    SVT-AV1, run by root, makes the thread that opens it a real-time one, and so every thread and process started from
    there later. Two of those that wait in the kernel for a third one, which then never gets its turn, stop the machine.
    """
    if not hasattr(os, "sched_getscheduler"):
        yield
        return
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, priority)


@dataclass
class Clip:
    """What to write: picture n of `ticks` is shown from that tick on."""

    codec: str = "libx264"
    options: dict[str, str] = field(default_factory=dict)
    ticks: Sequence[int] = range(100)
    time_base: Fraction = Fraction(1, 25)
    size: tuple[int, int] = (WIDTH, HEIGHT)
    pix_fmt: str = "yuv420p"
    aspect: Fraction | None = None
    rotation: float | None = None
    mirrored: bool = False
    colours: dict[str, int] = field(default_factory=dict)  # attributes of the stream's codec context
    sound_s: float = 0.0  # of silence
    sound: np.ndarray | None = None  # samples at 16 kHz
    sound_codec: str = "aac"
    container: dict[str, str] = field(default_factory=dict)
    pictures: Sequence[np.ndarray] | None = None

    def write(self, path: Path) -> Path:
        options = dict(self.options)
        if self.codec == "libx265":
            options["x265-params"] = ":".join(filter(None, [options.get("x265-params"), ONE_THREAD]))
        with same_priority(), av.open(str(path), "w", container_options=BITEXACT | self.container) as out:
            stream = out.add_stream(self.codec, rate=Fraction(1) / self.time_base, options=options)
            assert isinstance(stream, av.VideoStream)
            stream.width, stream.height, stream.pix_fmt = *self.size, self.pix_fmt
            stream.thread_type, stream.thread_count = "FRAME", 1
            stream.codec_context.time_base = self.time_base
            for name, value in self.colours.items():
                setattr(stream.codec_context, name, value)
            if self.aspect is not None:
                stream.codec_context.sample_aspect_ratio = self.aspect
            if self.rotation is not None:
                stream.set_display_rotation(self.rotation, hflip=self.mirrored)
            samples = np.zeros(int(self.sound_s * 16000)) if self.sound is None else self.sound
            sound = out.add_stream(self.sound_codec, rate=16000, layout="mono") if len(samples) else None
            assert sound is None or isinstance(sound, av.AudioStream)
            for number, tick in enumerate(self.ticks):
                frame = self._frame(number)
                frame.pts, frame.time_base = tick, self.time_base
                out.mux(stream.encode(frame))
            out.mux(stream.encode(None))
            if sound is not None:
                for start in range(0, len(samples), 1024):
                    block = samples[None, start : start + 1024].astype(np.float32)
                    heard = av.AudioFrame.from_ndarray(block, "fltp", "mono")
                    heard.sample_rate, heard.pts, heard.time_base = 16000, start, Fraction(1, 16000)
                    out.mux(sound.encode(heard))
                out.mux(sound.encode(None))
        return path

    def _frame(self, number: int) -> av.VideoFrame:
        if self.pictures is not None:
            return av.VideoFrame.from_ndarray(self.pictures[number % len(self.pictures)], "rgb24")
        return av.VideoFrame.from_ndarray(numbered(number, *self.size), "rgb24")


def decode_all(path: Path) -> list[tuple[Fraction, np.ndarray]]:
    """Every frame by a plain, complete decode: (presentation time as stored, picture)."""
    with av.open(str(path)) as container:
        converter = FrameConverter(None)
        frames = ((frame.pts or 0, frame.time_base or Fraction(0), frame) for frame in container.decode(video=0))
        return [(pts * time_base, converter.convert(frame)) for pts, time_base, frame in frames]


def grid(times: Sequence[Any], end: Any, fps: Fraction) -> list[int]:
    """The definition, word for word: positions of the frames on screen at k/fps for k = 0, 1, 2 … before the end."""
    out: list[int] = []
    k = 0
    while k == 0 or k / fps < end:
        at = max([n for n, time in enumerate(times) if time <= k / fps], default=0)
        if at not in out:
            out.append(at)
        k += 1
    return out


def make_clip(path: Path, seconds: int = 20, fps: int = 5, size: tuple[int, int] = (96, 64), seed: int = 0) -> Path:
    """A clip whose two colours change every three seconds, and a bar every second: indexing encodes few frames."""
    colours = np.random.default_rng(seed).integers(0, 256, (seconds, 2, 3), dtype=np.uint8)
    frames = (two_colours(colours[k // fps // 3], k // fps, size) for k in range(seconds * fps))
    return write_frames(path, frames, fps=fps)


def two_colours(colours: np.ndarray, number: int, size: tuple[int, int] = (96, 64)) -> np.ndarray:
    """A frame of one colour over another, with a white bar that grows with the number."""
    frame = np.empty((size[1], size[0], 3), np.uint8)
    frame[: size[1] // 2], frame[size[1] // 2 :] = colours
    frame[:8, : 8 + 2 * (number % 20)] = 255
    return frame


def write_frames(path: Path, frames: Iterable[np.ndarray], *, fps: int, codec: str = "mpeg4", **options: str) -> Path:
    """A clip of these frames, `fps` a second."""
    pictures = list(frames)
    height, width = pictures[0].shape[:2]
    clip = Clip(codec, options, range(len(pictures)), Fraction(1, fps), (width, height), pictures=pictures)
    return clip.write(path)


def packet_places(path: Path) -> list[tuple[int, int]]:
    """The position and the size of every packet of the video in its file."""
    with av.open(str(path)) as container:
        return [(packet.pos or 0, packet.size) for packet in container.demux(video=0) if packet.size]


def spoil_packets(path: Path, numbers: Iterable[int], byte: bytes = b"\xff") -> None:
    """Overwrite these packets where they lie in the file."""
    places, data = packet_places(path), bytearray(path.read_bytes())
    for at, size in (places[number] for number in numbers):
        data[at : at + size] = byte * size
    path.write_bytes(data)


def keep_parts(source: Path, path: Path, parts: Sequence[int]) -> Path:
    """Write the numbered parts of a clip, one per keyframe, with their own times, as a player saves a stream.

    The parts of an MPEG-TS file are muxed one by one and joined, as those of HLS are.
    """
    with av.open(str(source)) as container:
        stream = container.streams.video[0]
        groups: list[list[av.Packet]] = []
        for packet in container.demux(stream):
            if packet.size:
                if packet.is_keyframe:
                    groups.append([])
                groups[-1].append(packet)
        chosen = [groups[n] for n in parts]
        pieces = [[group] for group in chosen] if path.suffix == ".ts" else [chosen]
        data = []
        for piece in pieces:
            options = BITEXACT | ({"mpegts_copyts": "1"} if path.suffix == ".ts" else {})
            with av.open(str(path), "w", container_options=options) as out:
                copy = out.add_stream_from_template(stream)
                for packet in (packet for group in piece for packet in group):
                    if path.suffix == ".ts":  # whose muxer would move negative times, in the first part only
                        assert packet.pts is not None and packet.dts is not None and packet.time_base is not None
                        packet.pts += int(10 / packet.time_base)
                        packet.dts += int(10 / packet.time_base)
                    packet.stream = copy
                    out.mux(packet)
            data.append(path.read_bytes())
    path.write_bytes(b"".join(data))
    return path
