"""Probing a video, sampling frames on a regular grid, fetching frames by time.

The packets are scanned first, which is cheap, so that only the wanted frames and those they reference are decoded.
"""

import itertools
import logging
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

import av
import av.error
import numpy as np
from av.subtitles.stream import SubtitleStream

from framesift._utils.files import FileIdentity, StrPath
from framesift._utils.records import shown
from framesift.errors import InputError, OptionError
from framesift.types import SubtitleTrack, VideoInfo
from framesift.types.vectors import Array
from framesift.video.clock import LONGEST_GAP_S
from framesift.video.colour import read_orientation, square_pixel_size
from framesift.video.container import MICROSECOND, OpenedVideo, check_file, open_video, read_packets, tag
from framesift.video.cuda import CudaDecoder, CudaImage
from framesift.video.decoding import INDEXED, DecodePlan, decode_packet
from framesift.video.diagnostics import container_warnings, decoding_warnings
from framesift.video.parallel import GrowingPlan, decode_images
from framesift.video.timeline import (
    Timeline,
    container_start,
    finest_rate,
    growing_timelines,
    on_grid,
    read_timeline,
    usual_step,
)

Mode = Literal["exact", "fast", "keyframes"]
MODES: tuple[Mode, ...] = get_args(Mode)
Fps = float | Literal["auto"]

# With fps="auto", a clip with fewer candidates than this at 1 FPS is sampled at a higher rate.
ENOUGH_CANDIDATES = 64
# How far before its grid instant a frame of mode "fast" may be.
FAST_REACH_S = Fraction(1, 2)
# The size of frames that are decoded only to see whether that is possible.
TRIED_SIDE = 16
# A higher or lower rate is taken for a mistake.
MAX_FPS = 1000
MIN_FPS = 1e-5

_TEXT_SUBTITLES = {"subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text", "ttml", "microdvd", "eia_608"}
_PROBED_PACKETS = 300
_FAR_S = 10**8  # beyond the end of any video

log = logging.getLogger(__name__)


def probe(path: StrPath) -> VideoInfo:
    """Describe the video as a player shows it. Decodes one frame; reads little of files with an index.

    Cached until the file changes.
    """
    name = check_file(path)
    return _probed(name, FileIdentity.of(name))


@lru_cache(maxsize=4)
def _probed(path: str, _identity: FileIdentity | None) -> VideoInfo:
    with open_video(path, threads=1) as video:
        bounds = _quick_bounds(video)
    if bounds is None:
        timeline = read_timeline(path)
        bounds = timeline.origin, timeline.end
    with open_video(path, threads=1) as video:
        return _describe(video, bounds)


def sample(
    path: StrPath,
    fps: Fps = 1.0,
    mode: Mode = "exact",
    *,
    short_side: int | None = None,
    after_s: float | None = None,
    gpu: CudaDecoder | None = None,
) -> "Sampling":
    """Sample the candidates: the frame on screen at every instant k/fps, with its true time, without duplicates.

    fps: "auto" starts at 1 and doubles it until there are 64 candidates or every frame is one.
    mode: "exact" gives those frames. "fast" replaces each by the nearest reference frame at or before it, at most half
    a second away, so that no other frame is decoded. "keyframes" considers keyframes only.
    short_side: shrink to that many pixels. after_s: only the candidates later than this. gpu: decodes the video where
    it can; the images then are of type CudaImage.
    """
    if mode not in MODES:
        raise OptionError(f"mode is {mode!r}; expected one of {', '.join(MODES)}")
    if short_side is not None and short_side < 1:
        raise OptionError(f"short_side is {short_side}; expected a number of pixels, at least 1")
    given = parse_fps(fps)
    timelines = iter([(read_timeline(path), True)]) if gpu is None else growing_timelines(path)
    with open_video(path, threads=1) as video:
        duration_s = float((video.container.duration or 0) * MICROSECOND)

    def plans() -> Iterator[DecodePlan]:
        for timeline, is_whole in timelines:
            rate = _rate(timeline, mode, given)
            wanted = _candidates(timeline, mode, rate)
            if after_s is not None:
                wanted = [packet for packet in wanted if timeline.time_s(packet) > after_s]
            if not is_whole and given == "auto" and rate != 1:  # it may be lower with more packets
                wanted = []
            log.info("sample: %d of %d frames at %.6g FPS, %s", len(wanted), len(timeline), rate, mode)
            yield DecodePlan(timeline, wanted, mode == "keyframes", is_whole)

    growing = GrowingPlan(plans(), duration_s)
    damaged_s: list[float] = []
    missed_s: list[float] = []
    # Not a method: a reference cycle would keep the file open until the next garbage collection.
    candidates = _sampled(os.fspath(path), growing, short_side, gpu, damaged_s, missed_s)
    return Sampling(os.fspath(path), given, mode, damaged_s, missed_s, candidates, growing)


