"""Decoding no more than a list of wanted pictures takes.

Packets with pictures that are neither wanted nor referred to are never sent to the decoder, nor are those after the
last wanted picture before the next place to start. What is decoded is, byte for byte, what a full decode gives.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import av
import av.error
import numpy as np

from framesift.errors import InputError
from framesift.types.vectors import Array
from framesift.video.container import Opened, VideoPacket
from framesift.video.timeline import Timeline, stretches

# Stretches of packets longer than this are passed over by seeking, shorter ones by reading on.
SEEK_OVER = 500
# Formats with an index, where seeking arrives at the packet that was meant.
INDEXED = frozenset({"mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"})


@dataclass(frozen=True)
class Plan:
    """Which pictures to give: packets of `timeline`, in order of presentation; keys_only: all are key pictures."""

    timeline: Timeline
    wanted: list[int]
    keys_only: bool = False

    @property
    def by_count(self) -> bool:
        """Pictures are told by how many came before, for want of times."""
        return self.timeline.in_order and not self.keys_only

    def packets(self) -> tuple[Array, set[int]]:
        """(P,) bool: send this packet; and the packets before which the decoder must be emptied."""
        timeline = self.timeline
        send = np.zeros(len(timeline.ticks), dtype=bool)
        flushes: set[int] = set()
        if self.keys_only:
            flushes = {packet for packet in self.wanted if not timeline.is_closed[packet]}
        elif self.wanted:
            for stretch in stretches(timeline, self.wanted):
                part = slice(stretch.first, stretch.last + 1)
                send[part] = timeline.is_needed[part] | timeline.in_order
                if stretch.flush:
                    flushes.add(stretch.first)
        send[self.wanted] = True
        return send, flushes


class Found(NamedTuple):
    """The picture for `wanted`; `packet` differs from it where that one could not be decoded. None: none will do."""

    wanted: int
    packet: int | None
    frame: av.VideoFrame | None


def find_pictures(video: Opened, plan: Plan) -> Iterator[Found]:
    """Decode the wanted pictures, one at a time, by ascending time.

    A wanted picture that can't be decoded is replaced by the last one before it, unless that was given already: it is
    what a viewer sees then. At the very start, by the first that can be decoded.
    """
    timeline = plan.timeline
    rank = np.full(len(timeline.ticks), -1)
    rank[timeline.shown] = np.arange(len(timeline))
    queue = iter(plan.wanted)
    wanted = next(queue, None)
    given = -1
    before: tuple[int, av.VideoFrame] | None = None
    for packet, frame in _decoded(video, plan):
        if wanted is None:
            return
        # Pictures out of order or without a place on the timeline are no candidates.
        if rank[packet] <= (rank[before[0]] if before else -1):
            continue
        while wanted is not None and rank[wanted] < rank[packet]:
            stand_in = before or ((packet, frame) if given < 0 else None)
            if stand_in and rank[stand_in[0]] > given:
                given = int(rank[stand_in[0]])
                yield Found(wanted, *stand_in)
            else:
                yield Found(wanted, None, None)
            wanted = next(queue, None)
        if wanted == packet:
            if rank[packet] > given:
                given = int(rank[packet])
                yield Found(wanted, packet, frame)
            wanted = next(queue, None)
        before = packet, frame
    while wanted is not None:
        if before and rank[before[0]] > given:
            given = int(rank[before[0]])
            yield Found(wanted, *before)
        else:
            yield Found(wanted, None, None)
        wanted = next(queue, None)


def _decoded(video: Opened, plan: Plan) -> Iterator[tuple[int, av.VideoFrame]]:
    """Every picture the decoder gives, with the packet it came in."""
    decoder = video.stream.codec_context
    send, flushes = plan.packets()
    shown = plan.timeline.shown
    count = 0
    for index, packet in _packets_to_send(video, plan.timeline, send, flushes):
        if packet is not None:
            # The decoder hands this number on to the picture, whatever the file's own times are like.
            packet.pts, packet.dts = index, None
        for frame in decode_packet(video, packet):
            if plan.by_count:
                if count < len(shown):
                    yield int(shown[count]), frame
                count += 1
            elif frame.pts is not None and 0 <= frame.pts < len(send):
                yield frame.pts, frame
        if packet is None:
            decoder.flush_buffers()


def decode_packet(video: Opened, packet: VideoPacket | None) -> list[av.VideoFrame]:
    """What comes out when `packet` goes in (None: all that is left); nothing when it is damaged."""
    try:
        return video.stream.codec_context.decode(packet)
    except (av.error.FFmpegError, ValueError):
        return []


def _packets_to_send(
    video: Opened, timeline: Timeline, send: Array, flushes: set[int]
) -> Iterator[tuple[int, VideoPacket | None]]:
    """The packets to send, with their numbers; a None among them, and at the end, empties the decoder."""
    can_seek = video.container.format.name in INDEXED
    stream = _numbered(video, 0)
    at = 0
    for target in np.flatnonzero(send).tolist():
        if target in flushes or (can_seek and target - at > SEEK_OVER):
            yield target, None
        if can_seek and target - at > SEEK_OVER:
            stream = _from(video, timeline, target)
        for number, packet in stream:
            at = number + 1
            if number == target:
                yield number, packet
                break
        else:
            break
    yield len(send), None


def _numbered(video: Opened, start: int) -> Iterator[tuple[int, VideoPacket]]:
    """The stored packets from number `start` on; a file that breaks off just ends."""
    try:
        for packet in video.container.demux(video.stream):
            if packet.size:
                yield start, packet
                start += 1
    except (av.error.FFmpegError, ValueError):
        return


def _from(video: Opened, timeline: Timeline, target: int) -> Iterator[tuple[int, VideoPacket]]:
    """Seek to `target` or before it; where one arrives is checked against the list, not believed."""
    for goal in (int(timeline.raw[target]), int(timeline.raw.min())):
        try:
            video.container.seek(goal, stream=video.stream)
        except (av.error.FFmpegError, ValueError):
            continue
        stream = _numbered(video, 0)
        _, first = next(stream, (0, None))
        if first is None:
            continue
        same = (timeline.raw == (-1 if first.pts is None else first.pts)) & (timeline.sizes == first.size)
        places = np.flatnonzero(same)
        if len(places) == 1 and places[0] <= target:
            place = int(places[0])
            yield place, first
            for number, packet in stream:
                yield place + number, packet
            return
    raise InputError(f"{video.path!r} can't be sought through; it is damaged: remux it, or get it again")
