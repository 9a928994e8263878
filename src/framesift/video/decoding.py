"""Selective decoding: as few packets as a list of wanted frames needs.

Packets of frames that are neither wanted nor referenced are not sent to the decoder, nor are those between the last
wanted frame and the next random access point. The frames are byte for byte those of a full decode.
"""

import bisect
import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import av
import av.error
import numpy as np

from framesift.errors import InputError
from framesift.types.vectors import Array
from framesift.video.container import OpenedVideo, VideoPacket, read_packets
from framesift.video.timeline import Timeline, packet_ranges

# Gaps of more packets than this are skipped by seeking, shorter ones by reading on.
SEEK_OVER = 500
# Formats with an index, in which seeking is exact.
INDEXED = frozenset({"mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"})


@dataclass(frozen=True)
class DecodePlan:
    """The frames to decode: packets of `timeline` in presentation order. keys_only: all of them are keyframes.

    is_whole: the timeline is that of all packets, not only of the first ones.
    """

    timeline: Timeline
    wanted: list[int]
    keys_only: bool = False
    is_whole: bool = True

    @property
    def by_count(self) -> bool:
        """Whether frames are identified by counting, because the packets have no presentation times."""
        return self.timeline.in_order and not self.keys_only

    def packets(self) -> tuple[Array, set[int]]:
        """(P,) bool: send this packet; and the packets before which the decoder must be flushed."""
        timeline = self.timeline
        send = np.zeros(len(timeline.ticks), dtype=bool)
        flushes = set()
        if self.keys_only:
            flushes = {packet for packet in self.wanted if not timeline.is_closed[packet]}
        elif self.wanted:
            for span in packet_ranges(timeline, self.wanted):
                part = slice(span.first, span.last + 1)
                send[part] = timeline.is_needed[part] | timeline.in_order
                if span.flush:
                    flushes.add(span.first)
        send[self.wanted] = True
        return send, flushes


class DecodedFrame(NamedTuple):
    """The frame for the packet `wanted`; `packet` differs if a replacement was used and is None if there is none."""

    wanted: int
    packet: int | None = None
    frame: av.VideoFrame | None = None
    is_damaged: bool = False


class PacketReader:
    """Reads packets of a video by their index in its timeline, in ascending order; seeks over long gaps."""

    def __init__(self, video: OpenedVideo, timeline: Timeline, seek_over: int = SEEK_OVER) -> None:
        self.video = video
        self._seek_over = seek_over
        self.timeline = timeline
        self._can_seek = video.container.format.name in INDEXED
        self._packets = _numbered(video, 0)
        self._next = 0

    def has_to_seek(self, target: int) -> bool:
        return self._can_seek and target - self._next > self._seek_over

    def read(self, target: int) -> VideoPacket | None:
        """The packet, or None if the file ends before it."""
        if self.has_to_seek(target):
            self._packets = _from(self.video, self.timeline, target)
        for number, packet in self._packets:
            self._next = number + 1
            if number == target:
                return packet
        return None


def decode_wanted(reader: PacketReader, plan: DecodePlan) -> Iterator[DecodedFrame]:
    """Decode the wanted frames, one at a time, by ascending time.

    A frame that can't be decoded is replaced by the previous one, which is what a viewer sees, unless that was
    already yielded; at the start of the video, by the first decodable frame.
    """
    rank = plan.timeline.rank
    queue = iter(plan.wanted)
    wanted = next(queue, None)
    given = -1
    before: tuple[int, av.VideoFrame, bool] | None = None
    for packet, frame, is_damaged in _decoded(reader, plan):
        if wanted is None:
            return
        # Frames out of order or not on the timeline are ignored.
        if rank[packet] <= (rank[before[0]] if before else -1):
            continue
        while wanted is not None and rank[wanted] < rank[packet]:
            stand_in = before or ((packet, frame, is_damaged) if given < 0 else None)
            if stand_in and rank[stand_in[0]] > given:
                given = int(rank[stand_in[0]])
                yield DecodedFrame(wanted, *stand_in)
            else:
                yield DecodedFrame(wanted)
            wanted = next(queue, None)
        if wanted == packet:
            if rank[packet] > given:
                given = int(rank[packet])
                yield DecodedFrame(wanted, packet, frame, is_damaged)
            wanted = next(queue, None)
        before = packet, frame, is_damaged
    while wanted is not None:
        if before and rank[before[0]] > given:
            given = int(rank[before[0]])
            yield DecodedFrame(wanted, *before)
        else:
            yield DecodedFrame(wanted)
        wanted = next(queue, None)