@dataclass(eq=False)
class Sampling(Iterator[tuple[float, Any]], AbstractContextManager["Sampling"]):
    """An iterator of (time_s, image (H, W, 3) uint8 RGB) by ascending time; images on the GPU are of type CudaImage.

    Extended while iterating, and freely by the caller: damaged_s, the times of candidates decoded with errors, each
    added before its image is returned, and missed_s, the times of frames that could not be decoded and were skipped or
    replaced by the previous frame. Where a GPU decodes, the packets may still be scanned; info, fps and warnings wait
    for the end of that.
    """

    _path: str
    _given: Fps
    _mode: Mode
    damaged_s: list[float]
    missed_s: list[float]
    _candidates: Generator[tuple[float, Any], None, None]
    _growing: GrowingPlan

    @property
    def expected(self) -> int:
        """How many candidates there are, or about how many until the packets are scanned."""
        return len(self._growing.plan.wanted) * self._growing.times

    @cached_property
    def _rate(self) -> Fraction:
        return _rate(self._growing.whole().timeline, self._mode, self._given)

    @property
    def fps(self) -> float:
        """The rate used."""
        return float(self._rate)

    @cached_property
    def _facts(self) -> tuple[VideoInfo, list[str]]:
        timeline = self._growing.whole().timeline
        with open_video(self._path, threads=1) as video:
            return _describe(video, (timeline.origin, timeline.end)), container_warnings(video, timeline)

    @property
    def info(self) -> VideoInfo:
        return self._facts[0]

    @property
    def warnings(self) -> list[str]:
        """Warnings about the whole video, and about the candidates in damaged_s and missed_s so far."""
        total = len(_candidates(self._growing.whole().timeline, self._mode, self._rate))
        return self._facts[1] + decoding_warnings(self.damaged_s, self.missed_s, total)

    def __next__(self) -> tuple[float, Any]:
        return next(self._candidates)

    def close(self) -> None:
        """Close the file and end the iteration."""
        self._candidates.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def fetch(path: StrPath, times_s: Sequence[float], *, short_side: int | None = None) -> Iterator[tuple[float, Array]]:
    """Fetch the frames on screen at these times: (time, frame) by ascending time, without duplicate times, in one pass.

    A time at most a millisecond from a frame's own is that frame's. InputError: a time is beyond the end, or a frame
    can't be decoded.
    """
    return _all_required(os.fspath(path), fetch_available(path, times_s, short_side=short_side))


def fetch_available(
    path: StrPath, times_s: Sequence[float], *, short_side: int | None = None
) -> Iterator[tuple[float, Array | None]]:
    """Fetch frames as `fetch` does, with None in place of one that can't be decoded."""
    timeline = read_timeline(path)
    ascending = sorted(set(map(float, times_s)))
    packets = [int(timeline.shown[timeline.find(time_s)]) for time_s in ascending]
    plan = DecodePlan(timeline, list(dict.fromkeys(packets)))
    return _fetched(check_file(path), plan, short_side, list(zip(ascending, packets, strict=True)))


