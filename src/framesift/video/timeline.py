"""The times of all pictures, from the packets alone, and what they allow: the grid, and which packets to decode.

Everything here is counted in the stream's own ticks and in fractions, so that no picture is missed or taken twice
because of rounding.
"""

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import av.error
import numpy as np

from framesift.errors import InputError
from framesift.types.vectors import Array
from framesift.video.bitstream import Kind, Reader
from framesift.video.container import EXPECTED, MICROSECOND, Opened, StrPath, VideoPacket, check_file, open_video

# A pause longer than this in a format that may start its clock anew is a jump of the clock, not of the world: the
# limit FFmpeg's own tool uses. A step back always is one.
LONGEST_PAUSE_S = 10

# Up to this share of packets may lack a time before the times as a whole are given up.
UNTIMED_SHARE = 0.01

FARTHEST_TICK = 2**60  # beyond this a time is damage, and sums of times would overflow

_KEPT = 4  # timelines remembered, so that sampling and then fetching lists the packets once


@dataclass(frozen=True, eq=False)
class Timeline:
    """One video stream's packets, in the order they are stored, and its pictures, in the order they are shown.

    ticks (P,), sizes (P,), raw (P,): each packet's time without jumps, its bytes, and its time as stored.
    is_key, is_fresh, is_closed, is_needed (P,) bool: a key picture that needs no other; one where decoding may start;
    one where the decoder starts anew by itself, with nothing stored later shown earlier; one others may refer to.
    shown (N,): the packets that are pictures, by time, no time twice. origin: the tick a player calls 0:00.
    end: the tick at which the last picture is gone.
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
    shown: Array
    end: int
    in_order: bool  # packets carry no presentation times: the n-th picture decoded is the n-th shown
    is_cut: bool  # reading broke off with an error
    jumps: int

    def __len__(self) -> int:
        return len(self.shown)

    @property
    def duration(self) -> Fraction:
        return (self.end - self.origin) * self.tick

    def time_s(self, packet: int) -> float:
        """When the picture in this packet is shown, on the player's clock."""
        return float((int(self.ticks[packet]) - self.origin) * self.tick)

    def find(self, time_s: float, tolerance_s: float = 0.0005) -> int:
        """The position, in order of presentation, of the picture shown from `time_s` on."""
        if not math.isfinite(time_s):
            raise InputError(f"the time {time_s} is no number of seconds; expected the time of a frame")
        at = self.origin + Fraction(time_s) / self.tick
        right = int(np.searchsorted(self.ticks[self.shown], math.ceil(at)))
        near = [k for k in (right - 1, right) if 0 <= k < len(self)]
        best = min(near, key=lambda k: abs(int(self.ticks[self.shown[k]]) - at))
        nearest_s = self.time_s(self.shown[best])
        if abs(nearest_s - time_s) > tolerance_s:
            raise InputError(f"no frame is shown from {time_s:.6f} s on; the nearest one comes at {nearest_s:.6f} s")
        return best


class Cell(NamedTuple):
    """A picture that is on screen at an instant of the grid: its position among those given, and that instant."""

    position: int
    instant: Fraction


