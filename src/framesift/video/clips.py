"""Clips: a part of a video as an MP4 file with its sound and its text, by stream copy or encoded again."""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, get_args

import av
import av.error
import numpy as np
from av.container import OutputContainer
from av.subtitles.subtitle import SubtitleSet

from framesift._utils.files import DISK_ERRORS, StrPath
from framesift.errors import InputError
from framesift.types import Event
from framesift.video.audio import AudioTrack, open_audio
from framesift.video.container import check_file, open_video, read_packets
from framesift.video.decoding import INDEXED, DecodePlan, PacketReader
from framesift.video.parallel import decode_images
from framesift.video.timeline import Timeline, read_timeline

Cut = Literal["copy", "exact"]
CUTS: tuple[Cut, ...] = get_args(Cut)

ENCODING = {
    "crf": "18",
    "preset": "veryfast",
    "x264-params": "colorprim=bt709:transfer=bt709:colormatrix=bt709",
}
TICK = Fraction(1, 90_000)  # of encoded frames: exact at all usual frame rates
MILLISECOND = Fraction(1, 1000)
ASS_HEADER = b"[Script Info]\nScriptType: v4.00+\n[Events]\n"  # without one, the encoder of subtitles does not open

TimedPacket = tuple[Fraction, Any]  # when a packet is decoded, in seconds of the clip, and the packet


def write_clip(
    path: StrPath, target: Path, start_s: float, end_s: float, *, cut: Cut = "copy", text: Sequence[Event] = ()
) -> tuple[float, float]:
    """Write a part of a video, and return its true start and end.

    cut: "copy" copies the streams, from the last key frame at or before the start; "exact" encodes the frames again, as
    is done with those that can't be copied. Frames keep their times. text: of the video; a subtitle track gets the
    part that is in the clip.
    """
    timeline = read_timeline(path)
    times_s = (timeline.ticks[timeline.shown] - float(timeline.origin)) * float(timeline.tick)
    if not 0 <= start_s < min(end_s, float(timeline.duration)):
        end = float(timeline.duration)
        raise InputError(f"the clip is from {start_s:g} to {end_s:g} s; expected a part of the video, 0 to {end:.3f} s")
    first = timeline.find(start_s)
    wanted = timeline.shown[first : max(first + 1, int(np.searchsorted(times_s, end_s)))].tolist()
    clip = _ClipPart(
        check_file(path), timeline, wanted, Fraction(start_s), Fraction(min(end_s, float(timeline.duration)))
    )
    if cut == "copy" and not timeline.in_order:
        key = timeline.random_access(wanted[0])
        copied = replace(clip, key=key, start=(int(timeline.ticks[key]) - timeline.origin) * timeline.tick)
        try:
            return copied.write(target, text)
        except (av.error.FFmpegError, ValueError, TypeError) as error:  # MP4 can't hold the codec, or times are missing
            if getattr(error, "errno", None) in DISK_ERRORS:
                raise
    return clip.write(target, text)