def decodable_times(path: StrPath, times_s: Sequence[float]) -> set[float]:
    """Those of these frames' times at which a frame is decoded also without those before its random access point.

    In a damaged video the decoder may return a frame only when it has references of the part before.
    """
    timeline = read_timeline(path)
    groups: dict[int, list[int]] = {}
    for time_s in times_s:
        packet = int(timeline.shown[timeline.find(time_s)])
        groups.setdefault(0 if timeline.in_order else timeline.random_access(packet), []).append(packet)
    plans = [DecodePlan(timeline, packets) for packets in groups.values()]
    results = itertools.chain.from_iterable(decode_images(check_file(path), plan, TRIED_SIDE) for plan in plans)
    return {timeline.time_s(result.wanted) for result in results if result.packet == result.wanted}


def frame_numbers(path: StrPath, times_s: Sequence[float]) -> list[int]:
    """The index from 0, in presentation order, of the frame on screen at each of these times, without decoding."""
    timeline = read_timeline(path)
    return [timeline.find(float(time_s)) for time_s in times_s]


def on_screen_times(path: StrPath, times_s: Sequence[float]) -> list[float]:
    """The presentation time of the frame on screen at each of these times, without decoding."""
    timeline = read_timeline(path)
    return [timeline.time_s(int(timeline.shown[timeline.find(float(time_s))])) for time_s in times_s]


def _candidates(timeline: Timeline, mode: Mode, fps: Fraction) -> list[int]:
    """The packets of the candidates, by presentation time."""
    shown = timeline.shown
    if mode == "keyframes":
        keys = shown[timeline.is_key[shown]]
        shown = keys if len(keys) else shown[:1]
    on_screen = on_grid(timeline, shown, fps)
    if mode != "fast" or timeline.in_order:
        return [int(shown[entry.position]) for entry in on_screen]
    nearest = np.maximum.accumulate(np.where(timeline.is_needed[shown], np.arange(len(shown)), -1))
    chosen: dict[int, None] = {}
    for position, instant in on_screen:
        other = int(nearest[position])
        if other < 0 or instant - (int(timeline.ticks[shown[other]]) - timeline.origin) * timeline.tick > FAST_REACH_S:
            other = position
        chosen[int(shown[other])] = None
    return list(chosen)


def _rate(timeline: Timeline, mode: Mode, given: Fps) -> Fraction:
    # The intended fraction: 0.1 is 1/10, and 29.97 is 2997/100.
    return _auto_rate(timeline, mode) if given == "auto" else Fraction(given).limit_denominator(100_000)


def _auto_rate(timeline: Timeline, mode: Mode) -> Fraction:
    """1, 2, 4, 8 … per second, up to the source's frame rate, until there are enough candidates."""
    finest = max(finest_rate(timeline), Fraction(1))
    enough = ENOUGH_CANDIDATES
    rate = Fraction(1)
    while len(_candidates(timeline, mode, rate)) < enough and rate < finest:
        if rate == 1:
            enough = min(enough, len(_candidates(timeline, mode, finest)))
        rate = min(2 * rate, finest)
    return rate


def _sampled(
    path: str,
    growing: GrowingPlan,
    short_side: int | None,
    gpu: CudaDecoder | None,
    damaged_s: list[float],
    missed_s: list[float],
) -> Generator[tuple[float, Any], None, None]:
    decoded = 0
    for result in decode_images(path, growing, short_side, gpu):
        timeline = growing.plan.timeline
        if result.packet != result.wanted:
            missed_s.append(timeline.time_s(result.wanted))
        if result.packet is not None and result.image is not None:
            decoded += 1
            time_s = timeline.time_s(result.packet)
            if result.is_damaged:
                damaged_s.append(time_s)
            if isinstance(result.image, CudaImage):
                result.image.wait()
            yield time_s, result.image
    if growing.whole().wanted and not decoded:
        raise InputError(f"{path!r}: none of its frames can be decoded; the file is damaged: download it again")


