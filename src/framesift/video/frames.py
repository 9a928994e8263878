"""Video in: what a file holds, pictures on a regular grid of times, and pictures at given times.

The packets are listed first, which costs next to nothing, so it is known beforehand which pictures are wanted, and the
decoder is spared those that are neither wanted nor needed by one that is.
"""

import itertools
import logging
import math
from collections.abc import Generator, Iterator, Sequence
from fractions import Fraction
from types import TracebackType
from typing import Literal, Self, get_args

import av
import av.error
import numpy as np
from av.subtitles.stream import SubtitleStream

from framesift.errors import InputError, OptionError
from framesift.types import SubtitleTrack, VideoInfo
from framesift.types.vectors import Array
from framesift.video.colour import Painter, square_pixels, turn_of
from framesift.video.container import MICROSECOND, Opened, StrPath, check_file, open_video
from framesift.video.decoding import INDEXED, Plan, decode_packet, find_pictures
from framesift.video.timeline import Timeline, container_start, finest_rate, on_grid, read_timeline, usual_step

Mode = Literal["exact", "fast", "keyframes"]
MODES: tuple[Mode, ...] = get_args(Mode)

# A clip with fewer candidates than this at 1 FPS is sampled more finely when the rate is left open.
ENOUGH_CANDIDATES = 64
# How far before its instant a picture of `fast` may lie.
FAST_REACH_S = Fraction(1, 2)
# Above this a rate is a slip of the pen.
FASTEST = 1000

_TEXT_SUBTITLES = frozenset(
    {"subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text", "ttml", "microdvd", "eia_608"}
)
# The container's duration may count sound that outlasts the pictures; a larger difference is worth a word.
_DURATION_SLACK_S = 2.0
_PROBED_PACKETS = 300
_FAR_S = 10**8  # later than any video's end

log = logging.getLogger(__name__)


def probe(path: StrPath) -> VideoInfo:
    """What the file's video is, as a player shows it. Decodes one picture; with an index, reads little."""
    with open_video(path, threads=1) as video:
        bounds = _quick_bounds(video)
    if bounds is None:
        timeline = read_timeline(path)
        bounds = timeline.origin, timeline.end
    with open_video(path, threads=1) as video:
        return _describe(video, bounds)


def sample(
    path: StrPath,
    fps: float | Literal["auto"] = 1.0,
    mode: Mode = "exact",
    *,
    short_side: int | None = None,
    after_s: float | None = None,
) -> "Sampling":
    """The candidates: at every instant k/fps the picture on screen, with its true time, none twice.

    fps: "auto" takes 1, and doubles it until there are 64 candidates or every picture is one.
    mode: "exact" gives just those pictures. "fast" gives, for each, the nearest one at or before it that other
    pictures are built on, at most half a second away, so that none of the others is decoded. "keyframes" looks at key
    pictures only.
    short_side: shrink to that many pixels. after_s: only candidates later than this, the same an undivided run gives.
    """
    return Sampling(path, fps, mode, short_side=short_side, after_s=after_s)


