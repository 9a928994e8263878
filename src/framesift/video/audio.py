"""Audio in blocks of 16 kHz mono, each with its presentation time.

PyAV reads any container and resamples as it decodes. One block is held at a time: memory does not grow with length.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction

import av
import av.container
import av.error
import numpy as np

from framesift._utils.files import StrPath
from framesift.errors import InputError
from framesift.types.vectors import Array
from framesift.video.clock import ClockShifts
from framesift.video.container import (
    DISCONTINUOUS,
    MICROSECOND,
    discard_other_streams,
    open_container,
    players_choice,
    read_packets,
)
from framesift.video.timeline import read_timeline

RATE = 16_000  # samples per second: what the speech engines were trained on
FRAME_S = 0.03  # one step of the loudness curve, about the length of a phoneme
FRAME = int(RATE * FRAME_S)
SILENCE = 10 ** (-60 / 20)  # of full scale: below it speech engines hallucinate
# A gap between timestamps longer than this starts a new block; shorter ones are rounding.
GAP_S = 0.1
# The share of a block, at its end, that is searched for the quietest point to cut.
CUT_SEARCH_SHARE = 1 / 3

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AudioBlock:
    """Consecutive samples (n,) float32 in [-1, 1]; start_s is their presentation time."""

    start_s: float
    samples: Array

    @property
    def end_s(self) -> float:
        return self.start_s + len(self.samples) / RATE


@dataclass(frozen=True)
class AudioTrack:
    """The audio stream of an open file: iterate over `blocks`."""

    path: str
    container: av.container.InputContainer
    stream: av.AudioStream
    duration_s: float
    shifts: ClockShifts  # the repair of the video's clock, for which the audio has the same discontinuities

    def blocks(self, block_s: float) -> Iterator[AudioBlock]:
        """Yield blocks of at most `block_s` seconds, cut at quiet points so that few words are split."""
        most = int(block_s * RATE)
        start_s = 0.0
        pieces: list[Array] = []
        held = 0
        for at_s, samples in self._pieces():
            if held and abs(at_s - (start_s + held / RATE)) > GAP_S:
                yield AudioBlock(start_s, np.concatenate(pieces))
                pieces, held = [], 0
            if not held:
                start_s = at_s
            pieces.append(samples)
            held += len(samples)
            while held >= most:
                joined = np.concatenate(pieces)
                cut = quietest_cut(joined[:most])
                yield AudioBlock(start_s, joined[:cut])
                start_s += cut / RATE
                pieces, held = [joined[cut:].copy()], len(joined) - cut
        if held:
            yield AudioBlock(start_s, np.concatenate(pieces))

    def _pieces(self) -> Iterator[tuple[float, Array]]:
        """Yield (time, samples) as decoded. Each run without a gap has its own resampler."""
        zero = Fraction(self.container.start_time or 0) * MICROSECOND
        resampler: av.AudioResampler | None = None
        next_s: float | None = None  # expected start of the next frame
        out_s = 0.0  # start of the next resampled samples
        damaged = 0
        for packet in read_packets(self.container, self.stream):
            try:
                frames = packet.decode()
            except av.error.FFmpegError:
                damaged += 1
                continue
            for frame in frames:
                at_s = next_s or 0.0
                if frame.pts is not None and frame.time_base is not None:
                    at_s = float(frame.pts * frame.time_base - zero + self.shifts.at(packet.pos))
                if resampler is None or next_s is None or abs(at_s - next_s) > GAP_S:
                    if resampler is not None:
                        yield from _timed(out_s, resampler.resample(None))
                    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
                    out_s = next_s = at_s
                next_s += frame.samples / frame.sample_rate
                for time_s, samples in _timed(out_s, resampler.resample(frame)):
                    yield time_s, samples
                    out_s = time_s + len(samples) / RATE
        if resampler is not None:
            yield from _timed(out_s, resampler.resample(None))
        if damaged:
            log.warning("%s: %d audio packets can't be decoded and were skipped", self.path, damaged)


def _timed(start_s: float, frames: list[av.AudioFrame]) -> Iterator[tuple[float, Array]]:
    for frame in frames:
        samples = frame.to_ndarray()[0]
        if len(samples):
            yield start_s, samples
            start_s += len(samples) / RATE


@contextmanager
def open_audio(path: StrPath, *, language: str | None = None) -> Iterator[AudioTrack]:
    """Open the audio stream a player would choose: one tagged `language` if there is one, else the default."""
    name = os.fspath(path)
    with open_container(path) as container:
        stream = _choose_stream(container, language)
        if stream is None:
            raise InputError(f"{name!r} has no audio stream; speech recognition needs one: provide subtitles instead")
        discard_other_streams(container, stream)
        length_s = float(container.duration * MICROSECOND) if container.duration else 0.0
        if not length_s and stream.duration and stream.time_base:
            length_s = float(stream.duration * stream.time_base)
        yield AudioTrack(name, container, stream, length_s, _video_shifts(path, container))


def _video_shifts(path: StrPath, container: av.container.InputContainer) -> ClockShifts:
    """The repair of the timestamps, in formats whose audio can step back with the video."""
    if container.format.name in DISCONTINUOUS:
        with suppress(InputError):  # no video stream
            return read_timeline(path).shifts
    return ClockShifts()


def _choose_stream(container: av.container.InputContainer, language: str | None) -> av.AudioStream | None:
    usable = [s for s in container.streams.audio if s.codec_context is not None]
    asked = [s for s in usable if language and (s.language or "")[:2].lower() == language[:2].lower()]
    return players_choice(asked or usable, container.streams.best("audio")) if usable else None


def loudness(samples: Array) -> Array:
    """Root mean square of each step of FRAME_S, (n // FRAME,); an incomplete last step is dropped."""
    whole = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
    level: Array = np.sqrt(np.mean(np.square(whole, dtype=np.float32), axis=1))
    return level


def quietest_cut(samples: Array, share: float = CUT_SEARCH_SHARE) -> int:
    """The sample at which to cut: the middle of the quietest quarter of a second in the last `share`."""
    first = int(len(samples) * (1 - share)) // FRAME
    level = loudness(samples)[first:]
    width = round(0.25 / FRAME_S)
    if len(level) <= width:
        return len(samples)
    mean = np.convolve(level, np.full(width, 1 / width), mode="valid")
    return (first + int(np.argmin(mean)) + width // 2) * FRAME