def _all_required(path: str, fetched: Iterator[tuple[float, Array | None]]) -> Iterator[tuple[float, Array]]:
    for time_s, image in fetched:
        if image is None:
            raise InputError(f"{path!r}: the frame at {time_s:.3f} s can't be decoded; the file is damaged there")
        yield time_s, image


def _fetched(
    path: str, plan: DecodePlan, short_side: int | None, wanted: Sequence[tuple[float, int]]
) -> Iterator[tuple[float, Array | None]]:
    """Yield each time of `wanted`, which come with their packets, with the image of the packet."""
    decoded = decode_images(path, plan, short_side)
    result = next(decoded, None)
    for packet, times in itertools.groupby(wanted, key=lambda entry: entry[1]):
        image: Array | None = None
        if result is not None and result.wanted == packet:
            image = result.image if result.packet == packet else None
            result = next(decoded, None)
        if image is None:  # other wanted frames may have been decoded in its place: decode it by itself
            alone = decode_images(path, DecodePlan(plan.timeline, [packet]), short_side)
            image = next((other.image for other in alone if other.packet == packet), None)
        for time_s, _ in times:
            yield time_s, image


def _describe(video: OpenedVideo, bounds: tuple[Fraction, int]) -> VideoInfo:
    """Describe the stream as shown. Reads from the container's position until one frame is decoded."""
    stream = video.stream
    width, height = stream.width, stream.height
    quarters = 0
    frame = _first_frame(video)
    if frame is not None:
        width, height, quarters = frame.width, frame.height, read_orientation(frame).quarters
    width, height = square_pixel_size(width, height, stream.sample_aspect_ratio)
    if quarters % 2:
        width, height = height, width
    origin, end = bounds
    return VideoInfo(
        path=video.path,
        duration_s=float((end - origin) * video.tick),
        width=width,
        height=height,
        fps=float(stream.average_rate or stream.guessed_rate or 0),
        codec=video.codec,
        start_s=float(origin * video.tick),
        has_audio=bool(video.container.streams.audio),
        subtitle_tracks=tuple(_subtitle_track(s) for s in video.container.streams.subtitles),
    )


def _subtitle_track(stream: SubtitleStream) -> SubtitleTrack:
    codec = stream.codec_context.name if stream.codec_context is not None else ""
    language = tag(stream, "language")
    return SubtitleTrack(
        index=stream.index,
        codec=codec,
        language="" if language == "und" else language,
        title=tag(stream, "title"),
        is_text=codec in _TEXT_SUBTITLES,
    )


def _first_frame(video: OpenedVideo) -> av.VideoFrame | None:
    try:
        packets = itertools.islice(read_packets(video.container, video.stream), _PROBED_PACKETS)
        return next((frame for packet in packets for frame in decode_packet(video, packet)), None)
    except (av.error.FFmpegError, ValueError):
        return None


def _quick_bounds(video: OpenedVideo) -> tuple[Fraction, int] | None:
    """The ticks of 0:00 and of the end from the last packets alone; None if a full scan is needed."""
    first = video.stream.start_time
    if first is None or video.container.format.name not in INDEXED:
        return None
    try:
        video.container.seek(int(_FAR_S / video.tick), stream=video.stream)
        ends = [
            packet.pts + (packet.duration or usual_step(video))
            for packet in read_packets(video.container, video.stream)
            if packet.size and packet.pts is not None and not packet.is_discard
        ]
    except (av.error.FFmpegError, ValueError):
        return None
    # The times of a longer video may need a repair.
    if not ends or (max(ends) - first) * video.tick > LONGEST_GAP_S:
        return None
    return container_start(video, first), max(ends)


def parse_fps(value: Any) -> Fps:
    """Candidates per second: "auto", or a number, which may come as text."""
    if value == "auto":
        return "auto"
    try:
        fps = float(value)
    except (TypeError, ValueError, OverflowError):
        fps = 0.0
    if isinstance(value, bool) or not MIN_FPS <= fps <= MAX_FPS:
        raise OptionError(f"fps is {shown(value)}; expected a number above 0, at most {MAX_FPS}, or auto")
    return fps