def on_grid(timeline: Timeline, packets: Sequence[int], fps: Fraction) -> list[Cell]:
    """For k/fps from 0 to the end: the last of `packets` (by time) not later than that, the first at 0; none twice.

    A picture on screen over [a, b) is one of them when a whole number lies in [a·fps, b·fps).
    """
    scale = timeline.tick * fps
    shift = timeline.origin * scale
    over = math.lcm(scale.denominator, shift.denominator)
    by, less = scale.numerator * (over // scale.denominator), shift.numerator * (over // shift.denominator)
    # First instant at which each picture is there: (ticks − origin)·tick·fps, rounded up.
    first = [-((less - by * int(timeline.ticks[p])) // over) for p in packets]
    last = (by * timeline.end - less) // over
    following = [*first[1:], last + 1]
    cells = [Cell(n, k / fps) for n, (k, then) in enumerate(zip(first, following, strict=True)) if k < then]
    if packets and (not cells or cells[0].position != 0):
        cells.insert(0, Cell(0, Fraction(0)))
    return cells


def finest_rate(timeline: Timeline) -> Fraction:
    """The grid rate at which every picture is a candidate: one over the shortest time between two."""
    steps = np.diff(timeline.ticks[timeline.shown])
    return 1 / (int(steps.min()) * timeline.tick) if len(steps) else Fraction(1)


class Stretch(NamedTuple):
    """Packets first … last are to be read; `flush`: the decoder must forget what it had before."""

    first: int
    last: int
    flush: bool


def stretches(timeline: Timeline, wanted: Iterable[int]) -> list[Stretch]:
    """The packets that must be read for the pictures in `wanted`, as few as the places to start at allow.

    A picture that precedes, on screen, the key picture stored before it may need pictures from before that key
    picture (an open group of pictures), so it is reached from the one before.
    """
    if timeline.in_order:
        return [Stretch(0, len(timeline.ticks) - 1, False)]
    starts = np.flatnonzero(timeline.is_fresh)
    reach: dict[int, int] = {}  # where decoding starts → the last picture wanted from there
    for packet in wanted:
        place = int(np.searchsorted(starts, packet, "right")) - 1
        while place >= 0 and timeline.ticks[packet] < timeline.ticks[starts[place]]:
            place -= 1
        start = int(starts[place]) if place >= 0 else 0
        reach[start] = max(packet, reach.get(start, packet))
    out: list[Stretch] = []
    for start, last in sorted(reach.items()):
        if out and start <= out[-1].last + 1:
            out[-1] = out[-1]._replace(last=max(last, out[-1].last))
        else:
            out.append(Stretch(start, last, flush=bool(out) and not timeline.is_closed[start]))
    return out


_timelines: OrderedDict[tuple[str, int, int], Timeline] = OrderedDict()


def read_timeline(path: StrPath) -> Timeline:
    """List the packets of the file's video, without decoding; remembered until the file changes."""
    file = Path(check_file(path)).absolute()
    stat = file.stat()
    key = (str(file), stat.st_size, stat.st_mtime_ns)
    known = _timelines.get(key)
    if known is None:
        with open_video(path) as video:
            known = _timelines[key] = _Listing(video).timeline()
        while len(_timelines) > _KEPT:
            _timelines.popitem(last=False)
    return known


def container_start(video: Opened, first: int) -> Fraction:
    """The tick of the player's 0:00: the container's start, but no later than the first picture."""
    start_us = video.container.start_time
    if start_us is None:
        return Fraction(first)
    start = start_us * MICROSECOND / video.tick
    # Containers round to microseconds; a picture at the very start is not a fraction of one away from it.
    whole = Fraction(round(start))
    if abs(whole - start) * video.tick <= MICROSECOND:
        start = whole
    return min(start, Fraction(first))


def usual_step(video: Opened) -> int:
    """A picture's duration in ticks where its packet has none."""
    rate = video.stream.average_rate or video.stream.guessed_rate or Fraction(25)
    return max(1, round(1 / (rate * video.tick)))


class _Listing:
    """One pass over the packets."""

    def __init__(self, video: Opened) -> None:
        self._video = video
        self._step = usual_step(video)
        self._pts: list[int | None] = []
        self._dts: list[int | None] = []
        self._raw: list[int] = []
        self._sizes: list[int] = []
        self._durations: list[int] = []
        self._keys: list[bool] = []
        self._hidden: list[bool] = []
        self._kinds: list[Kind] = []
        self._offset = 0
        self._expected: int | None = None
        self._jumps = 0

    def timeline(self) -> Timeline:
        reader = Reader(self._video.codec, self._video.stream.codec_context.extradata)
        is_cut = False
        try:
            for packet in self._video.container.demux(self._video.stream):
                if packet.size:
                    self._add(packet, reader)
        except (av.error.FFmpegError, ValueError):
            is_cut = True
        if len(self._pts) == 1 and self._video.container.format.name == "gif":
            raise InputError(f"{self._video.path!r} is a still picture; {EXPECTED}")
        if not self._pts:
            raise InputError(f"{self._video.path!r} holds not one picture; it is cut off or damaged: get it again")
        return self._built(is_cut)

    def _add(self, packet: VideoPacket, reader: Reader) -> None:
        self._follow_clock(packet)
        self._pts.append(self._corrected(packet.pts))
        self._dts.append(self._corrected(packet.dts))
        self._raw.append(packet.pts if packet.pts is not None else -1)
        self._sizes.append(packet.size)
        self._durations.append(packet.duration or self._step)
        self._keys.append(packet.is_keyframe)
        self._hidden.append(packet.is_discard)
        self._kinds.append(reader.kind(memoryview(packet), packet.is_keyframe))

    def _corrected(self, stored: int | None) -> int | None:
        """The time without the clock's jumps; None for one no clock could show."""
        return None if stored is None or abs(stored) > FARTHEST_TICK else stored + self._offset

    def _follow_clock(self, packet: VideoPacket) -> None:
        """Where the clock jumps, let time go on by one picture: players and FFmpeg's own tool do the same."""
        stored = packet.dts if packet.dts is not None else packet.pts
        if not self._video.jumps or stored is None:
            return
        now = stored + self._offset
        if self._expected is not None:
            ahead = now - self._expected
            if ahead < -self._durations[-1] or ahead * self._video.tick > LONGEST_PAUSE_S:
                self._offset -= ahead
                self._jumps += 1
                now = self._expected
        self._expected = now + (packet.duration or self._step)

    def _built(self, is_cut: bool) -> Timeline:
        count = len(self._pts)
        untimed = sum(pts is None for pts in self._pts)
        in_order = untimed > UNTIMED_SHARE * count
        times = self._decoding_times() if in_order else self._pts
        ticks = np.array([0 if t is None else t for t in times], dtype=np.int64)
        visible = np.array([t is not None for t in times]) & ~np.array(self._hidden)
        if any(self._keys):
            visible[: self._keys.index(True)] = False  # nothing can be decoded before the first key picture
        _, first = np.unique(ticks[visible], return_index=True)
        shown = np.flatnonzero(visible)[first]
        if not len(shown):
            raise InputError(f"{self._video.path!r} holds not one picture that is shown; it is damaged: get it again")
        earliest_later = np.append(np.minimum.accumulate(ticks[::-1])[::-1][1:], ticks.max() + 1)
        layers = np.array([kind.layer for kind in self._kinds])
        needed = np.array([kind.referred_to for kind in self._kinds]) | (layers < layers.max())
        return Timeline(
            tick=self._video.tick,
            origin=container_start(self._video, int(ticks[shown[0]])),
            ticks=ticks,
            raw=np.array(self._raw, dtype=np.int64),
            sizes=np.array(self._sizes, dtype=np.int64),
            is_key=np.array([kind.whole for kind in self._kinds]),
            is_fresh=np.array([kind.fresh for kind in self._kinds]) & visible,
            is_closed=np.array([kind.reset for kind in self._kinds]) & (earliest_later > ticks),
            is_needed=needed,
            shown=shown,
            end=int((ticks[shown] + np.array(self._durations, dtype=np.int64)[shown]).max()),
            in_order=in_order,
            is_cut=is_cut,
            jumps=self._jumps,
        )

    def _decoding_times(self) -> list[int]:
        """With no presentation times, pictures are shown one by one at the times they are stored for."""
        if any(dts is None for dts in self._dts):
            return [n * self._step for n in range(len(self._dts))]
        out: list[int] = []
        for dts in sorted(dts for dts in self._dts if dts is not None):
            out.append(max(dts, out[-1] + 1) if out else dts)
        return out
