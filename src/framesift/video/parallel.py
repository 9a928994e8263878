"""Parallel decoding: segments between random access points, several at a time, each in a thread of its own.

On two cores this takes less time than the decoders' own threads, which wait for each other's frames
(benchmarks/indexing.py). The images are the same.
"""

import itertools
import logging
import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from framesift._utils.machine import usable_cores
from framesift.errors import FramesiftError, InputError
from framesift.video.colour import FrameConverter, shrunk_size
from framesift.video.container import LARGE_PIXELS, OpenedVideo, open_video
from framesift.video.cuda import CudaConverter, CudaDecoder
from framesift.video.decoding import INDEXED, SEEK_OVER, DecodePlan, PacketReader, decode_wanted

# Wanted frames per segment: enough to make up for skipping the segments of other workers.
SEGMENT_FRAMES = 4
# With longer distances between random access points most of a segment would wait for those before it.
MAX_SEGMENT_FRAMES = 64
# Each worker holds its own reference frames.
MOST_WORKERS = 8
MOST_WORKERS_LARGE = 4
# Each worker opens the file, for which FFmpeg takes 60 bytes a packet. With more packets than this for a wanted frame,
# as for a few frames of a long video, there is one.
MOST_PACKETS = 2**13
# Between keyframes, reading on costs more than seeking beyond this many packets.
KEYS_SEEK_OVER = 32
# Images of one segment that may wait for those before it.
WAITING_BYTES = 32 * 1024**2
WAITING_IMAGES = 16
POLL_S = 0.1

log = logging.getLogger(__name__)