class Sampling:
    """An iterator of (time_s, picture (H, W, 3) uint8 RGB), one at a time, by ascending time.

    info; fps, the rate used; expected, about how many will come; warnings, sentences that grow while iterating.
    """

    def __init__(
        self, path: StrPath, fps: float | Literal["auto"], mode: Mode, *, short_side: int | None, after_s: float | None
    ) -> None:
        _check_options(mode, short_side, after_s)
        rate = None if fps == "auto" else _checked_rate(fps)
        timeline = read_timeline(path)
        with open_video(path, threads=1) as video:
            self.info: VideoInfo = _describe(video, (timeline.origin, timeline.end))
            self.warnings: list[str] = _doubts(video, timeline)
        chosen = _auto_rate(timeline, mode) if rate is None else rate
        self.fps: float = float(chosen)
        wanted = _candidates(timeline, mode, chosen)
        if after_s is not None:
            wanted = [packet for packet in wanted if timeline.time_s(packet) > after_s]
        self.expected: int = len(wanted)
        log.info("sample: %d of %d pictures at %.6g FPS, %s", len(wanted), len(timeline), self.fps, mode)
        plan = Plan(timeline, wanted, keys_only=mode == "keyframes")
        # A function of its own, not a method: a cycle would keep the file open until the collector comes by.
        self._candidates = _sampled(self.info.path, plan, short_side, self.warnings)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[float, Array]:
        return next(self._candidates)

    def close(self) -> None:
        """Close the file; no more candidates come."""
        self._candidates.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def fetch(path: StrPath, times_s: Sequence[float], *, short_side: int | None = None) -> Iterator[tuple[float, Array]]:
    """The pictures at exactly these times, by ascending time, each once, in one pass.

    A time at which no picture begins is an InputError that names the nearest.
    """
    _check_options("exact", short_side, None)
    timeline = read_timeline(path)
    positions = sorted({timeline.find(float(time_s)) for time_s in times_s})
    plan = Plan(timeline, [int(timeline.shown[k]) for k in positions])
    return _fetched(check_file(path), plan, short_side)


def frame_numbers(path: StrPath, times_s: Sequence[float]) -> list[int]:
    """The number, from 0 and in order of presentation, of the frame at each of these times; nothing is decoded."""
    timeline = read_timeline(path)
    return [timeline.find(float(time_s)) for time_s in times_s]


def _candidates(timeline: Timeline, mode: Mode, fps: Fraction) -> list[int]:
    """The packets whose pictures are candidates, by time."""
    shown: list[int] = timeline.shown.tolist()
    if mode == "keyframes":
        keys = [packet for packet in shown if timeline.is_key[packet]] or shown[:1]
        return [keys[cell.position] for cell in on_grid(timeline, keys, fps)]
    cells = on_grid(timeline, shown, fps)
    if mode == "exact" or timeline.in_order:
        return [shown[cell.position] for cell in cells]
    nearest = np.maximum.accumulate(np.where(timeline.is_needed[timeline.shown], np.arange(len(shown)), -1)).tolist()
    chosen: dict[int, None] = {}
    for position, instant in cells:
        other = nearest[position]
        if other < 0 or instant - (int(timeline.ticks[shown[other]]) - timeline.origin) * timeline.tick > FAST_REACH_S:
            other = position
        chosen[shown[other]] = None
    return list(chosen)


def _auto_rate(timeline: Timeline, mode: Mode) -> Fraction:
    """1, 2, 4, 8 … per second, up to the source's own rate, until there are enough candidates."""
    finest = max(finest_rate(timeline), Fraction(1))
    enough = ENOUGH_CANDIDATES
    rate = Fraction(1)
    while len(_candidates(timeline, mode, rate)) < enough and rate < finest:
        if rate == 1:
            enough = min(enough, len(_candidates(timeline, mode, finest)))
        rate = min(2 * rate, finest)
    return rate


def _sampled(
    path: str, plan: Plan, short_side: int | None, warnings: list[str]
) -> Generator[tuple[float, Array], None, None]:
    missed = given = 0
    with open_video(path) as video:
        painter = Painter(video.stream.sample_aspect_ratio, short_side)
        for found in find_pictures(video, plan):
            missed += found.packet != found.wanted
            if found.packet is not None and found.frame is not None:
                given += 1
                yield plan.timeline.time_s(found.packet), painter.paint(found.frame)
    if plan.wanted and not given:
        raise InputError(f"{path!r}: not one of its pictures can be decoded; the file is damaged: get it again")
    if missed:
        warnings.append(
            f"{missed} of {len(plan.wanted)} candidates ({missed / len(plan.wanted):.0%}) could not be decoded and "
            "were left out or replaced by the picture before: the file is damaged there"
        )


def _fetched(path: str, plan: Plan, short_side: int | None) -> Iterator[tuple[float, Array]]:
    with open_video(path) as video:
        painter = Painter(video.stream.sample_aspect_ratio, short_side)
        for found in find_pictures(video, plan):
            time_s = plan.timeline.time_s(found.wanted)
            if found.packet != found.wanted or found.frame is None:
                raise InputError(f"{path!r}: the picture at {time_s:.3f} s can't be decoded; the file is damaged there")
            yield time_s, painter.paint(found.frame)


