"""The presentation times of all frames, read from the packets; the sampling grid; the packets to decode.

Times are integers in the stream's time base and fractions, so that rounding never drops or repeats a frame.
"""

import bisect
import itertools
import math
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import av
import av.error
import numpy as np

from framesift._utils.files import FileIdentity, StrPath
from framesift._utils.machine import release_free_memory
from framesift.errors import InputError
from framesift.types.vectors import Array
from framesift.video.bitstream import ZEROS, PacketParser
from framesift.video.clock import NO_TIME, ClockShifts, Jump, repair
from framesift.video.container import (
    EXPECTED,
    MICROSECOND,
    OpenedVideo,
    VideoPacket,
    check_file,
    open_video,
    read_packets,
)

# If more packets than this share have no presentation time, none of the times are used.
MAX_UNTIMED_SHARE = 0.01

TIME_TOLERANCE = Fraction(1, 1000)  # seconds: times are often rounded to milliseconds, or cut

MAX_TICK = 2**60  # a timestamp beyond this is damage, and sums would overflow

_MOST_KEEPERS = 256

# While a video is scanned, the timeline of so many first packets is given out, then of twice as many, and so on.
FIRST_PACKETS = 2048

# What a timeline depends on beside the file: the rules of this module, to be raised with them, and FFmpeg's demuxers
# and parsers. A stored timeline made by others is scanned again.
TIMELINE_RULES = ", ".join(
    ["3", *(f"{name} {'.'.join(map(str, av.library_versions[name]))}" for name in ("libavformat", "libavcodec"))]
)


@dataclass(frozen=True, eq=False)
class Timeline:
    """The packets of a video stream in storage order, and its frames in presentation order.

    ticks (P,), sizes (P,), raw (P,): each packet's time with repaired discontinuities, its bytes, and its stored time.
    is_key, is_fresh, is_closed, is_needed (P,) bool: an intra-coded keyframe; a random access point; one that resets
    the decoder and that no later packet precedes in presentation order; a frame that others may reference. is_broken
    (P,) bool: packets with damaged or missing data.
    shown (N,): the packets with visible frames by presentation time, without duplicates. origin: the tick of 0:00 in a
    player. end: the tick at which the last frame ends.
    """

    tick: Fraction
    origin: Fraction
    ticks: Array
    raw: Array
    sizes: Array
    is_key: Array
    is_fresh: Array
    is_closed: Array
    is_needed: Array
    is_broken: Array
    shown: Array
    end: int
    in_order: bool  # no presentation times: the n-th frame decoded is the n-th shown
    is_cut: bool  # reading stopped at an error
    is_last_incomplete: bool = False  # the data of the last packet end early
    jumps: Sequence[Jump] = ()
    shifts: ClockShifts = field(default_factory=ClockShifts)

    def __post_init__(self) -> None:
        if np.array_equal(self.raw, self.ticks):  # as in most files; ten hours have a million packets
            object.__setattr__(self, "raw", self.ticks)

    def __len__(self) -> int:
        return len(self.shown)

    @cached_property
    def duration(self) -> Fraction:
        return (self.end - self.origin) * self.tick

    def time_s(self, packet: int) -> float:
        """The presentation time of this packet's frame, as a player shows it."""
        return float((int(self.ticks[packet]) - self.origin) * self.tick)

    def random_access(self, packet: int) -> int:
        """The packet from which decoding has to start for this frame.

        A frame shown before the keyframe stored ahead of it (open GOP) may reference frames before that keyframe, so
        it is decoded from the previous random access point.
        """
        starts = self._starts
        position = int(np.searchsorted(starts, packet, "right")) - 1
        while position >= 0 and self.ticks[packet] < self.ticks[starts[position]]:
            position -= 1
        return int(starts[position]) if position >= 0 else 0

    @cached_property
    def rank(self) -> Array:
        """(P,) the position of each packet in presentation order; -1 if its frame is not shown."""
        rank = np.full(len(self.ticks), -1, dtype=np.int32)
        rank[self.shown] = np.arange(len(self))
        return rank

    @cached_property
    def _starts(self) -> Array:
        return np.flatnonzero(self.is_fresh)

    def find(self, time_s: float) -> int:
        """The index, in presentation order, of the frame on screen at `time_s`; before the first frame, the first.

        It is the last frame whose time is not later. A time at most a millisecond from a frame's own is that
        frame's, the nearest one's.
        """
        if not -TIME_TOLERANCE <= time_s <= self.duration + TIME_TOLERANCE:
            end_s = float(self.duration)
            raise InputError(f"the time is {time_s:g} s; expected seconds from 0 to {end_s:.3f}, the video's end")
        at = self.origin + Fraction(time_s) / self.tick
        right = bisect.bisect_left(self.shown, math.ceil(at), key=self.ticks.__getitem__)
        closest = [k for k in (right - 1, right) if 0 <= k < len(self)]
        apart = {k: abs(int(self.ticks[self.shown[k]]) - at) * self.tick for k in closest}
        near = [k for k in apart if apart[k] <= TIME_TOLERANCE]
        return min(near, key=apart.__getitem__, default=max(0, right - 1))