class CpuDecoder:
    """Decodes segments on the CPU."""

    def open(self, path: str, workers: int) -> AbstractContextManager[OpenedVideo]:
        return open_video(path, threads=-(-usable_cores() // workers))

    def count_workers(self, video: OpenedVideo, segments: Sequence[DecodePlan]) -> int:
        if video.container.format.name not in INDEXED or max(len(p.wanted) for p in segments) > MAX_SEGMENT_FRAMES:
            return 1
        is_large = video.stream.width * video.stream.height > LARGE_PIXELS
        return min(usable_cores(), len(segments), MOST_WORKERS_LARGE if is_large else MOST_WORKERS)

    def converter(self, video: OpenedVideo, short_side: int | None) -> FrameConverter:
        return FrameConverter(video.stream.sample_aspect_ratio, short_side)


SegmentDecoder = CpuDecoder | CudaDecoder


class DecodedImage(NamedTuple):
    """The image for the packet `wanted`: an array (H, W, 3) uint8 RGB, or a CudaImage.

    packet differs from it if another frame takes its place; it is None, like the image, if there is none.
    """

    wanted: int
    packet: int | None
    image: Any
    is_damaged: bool


class PlanChanged(FramesiftError):
    """The later packets of a video change what was planned for the first ones; only those of damaged files do."""


class GrowingPlan:
    """The plan for the packets scanned so far, from plans for ever more of them, the last one for all.

    duration_s: that of the video, as its file declares it.
    """

    def __init__(self, plans: Iterator[DecodePlan], duration_s: float = 0.0) -> None:
        self._plans = plans
        self._duration_s = duration_s
        self._lock = threading.Lock()
        self._given = 0  # wanted frames in the segments so far
        self._is_changed = False
        self.plan = next(plans)

    @property
    def times(self) -> int:
        """About how often the video is as long as the part that is scanned."""
        return 1 if self.plan.is_whole else max(1, round(self._duration_s / self.plan.timeline.duration))

    def whole(self) -> DecodePlan:
        """The plan for all packets, once they are scanned."""
        while not self.plan.is_whole:
            self._grow(self.plan)
        return self._checked()

    def segments(self) -> Iterator[DecodePlan]:
        """Yield the segments as they become known; none if the video has none."""
        plan = self.plan
        while True:
            segments = split(replace(plan, wanted=plan.wanted[self._given :])) if _has_segments(plan) else []
            # The next packets may belong to the last two.
            for segment in segments if plan.is_whole else segments[:-2]:
                self._given += len(segment.wanted)
                yield segment
            if plan.is_whole:
                return
            plan = self._grow(plan)

    def _grow(self, plan: DecodePlan) -> DecodePlan:
        """The plan after this one."""
        with self._lock:
            if self.plan is plan:
                self.plan = next(self._plans)
            self._is_changed |= self._given > 0 and not _continues(plan, self.plan, self._given)
            return self._checked()

    def _checked(self) -> DecodePlan:
        if self._is_changed:
            raise PlanChanged("the file is damaged: its last packets change the times of its first frames")
        return self.plan


def _continues(before: DecodePlan, plan: DecodePlan, count: int) -> bool:
    """Whether a plan has the first wanted frames of an earlier one, at the same times."""
    first = plan.wanted[:count]
    return (
        _has_segments(plan)
        and first == before.wanted[:count]
        and plan.timeline.origin == before.timeline.origin
        and np.array_equal(plan.timeline.ticks[first], before.timeline.ticks[first])
    )


def _has_segments(plan: DecodePlan) -> bool:
    return not plan.by_count and not plan.timeline.is_broken.any()


def decode_images(
    path: str, plan: DecodePlan | GrowingPlan, short_side: int | None, gpu: CudaDecoder | None = None
) -> Generator[DecodedImage, None, None]:
    """Decode the wanted frames by ascending time, as `decode_wanted` does, and convert them to images.

    Segments are decoded in parallel up to the first damaged or missing frame, and one after the other from there on.
    gpu: decodes those in parallel, unless it can't decode this video, and starts while a growing plan grows; the rest
    is decoded on the CPU.
    """
    growing = plan if isinstance(plan, GrowingPlan) else GrowingPlan(iter([plan]))
    done = 0
    if gpu is not None:
        for image in _ParallelRun(path, growing, short_side, gpu).images():
            yield image
            done += 1
    plan = growing.whole()
    has_segments = _has_segments(plan)
    is_sparse = len(plan.timeline.ticks) > MOST_PACKETS * len(plan.wanted)
    if has_segments and not is_sparse and not done and len(split(plan)) > 1:
        run = _ParallelRun(path, GrowingPlan(iter([plan])), short_side, CpuDecoder())
        for image in run.images() if run.count > 1 else ():
            yield image
            done += 1
    if has_segments and not done:
        for image in _decode_rest(path, plan, short_side, 0):
            if image.packet != image.wanted or image.is_damaged:
                break
            yield image
            done += 1
    if done < len(plan.wanted):
        yield from _decode_rest(path, plan, short_side, done, threads=1)


def _decode_rest(
    path: str,
    plan: DecodePlan,
    short_side: int | None,
    done: int,
    *,
    threads: int | None = None,
) -> Generator[DecodedImage, None, None]:
    """Decode all but the first `done` wanted frames, one after the other.

    threads: of the decoder, None for as many as are useful. With several, an error at the end or before a gap hides the
    frames of all packets that are in the decoder.
    """
    # The last one is decoded again, as it may have to replace the first one that is missing.
    rest = DecodePlan(plan.timeline, plan.wanted[max(done - 1, 0) :], keys_only=plan.keys_only)
    yielded = set(plan.wanted[:done])
    with open_video(path, threads=threads) as video:
        converter = FrameConverter(video.stream.sample_aspect_ratio, short_side)
        for image in _converted(PacketReader(video, plan.timeline), rest, converter):
            if image.wanted not in yielded:
                yield image


def split(plan: DecodePlan) -> list[DecodePlan]:
    """The wanted frames in consecutive segments, each decodable without the packets of the others."""
    timeline = plan.timeline
    segments: list[list[int]] = []
    last = -1  # the last packet of the segments so far
    for packet in plan.wanted:
        start = packet if plan.keys_only else timeline.random_access(packet)
        is_apart = start > last + 1 or (start == last + 1 and timeline.is_closed[start])
        if not segments or (is_apart and len(segments[-1]) >= SEGMENT_FRAMES):
            segments.append([])
        segments[-1].append(packet)
        last = max(last, packet)
    return [replace(plan, wanted=wanted) for wanted in segments]


def _converted(
    reader: PacketReader, plan: DecodePlan, converter: FrameConverter | CudaConverter
) -> Iterator[DecodedImage]:
    decoded = decode_wanted(reader, plan)
    while results := list(itertools.islice(decoded, converter.batch_size)):
        images = iter(converter.convert_batch([result.frame for result in results if result.frame is not None]))
        for result in results:
            image = None if result.frame is None else next(images)
            yield DecodedImage(result.wanted, result.packet, image, result.is_damaged)


class _DecodingSegment(NamedTuple):
    """Wanted frames, and their images on the way from a worker: at the end None, after a failure its exception."""

    plan: DecodePlan
    images: queue.Queue[DecodedImage | BaseException | None]


class _ParallelRun:
    """One pass over the segments of a video by several workers."""

    def __init__(self, path: str, growing: GrowingPlan, short_side: int | None, decoder: SegmentDecoder) -> None:
        with open_video(path, threads=1) as video:
            self.count = decoder.count_workers(video, split(growing.plan) * growing.times)
            width, height = shrunk_size(video.stream.width, video.stream.height, short_side)
        self._capacity = max(1, min(WAITING_IMAGES, WAITING_BYTES // (3 * width * height + 1)))
        self._path = path
        self._decoder = decoder
        self._growing = growing
        self._short_side = short_side
        # The same segments for the workers and for the one who takes the images.
        self._waiting: queue.SimpleQueue[_DecodingSegment | None] = queue.SimpleQueue()
        self._segments: queue.SimpleQueue[_DecodingSegment | BaseException | None] = queue.SimpleQueue()
        # One segment more than workers, so that none waits while the oldest images are taken.
        self._slots = threading.Semaphore(self.count + 1)
        self._stop = threading.Event()
        self._workers = [
            threading.Thread(target=self._work, name=f"framesift-decode-{n}", daemon=True) for n in range(self.count)
        ]

    def images(self) -> Generator[DecodedImage, None, None]:
        """Yield the images in order; ends before the first damaged or missing frame."""
        try:
            threading.Thread(target=self._list_segments, name="framesift-segments", daemon=True).start()
            for worker in self._workers:
                worker.start()
            while (segment := self._segments.get()) is not None:
                if isinstance(segment, BaseException):
                    raise segment
                for wanted in segment.plan.wanted:
                    item = segment.images.get()
                    if isinstance(item, BaseException) and not isinstance(item, InputError):
                        raise item
                    if not isinstance(item, DecodedImage) or item.packet != wanted or item.is_damaged:
                        self._log_end(segment.plan.timeline.time_s(wanted), item)
                        return
                    yield item
                self._slots.release()
        finally:
            self._stop.set()
            # An abandoned run may be collected in a worker, which can't wait for itself, nor for locks of the others.
            if threading.current_thread() not in self._workers:
                for worker in self._workers:
                    if worker.ident is not None:
                        worker.join()

    def _list_segments(self) -> None:
        """Hand out the segments, which may still be becoming known; not waited for when the run is abandoned."""
        end = None
        try:
            for plan in self._growing.segments():
                while not self._slots.acquire(timeout=POLL_S):  # few are unfinished, and few have queues
                    if self._stop.is_set():
                        return
                segment = _DecodingSegment(plan, queue.Queue(self._capacity))
                self._segments.put(segment)
                self._waiting.put(segment)
        except BaseException as error:  # raised again where the images are taken
            end = error
        self._segments.put(end)
        for _ in self._workers:
            self._waiting.put(None)

    def _log_end(self, time_s: float, item: DecodedImage | BaseException | None) -> None:
        if not isinstance(self._decoder, CpuDecoder):
            reason = item if isinstance(item, InputError) else "a frame is damaged or missing"
            log.info("%s: decoding on the CPU from %.3f s on: %s", self._path, time_s, reason)

    def _work(self) -> None:
        segment = self._take()
        if segment is None:
            return
        try:
            with self._decoder.open(self._path, len(self._workers)) as video:
                keys_only = segment.plan.keys_only
                reader = PacketReader(video, segment.plan.timeline, KEYS_SEEK_OVER if keys_only else SEEK_OVER)
                converter = self._decoder.converter(video, self._short_side)
                while segment is not None:
                    reader.timeline = segment.plan.timeline
                    for image in _converted(reader, segment.plan, converter):
                        self._put(segment, image)
                        if self._stop.is_set():
                            return
                    self._put(segment, None)
                    video.stream.codec_context.flush_buffers()
                    segment = self._take()
        except BaseException as error:  # raised again where the images are taken
            if segment is not None:
                self._put(segment, error)

    def _take(self) -> _DecodingSegment | None:
        """The next segment, when it is known."""
        while not self._stop.is_set():
            with suppress(queue.Empty):
                return self._waiting.get(timeout=POLL_S)
        return None

    def _put(self, segment: _DecodingSegment, item: DecodedImage | BaseException | None) -> None:
        put_unless(self._stop, segment.images, item)


def put_unless(stop: threading.Event, waiting: queue.Queue[Any], item: Any) -> None:
    """Put an item into a bounded queue, unless `stop` is set before there is room."""
    while not stop.is_set():
        with suppress(queue.Full):
            return waiting.put(item, timeout=POLL_S)
