"""Warnings about a video: what its metadata and its packets contradict, and what could not be decoded."""

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO

import av.error
import numpy as np

from framesift._utils.text import rounded_clock
from framesift.video.container import MICROSECOND, OpenedVideo, open_container
from framesift.video.timeline import Timeline

# Audio may end a little later than the last frame, and metadata are rounded; a larger difference is a warning.
SLACK_S = 2.0
SLACK_SHARE = 0.01
# A stretch without frames: longer than this, and than so many of the intervals that nearly all frames stay below. The
# pauses of a slide show are its usual interval.
GAP_S = 2.0
GAP_INTERVALS = 10
USUAL_QUANTILE = 0.95
# Candidates at most this far apart are one stretch of damage.
SAME_STRETCH_S = 5.0
# A warning names this many stretches; the rest is a count.
MOST_NAMED = 5
# MPEG-TS packets as broadcast, with the time codes of Blu-ray and camcorders, and with error correction; the offset of
# the sync byte in each.
_TS_PACKETS = ((188, 0), (192, 4), (204, 0))
_TS_SYNC = b"G"
_TS_CHECKED = 5  # sync bytes that must be in place

_MP4_BOXES = frozenset(b"ftyp styp moov moof mdat free skip wide sidx mfra udta uuid emsg".split())

Stretch = tuple[float, float]


def container_warnings(video: OpenedVideo, timeline: Timeline) -> list[str]:
    """Warnings about gaps, and about metadata that the packets contradict."""
    warnings = _duration_warnings(video, timeline)
    if timeline.is_cut:
        at = rounded_clock(float(timeline.duration))
        warnings.append(f"reading failed at {at}: the file is damaged there; only the part before is used")
    if timeline.jumps:
        times_s = [timeline.time_s(jump.packet) for jump in timeline.jumps]
        places = list(zip(times_s, times_s, strict=True))
        count = "once" if len(places) == 1 else f"{len(places)} times"
        warnings.append(
            f"the timestamps are discontinuous {count}, at {list_stretches(places)}; "
            "time continues from frame to frame there"
        )
    gaps = frame_gaps(timeline)
    if gaps:
        count = "a stretch" if len(gaps) == 1 else f"{len(gaps)} stretches"
        seconds = sum(b - a for a, b in gaps)
        warnings.append(f"the video has {count} without frames, {seconds:.1f} s in all: {list_stretches(gaps)}")
    return warnings


def frame_gaps(timeline: Timeline) -> list[Stretch]:
    """The stretches without frames: from the usual end of a frame to the next frame, in seconds."""
    ticks = timeline.ticks[timeline.shown]
    steps = np.diff(ticks)
    usual = int(np.quantile(steps, USUAL_QUANTILE, method="lower")) if len(steps) else 0
    longest = max(int(GAP_S / timeline.tick), GAP_INTERVALS * usual)
    gaps = []
    for k in np.flatnonzero(steps > longest):
        at_s = timeline.time_s(timeline.shown[k])
        gaps.append((at_s + float(usual * timeline.tick), at_s + float(int(steps[k]) * timeline.tick)))
    first_s = timeline.time_s(timeline.shown[0])
    return [(0.0, first_s), *gaps] if first_s > GAP_S else gaps


def _duration_warnings(video: OpenedVideo, timeline: Timeline) -> list[str]:
    """Warnings about a file that is cut short, or whose metadata are wrong."""
    end_s = float(timeline.duration)
    slack_s = max(SLACK_S, SLACK_SHARE * end_s)
    claimed_s, audio_s = _claimed_ends(video, timeline)
    if claimed_s is None and video.container.duration and not video.jumps:
        # The duration of the longest stream, which may be another one.
        claimed_s = float(video.container.duration * MICROSECOND)
        if claimed_s - end_s > slack_s:
            audio_s, others_s = _read_ends(video)
            claimed_s = end_s if claimed_s - others_s <= slack_s else claimed_s
    if claimed_s is not None and claimed_s - end_s > slack_s:
        return [
            f"the file is cut short: its metadata give a duration of {claimed_s:.1f} s, but the last frame ends at "
            f"{end_s:.1f} s: {claimed_s - end_s:.1f} s are missing"
        ]
    if timeline.is_last_incomplete or _is_incomplete(video.path):
        return [f"the file is cut short: its data end within a packet, and its last frame ends at {end_s:.1f} s"]
    if audio_s is not None and audio_s - end_s > slack_s:
        return [
            f"the last frame ends at {end_s:.1f} s, but the audio continues until {audio_s:.1f} s: the last "
            f"{audio_s - end_s:.1f} s have no frames"
        ]
    if claimed_s is not None and end_s - claimed_s > slack_s:
        return [f"the metadata give a duration of {claimed_s:.1f} s, but the last frame ends at {end_s:.1f} s"]
    return []