@dataclass(frozen=True)
class _ClipPart:
    """A part of a video. wanted: its packets in order of presentation. key: the one to copy from; -1 to encode."""

    path: str
    timeline: Timeline
    wanted: list[int]
    start: Fraction
    end: Fraction
    key: int = -1

    def write(self, target: Path, text: Sequence[Event]) -> tuple[float, float]:
        with ExitStack() as stack:
            options = {"movflags": "+faststart"}
            out = stack.enter_context(av.open(str(target), "w", format="mp4", container_options=options))
            tracks = [self._encoded(out) if self.key < 0 else self._copied(out, stack)]
            with suppress(InputError):  # no sound
                tracks.append(self._sound(out, stack.enter_context(open_audio(self.path))))
            if cues := self._cues(text):
                tracks.append(iter(list(_subtitles(out, cues))))
            for _, packet in heapq.merge(*tracks, key=itemgetter(0)):
                out.mux(packet)
        return float(self.start), float(self.end)

    def _copied(self, out: OutputContainer, stack: ExitStack) -> Iterator[TimedPacket]:
        video = stack.enter_context(open_video(self.path))
        stream = out.add_stream_from_template(video.stream)
        stream.time_base = video.tick
        reader, ticks, raw = PacketReader(video, self.timeline), self.timeline.ticks, self.timeline.raw
        zero = int(ticks[self.key])

        def packets() -> Iterator[TimedPacket]:
            for number in range(self.key, max(self.wanted) + 1):
                packet: Any = reader.read(number)
                # Frames shown before the key frame that is stored ahead of them need frames before the clip.
                if packet is not None and ticks[number] >= zero:
                    packet.dts += int(ticks[number] - raw[number]) - zero  # None is a TypeError
                    packet.pts, packet.stream = int(ticks[number]) - zero, stream
                    yield packet.dts * video.tick, packet

        return packets()

    def _encoded(self, out: OutputContainer) -> Iterator[TimedPacket]:
        ticks = [int(self.timeline.ticks[packet]) - self.timeline.origin for packet in self.wanted]
        starts = [max(0, round((tick * self.timeline.tick - self.start) / TICK)) for tick in ticks]
        ends = [*starts[1:], round((self.end - self.start) / TICK)]
        images = decode_images(self.path, DecodePlan(self.timeline, self.wanted), None)
        first = next(images)
        if first.image is None:
            raise InputError(f"{self.path!r} can't be decoded at {float(self.start):.3f} s; the file is damaged there")
        stream = out.add_stream("libx264", options=ENCODING)
        height, width = (side // 2 * 2 for side in first.image.shape[:2])
        stream.width, stream.height, stream.pix_fmt, stream.codec_context.time_base = width, height, "yuv420p", TICK

        def packets() -> Iterator[TimedPacket]:
            for image, start, end in zip(itertools.chain([first], images), starts, ends, strict=True):
                if image.image is not None:
                    pixels = np.ascontiguousarray(image.image[:height, :width])
                    frame = av.VideoFrame.from_ndarray(pixels, "rgb24").reformat(
                        format="yuv420p", dst_colorspace="ITU709"
                    )
                    frame.pts, frame.time_base, frame.duration = start, TICK, end - start
                    yield from _timed(stream.encode(frame))
            yield from _timed(stream.encode(None))

        return packets()

    def _sound(self, out: OutputContainer, track: AudioTrack) -> Iterator[TimedPacket]:
        source, tick = track.stream, track.stream.time_base or MILLISECOND
        is_copied = source.codec_context.name in out.supported_codecs
        stream = out.add_stream_from_template(source) if is_copied else out.add_stream("aac", source.rate)
        zero_s = self.timeline.origin * self.timeline.tick + self.start
        if track.container.format.name in INDEXED:
            track.container.seek(int(zero_s / tick), stream=source)

        def packets() -> Iterator[TimedPacket]:
            for packet in read_packets(track.container, source):
                if packet.pts is None:
                    continue
                at_s = packet.pts * tick + track.shifts.at(packet.pos) - zero_s
                if at_s >= self.end - self.start:
                    break
                if at_s + (packet.duration or 0) * tick <= 0:
                    continue
                packet.pts = packet.dts = round(at_s / tick)
                if is_copied:
                    packet.stream = stream
                    yield at_s, packet
                else:
                    yield from (timed for frame in packet.decode() for timed in _timed(stream.encode(frame)))
            yield from () if is_copied else _timed(stream.encode(None))

        return packets()

    def _cues(self, text: Sequence[Event]) -> list[Event]:
        """The text in the clip, by time in it: a cue ends where the next one starts."""
        start_s, end_s = float(self.start), float(self.end)
        inside = sorted((e for e in text if e.end_s > start_s and e.start_s < end_s), key=lambda event: event.start_s)
        starts_s = [max(event.start_s - start_s, 0.0) for event in inside]
        ends_s = map(min, (min(event.end_s, end_s) - start_s for event in inside), [*starts_s[1:], end_s - start_s])
        return [
            replace(event, start_s=first, end_s=last)
            for event, first, last in zip(inside, starts_s, ends_s, strict=True)
            if last > first
        ]


def _subtitles(out: OutputContainer, cues: Sequence[Event]) -> Iterator[TimedPacket]:
    stream = out.add_stream("mov_text")
    stream.codec_context.subtitle_header = ASS_HEADER
    stream.time_base = stream.codec_context.time_base = MILLISECOND
    for number, cue in enumerate(cues):
        start, end = round(cue.start_s / MILLISECOND), round(cue.end_s / MILLISECOND)
        text = "\\N".join(cue.text.split("\n"))
        packet = stream.codec_context.encode_subtitle(
            SubtitleSet.create(f"{number},0,Default,,0,0,0,,{text}".encode(), 0, end - start)
        )
        packet.pts = packet.dts = start
        packet.duration, packet.time_base, packet.stream = end - start, MILLISECOND, stream
        yield start * MILLISECOND, packet


def _timed(packets: Sequence[Any]) -> Iterator[TimedPacket]:
    return ((packet.dts * packet.time_base, packet) for packet in packets)