def _describe(video: Opened, bounds: tuple[Fraction, int]) -> VideoInfo:
    """The stream as shown. Reads on from where the container stands, until one picture is decoded."""
    stream = video.stream
    width, height = stream.width, stream.height
    quarters = 0
    frame = _first_picture(video)
    if frame is not None:
        width, height, quarters = frame.width, frame.height, turn_of(frame).quarters
    width, height = square_pixels(width, height, stream.sample_aspect_ratio)
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
    language = stream.language or ""
    return SubtitleTrack(
        index=stream.index,
        codec=codec,
        language="" if language == "und" else language,
        title=stream.metadata.get("title", ""),
        is_text=codec in _TEXT_SUBTITLES,
    )


def _first_picture(video: Opened) -> av.VideoFrame | None:
    try:
        packets = itertools.islice(video.container.demux(video.stream), _PROBED_PACKETS)
        return next((frame for packet in packets for frame in decode_packet(video, packet)), None)
    except (av.error.FFmpegError, ValueError):
        return None


def _quick_bounds(video: Opened) -> tuple[Fraction, int] | None:
    """The ticks of 0:00 and of the end, from the last packets alone; None where they must be counted."""
    first = video.stream.start_time
    if first is None or video.container.format.name not in INDEXED:
        return None
    try:
        video.container.seek(int(_FAR_S / video.tick), stream=video.stream)
        ends = [
            packet.pts + (packet.duration or usual_step(video))
            for packet in video.container.demux(video.stream)
            if packet.size and packet.pts is not None and not packet.is_discard
        ]
    except (av.error.FFmpegError, ValueError):
        return None
    return (container_start(video, first), max(ends)) if ends else None


def _doubts(video: Opened, timeline: Timeline) -> list[str]:
    """What the file says of itself that its packets do not bear out."""
    doubts = []
    seconds = float(timeline.duration)
    claimed = None
    if video.stream.duration:
        claimed = float(video.stream.duration * video.tick)
    elif video.container.duration and not video.container.streams.audio:
        claimed = float(video.container.duration * MICROSECOND)
    if claimed is not None and claimed - seconds > max(_DURATION_SLACK_S, 0.01 * seconds):
        doubts.append(
            f"the file says its video lasts {claimed:.1f} s, but its pictures end at {seconds:.1f} s: "
            f"{claimed - seconds:.1f} s are missing"
        )
    elif claimed is not None and seconds - claimed > max(_DURATION_SLACK_S, 0.01 * seconds):
        doubts.append(f"the file says its video lasts {claimed:.1f} s, but its pictures go on to {seconds:.1f} s")
    if timeline.is_cut:
        doubts.append(f"reading broke off at {seconds:.1f} s: the file is damaged there; what comes before is used")
    if timeline.jumps:
        doubts.append(
            f"the clock of the file jumps {timeline.jumps} times; time was counted on from picture to picture"
        )
    return doubts


def _check_options(mode: str, short_side: int | None, after_s: float | None) -> None:
    if mode not in MODES:
        raise OptionError(f"mode is {mode!r}; expected one of {', '.join(MODES)}")
    if short_side is not None and (isinstance(short_side, bool) or int(short_side) != short_side or short_side < 1):
        raise OptionError(f"short_side is {short_side}; expected a number of pixels, at least 1")
    if after_s is not None and math.isnan(after_s):
        raise OptionError("after_s is not a number; expected seconds")


def _checked_rate(fps: float | str) -> Fraction:
    """The rate as the fraction that was meant: 0.1 is one in ten seconds, and 29.97 is 2997/100."""
    try:
        rate = Fraction(fps).limit_denominator(100_000)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f'fps is {fps!r}; expected "auto" or a positive number of pictures per second') from None
    if not 0 < rate <= FASTEST:
        raise OptionError(f'fps is {fps!r}; expected "auto" or a positive number up to {FASTEST}')
    return rate