def _claimed_ends(video: OpenedVideo, timeline: Timeline) -> tuple[float | None, float | None]:
    """The ends of the video and of the audio by the metadata of these streams; None where there are none."""
    zero_s = float(timeline.origin * timeline.tick)
    ends = [
        max(
            (
                float(((stream.start_time or 0) + stream.duration) * stream.time_base) - zero_s
                for stream in streams
                if stream.duration is not None and stream.time_base is not None
            ),
            default=None,
        )
        for streams in ([video.stream], video.container.streams.audio)
    ]
    if video.jumps:  # no metadata: FFmpeg reads the last timestamps, which need no repair only without discontinuities
        return None, None if timeline.jumps else ends[1]
    return ends[0], ends[1]


def _read_ends(video: OpenedVideo) -> tuple[float | None, float]:
    """The ends of the audio and of the longest stream by their packets, the video's excluded."""
    audio_s: float | None = None
    longest_s = 0.0
    with open_container(video.path) as container:
        zero = (container.start_time or 0) * MICROSECOND
        streams = [stream for stream in container.streams if stream.type in {"audio", "subtitle"}]
        with suppress(av.error.FFmpegError, ValueError, IndexError):
            for packet in container.demux(streams):
                if packet.pts is not None and packet.time_base is not None:
                    end_s = float((packet.pts + (packet.duration or 0)) * packet.time_base - zero)
                    longest_s = max(longest_s, end_s)
                    if packet.stream.type == "audio":
                        audio_s = max(audio_s or 0.0, end_s)
    return audio_s, longest_s


def _is_incomplete(path: str) -> bool:
    """Whether an MP4 file ends before a box that it starts, or an MPEG-TS file within a packet."""
    with suppress(OSError, struct.error), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        return any(end > size for end in _box_ends(file, size)) or _ts_remainder(file, size) != 0
    return False


def _box_ends(file: BinaryIO, size: int) -> Iterator[int]:
    """Yield the end of each box at the top level of an MP4 file, up to the first that is unknown or not complete."""
    at = 0
    while at + 8 <= size:
        file.seek(at)
        length, kind = struct.unpack(">I4s", file.read(8))
        if length == 1:
            (length,) = struct.unpack(">Q", file.read(8))
        if kind not in _MP4_BOXES or length < 8:  # 0: up to the end of the file
            return
        at += length
        yield at


def _ts_remainder(file: BinaryIO, size: int) -> int:
    """The bytes of an MPEG-TS file after its last complete packet."""
    file.seek(0)
    head = file.read(_TS_CHECKED * 204)
    for length, offset in _TS_PACKETS:
        if head[offset::length][:_TS_CHECKED] == _TS_SYNC * _TS_CHECKED:
            return size % length
    return 0


def decoding_warnings(damaged_s: Sequence[float], missed_s: Sequence[float], candidates: int) -> list[str]:
    """Warnings about candidates that are damaged, and about ones that could not be decoded."""
    lost = {
        "could not be decoded and were skipped or replaced by the previous frame": missed_s,
        "were decoded with errors": damaged_s,
    }
    return [
        f"{len(set(times_s))} of {candidates} candidates ({len(set(times_s)) / candidates:.0%}) {what}: the file is "
        f"damaged at {list_stretches(stretches(times_s))}"
        for what, times_s in lost.items()
        if times_s
    ]


def stretches(times_s: Sequence[float]) -> list[Stretch]:
    """The first and last time of each group of times that are close together."""
    groups: list[Stretch] = []
    for time_s in sorted(times_s):
        if groups and time_s - groups[-1][1] <= SAME_STRETCH_S:
            groups[-1] = groups[-1][0], time_s
        else:
            groups.append((time_s, time_s))
    return groups


def list_stretches(groups: Sequence[Stretch]) -> str:
    """The stretches as clock times: the first few, then how many more."""
    clocks = (tuple(map(rounded_clock, group)) for group in groups[:MOST_NAMED])
    named = [start if start == end else f"{start}-{end}" for start, end in clocks]
    more = len(groups) - len(named)
    return ", ".join(named) + (f" and {more} more places" if more > 1 else " and one more place" if more else "")