def _decoded(reader: PacketReader, plan: DecodePlan) -> Iterator[tuple[int, av.VideoFrame, bool]]:
    """Yield every frame the decoder returns: the index of its packet, the frame, and whether it is damaged."""
    decoder = reader.video.stream.codec_context
    send, flushes = plan.packets()
    shown = plan.timeline.shown
    damage = _Damage(plan, reader.video.codec)
    count = 0
    # The packets in the decoder, each in one thread: an error concerns the oldest.
    recent: deque[int] = deque(maxlen=decoder.thread_count)
    for index, packet in _packets_to_send(reader, send, flushes):
        if packet is not None:
            # The decoder copies this index to the frame; the timestamps of the file may be unreliable.
            packet.pts, packet.dts = index, None
            recent.append(index)
            damage.sent(index)
        try:
            frames = decoder.decode(packet)
        except (av.error.FFmpegError, ValueError):
            damage.add(recent[0] if recent else 0)
            frames = []
        for frame in frames:
            if plan.by_count:
                if count < len(shown):
                    yield int(shown[count]), frame, damage.affects(int(shown[count]), frame)
                count += 1
            elif frame.pts is not None and 0 <= frame.pts < len(send):
                yield frame.pts, frame, damage.affects(frame.pts, frame)
        if packet is None:
            decoder.flush_buffers()
            recent.clear()


class _Damage:
    """The packets that are damaged or that the decoder rejected, and the frames that depend on them."""

    def __init__(self, plan: DecodePlan, codec: str) -> None:
        self._timeline = plan.timeline
        self._keys_only = plan.keys_only
        self._broken = np.flatnonzero(self._timeline.is_broken).tolist()
        # FFmpeg's decoder of HEVC drops frames without references silently; those of other codecs report an error or
        # repair the frame, and may return one frame for two packets.
        self._counts_frames = codec == "hevc" and not plan.by_count
        self._waiting: list[tuple[int, int]] = []  # (tick, packet), a heap

    def add(self, packet: int) -> None:
        """Note that the decoder rejected this packet."""
        bisect.insort(self._broken, packet)

    def sent(self, packet: int) -> None:
        """Note that this packet is in the decoder."""
        if self._counts_frames:
            heapq.heappush(self._waiting, (int(self._timeline.ticks[packet]), packet))

    def _find_dropped(self, packet: int) -> None:
        """Add the packets without a frame: frames come by ascending time."""
        while self._waiting and self._waiting[0][0] <= self._timeline.ticks[packet]:
            _, other = heapq.heappop(self._waiting)
            if other != packet:
                self.add(other)

    def affects(self, packet: int, frame: av.VideoFrame) -> bool:
        """Whether the frame, or one that it may depend on, is damaged: any since its random access point."""
        self._find_dropped(packet)
        if frame.is_corrupt:
            return True
        if not self._broken:
            return False
        timeline = self._timeline
        first = packet if self._keys_only else timeline.random_access(packet)
        # Frames stored after a random access point and shown before it are no references of those shown after it.
        return any(
            broken == packet or (timeline.is_needed[broken] and timeline.ticks[broken] >= timeline.ticks[first])
            for broken in self._broken[bisect.bisect_left(self._broken, first) : bisect.bisect(self._broken, packet)]
        )


def decode_packet(video: OpenedVideo, packet: VideoPacket | None) -> list[av.VideoFrame]:
    """Decode one packet (None: flush); a damaged one gives no frames."""
    try:
        return video.stream.codec_context.decode(packet)
    except (av.error.FFmpegError, ValueError):
        return []


def _packets_to_send(reader: PacketReader, send: Array, flushes: set[int]) -> Iterator[tuple[int, VideoPacket | None]]:
    """Yield the packets to send with their indices; None flushes the decoder, also at the end."""
    for target in np.flatnonzero(send).tolist():
        if target in flushes or reader.has_to_seek(target):
            yield target, None
        packet = reader.read(target)
        if packet is None:
            break
        yield target, packet
    yield len(send), None


def _numbered(video: OpenedVideo, start: int) -> Iterator[tuple[int, VideoPacket]]:
    """Yield the stored packets, counted from `start`; a truncated file ends early."""
    try:
        for packet in read_packets(video.container, video.stream):
            if packet.size:
                yield start, packet
                start += 1
    except (av.error.FFmpegError, ValueError):
        return


def _from(video: OpenedVideo, timeline: Timeline, target: int) -> Iterator[tuple[int, VideoPacket]]:
    """Yield packets from `target` or one before it; the position after seeking is checked against the timeline."""
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
        matches = np.flatnonzero(same)
        if len(matches) == 1 and matches[0] <= target:
            start = int(matches[0])
            yield start, first
            for number, packet in stream:
                yield start + number, packet
            return
    raise InputError(f"{video.path!r} can't be seeked in; it is damaged: remux it or download it again")