class GridFrame(NamedTuple):
    """A frame on screen at an instant of the sampling grid: its position in the list given, and the instant."""

    position: int
    instant: Fraction


def on_grid(timeline: Timeline, packets: Array, fps: Fraction) -> list[GridFrame]:
    """For every k/fps before the end: the last of `packets` (by time) at or before it, without duplicates.

    A frame on screen over [a, b) is included if an integer lies in [a·fps, b·fps).
    """
    scale = timeline.tick * fps
    shift = timeline.origin * scale
    over = math.lcm(scale.denominator, shift.denominator)
    by, less = scale.numerator * (over // scale.denominator), shift.numerator * (over // shift.denominator)
    ticks = np.append(timeline.ticks[packets], timeline.end)
    if (int(np.abs(ticks).max()) + 1) * by + abs(less) > MAX_TICK:
        ticks = ticks.astype(object)  # beyond 64 bits
    # First grid instant of each frame: (ticks − origin)·tick·fps, rounded up.
    first = -((less - by * ticks) // over)
    starts = np.flatnonzero(first[:-1] < first[1:])
    on_screen = [GridFrame(n, k / fps) for n, k in zip(starts.tolist(), first[starts].tolist(), strict=True)]
    if len(packets) and (not on_screen or on_screen[0].position != 0):
        on_screen.insert(0, GridFrame(0, Fraction(0)))
    return on_screen


def finest_rate(timeline: Timeline) -> Fraction:
    """The sampling rate at which every frame is a candidate: one over the shortest frame interval."""
    steps = np.diff(timeline.ticks[timeline.shown])
    return 1 / (int(steps.min()) * timeline.tick) if len(steps) else Fraction(1)


class PacketRange(NamedTuple):
    """Packets first … last are to be read; flush: flush the decoder before them."""

    first: int
    last: int
    flush: bool


def packet_ranges(timeline: Timeline, wanted: Iterable[int]) -> list[PacketRange]:
    """The packets to read for the frames in `wanted`, as few as the random access points allow."""
    if timeline.in_order:
        return [PacketRange(0, len(timeline.ticks) - 1, False)]
    reach: dict[int, int] = {}  # random access point → the last frame wanted from there
    for packet in wanted:
        start = timeline.random_access(packet)
        reach[start] = max(packet, reach.get(start, packet))
    out: list[PacketRange] = []
    for start, last in sorted(reach.items()):
        if out and start <= out[-1].last + 1:
            out[-1] = out[-1]._replace(last=max(last, out[-1].last))
        else:
            out.append(PacketRange(start, last, flush=bool(out) and not timeline.is_closed[start]))
    return out


class TimelineKeeper(Protocol):
    """Keeps the timeline of one file beyond the process."""

    def load(self) -> Timeline | None:
        """The timeline, or None if it is not kept or was made from another version of the file."""

    def save(self, timeline: Timeline) -> None:
        """Keep the timeline if that is possible."""


_FileVersion = tuple[Path, FileIdentity | None]
_keepers: OrderedDict[_FileVersion, TimelineKeeper] = OrderedDict()


def keep_timeline(path: StrPath, identity: FileIdentity | None, keeper: TimelineKeeper) -> None:
    """Let `read_timeline` load and save the timeline of this version of a file; it does so when it is first needed."""
    key = (Path(path).absolute(), identity)
    if _keepers.get(key) != keeper:
        _keepers[key] = keeper
        if len(_keepers) > _MOST_KEEPERS:
            _keepers.popitem(last=False)


def read_timeline(path: StrPath) -> Timeline:
    """Scan the packets of a video without decoding; cached until the file changes, and kept where a keeper is set."""
    return _read_watched(path, _Watcher())


def growing_timelines(path: StrPath) -> Iterator[tuple[Timeline, bool]]:
    """Yield the timelines of a video's first packets while they are scanned in a thread; True: the one of all."""
    found: queue.SimpleQueue[tuple[Timeline, bool] | BaseException] = queue.SimpleQueue()

    def scan() -> None:
        try:
            found.put((_read_watched(path, _Watcher(lambda timeline: found.put((timeline, False)))), True))
        except BaseException as error:  # raised again where the timelines are taken
            found.put(error)

    threading.Thread(target=scan, name="framesift-scan", daemon=True).start()
    is_whole = False
    while not is_whole:
        item = found.get()
        if isinstance(item, BaseException):
            raise item
        is_whole = item[1]
        yield item


@dataclass(frozen=True)
class _Watcher:
    """Called with the timelines of the first packets; no part of the cache's key."""

    call: Callable[[Timeline], None] | None = field(default=None, compare=False)


def _read_watched(path: StrPath, watcher: _Watcher) -> Timeline:
    name = check_file(path)
    return _timeline_of(name, (Path(name).absolute(), FileIdentity.of(name)), watcher)


@lru_cache(maxsize=4)  # so that sampling and then fetching scans the packets once
def _timeline_of(name: str, version: _FileVersion, watcher: _Watcher) -> Timeline:
    keeper = _keepers.get(version)
    timeline = keeper.load() if keeper else None
    if timeline is None:
        with open_video(name) as video:
            timeline = scan_packets(video, watcher.call)
        release_free_memory()
        if keeper and FileIdentity.of(name) == version[1]:
            keeper.save(timeline)
    return timeline


def container_start(video: OpenedVideo, first: int) -> Fraction:
    """The tick of 0:00 in a player: the container's start, but no later than the first frame."""
    start_us = video.container.start_time
    if start_us is None:
        return Fraction(first)
    start = start_us * MICROSECOND / video.tick
    # Containers round to microseconds: snap to a tick that is less than one away.
    whole = Fraction(round(start))
    if abs(whole - start) * video.tick <= MICROSECOND:
        start = whole
    return min(start, Fraction(first))


def usual_step(video: OpenedVideo) -> int:
    """The frame duration in ticks for packets without one."""
    rate = video.stream.average_rate or video.stream.guessed_rate or Fraction(25)
    return max(1, round(1 / (rate * video.tick)))


def _plausible(stored: int | None) -> int:
    return NO_TIME if stored is None or abs(stored) > MAX_TICK else stored


# What is used of a packet; an array, as ten hours have a million of them. raw: the stored time, -1 if none; pts
# and dts: those that are plausible, else NO_TIME. ends_in_zeros: padding, or a lost part that goes on in the next one.
_SCANNED = np.dtype(
    [(name, np.int64) for name in ("pts", "dts", "raw", "position", "duration")]
    + [("size", np.int32), ("layer", np.int8)]
    + [(name, bool) for name in ("is_key", "is_visible", "is_corrupt", "is_damaged", "ends_in_zeros")]
    + [(name, bool) for name in ("is_needed", "is_fresh", "resets_decoder", "is_intra")]
)


def scan_packets(video: OpenedVideo, watch: Callable[[Timeline], None] | None = None) -> Timeline:
    """The timeline, from one pass over the packets of the stream. watch: is given those of the first packets."""
    is_cut = False

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal is_cut
        parser = PacketParser(video.codec, video.stream.codec_context.extradata)
        step = usual_step(video)
        try:
            for packet in read_packets(video.container, video.stream):
                if packet.size:
                    yield _scanned(packet, parser, step)
        except (av.error.FFmpegError, ValueError):
            is_cut = True

    scanned, size = rows(), FIRST_PACKETS
    packets = np.fromiter(itertools.islice(scanned, size if watch else None), _SCANNED)
    while watch and len(packets) == size:
        with suppress(InputError):  # none of the first frames is visible
            watch(_built(video, packets.copy(), False))
        packets = np.concatenate((packets, np.fromiter(itertools.islice(scanned, size), _SCANNED)))
        size *= 2
    if len(packets) == 1 and video.container.format.name == "gif":
        raise InputError(f"{video.path!r} is a still image; {EXPECTED}")
    if not len(packets):
        raise InputError(f"{video.path!r} contains no frame; it is truncated or damaged: download it again")
    return _built(video, packets, is_cut)


def _scanned(packet: VideoPacket, parser: PacketParser, step: int) -> tuple[Any, ...]:
    data, is_key, pts = bytes(packet), packet.is_keyframe, packet.pts
    kind, is_damaged = parser.parse(data, is_key)
    return (
        _plausible(pts),
        _plausible(packet.dts),
        -1 if pts is None else pts,
        -1 if packet.pos is None else packet.pos,
        min(packet.duration or step, MAX_TICK),
        packet.size,
        kind.layer,
        is_key,
        not packet.is_discard,
        packet.is_corrupt,
        is_damaged,
        data.endswith(ZEROS),
        kind.is_reference,
        kind.is_random_access,
        kind.resets_decoder,
        kind.is_intra,
    )


def _repaired(video: OpenedVideo, packets: Array) -> tuple[list[Jump], ClockShifts]:
    """Correct the times of the packets, as players and ffmpeg do."""
    stored = np.where(packets["dts"] == NO_TIME, packets["pts"], packets["dts"])
    offsets, jumps = repair(stored, packets["duration"], video.tick, steps_back=video.jumps)
    if not jumps:
        return [], ClockShifts()
    for name in ("pts", "dts"):
        packets[name] += np.where(packets[name] == NO_TIME, 0, offsets)
    changes = np.flatnonzero(np.diff(offsets, prepend=0))
    return jumps, ClockShifts(
        tuple(packets["position"][changes].tolist()), tuple(shift * video.tick for shift in offsets[changes].tolist())
    )


def _built(video: OpenedVideo, packets: Array, is_cut: bool) -> Timeline:
    jumps, shifts = _repaired(video, packets)
    is_timed = packets["pts"] != NO_TIME
    in_order = bool(np.count_nonzero(~is_timed) > MAX_UNTIMED_SHARE * len(packets))
    ticks = _decoding_times(packets, usual_step(video)) if in_order else np.where(is_timed, packets["pts"], 0)
    visible = packets["is_visible"] & (is_timed | in_order)
    keys = np.flatnonzero(packets["is_key"] | packets["is_fresh"])
    visible[: keys[0] if len(keys) else 0] = False  # not decodable before the first keyframe
    _, first = np.unique(ticks[visible], return_index=True)
    shown = np.flatnonzero(visible)[first]
    if not len(shown):
        raise InputError(f"{video.path!r} contains no visible frame; it is damaged: download it again")
    earliest_later = np.append(np.minimum.accumulate(ticks[::-1])[::-1][1:], ticks.max() + 1)
    needed = packets["is_needed"] | (packets["layer"] < packets["layer"].max())
    corrupt, damaged = packets["is_corrupt"], packets["is_damaged"]
    damaged[:-1] |= packets["ends_in_zeros"][:-1] & damaged[1:]
    # Damaged data may look like a keyframe, and nothing can be decoded from a damaged one on.
    fresh = packets["is_fresh"] & visible & ~damaged
    broken = damaged | corrupt
    if video.container.format.name == "mpegts":
        # FFmpeg's parser marks the packet before the one with the loss, or the last but one before a loss between
        # two; there, a keyframe starts anew: mostly nothing is lost, but two recordings were joined.
        marked = np.flatnonzero(corrupt[:-2])
        lost = np.zeros(len(packets), dtype=bool)
        lost[marked[~fresh[marked + 2]] + 1] = True
        broken, needed = lost | damaged, needed | lost
    return Timeline(
        tick=video.tick,
        origin=container_start(video, int(ticks[shown[0]])),
        ticks=ticks,
        raw=packets["raw"].copy(),
        sizes=packets["size"].copy(),
        is_key=packets["is_intra"].copy(),
        is_fresh=fresh,
        is_closed=packets["resets_decoder"] & (earliest_later > ticks),
        is_needed=needed,
        is_broken=broken,
        shown=shown,
        end=int((ticks + packets["duration"])[shown].max()),
        in_order=in_order,
        is_cut=is_cut,
        is_last_incomplete=bool(corrupt[-1]),
        jumps=jumps,
        shifts=shifts,
    )


def _decoding_times(packets: Array, step: int) -> Array:
    """(P,) presentation times for a stream without them: its decoding times in ascending order."""
    stored = np.sort(packets["dts"])
    numbers = np.arange(len(packets))
    if stored[0] == NO_TIME:
        return numbers * step
    # Equal times become consecutive ones.
    times: Array = np.maximum.accumulate(stored - numbers) + numbers
    return times
