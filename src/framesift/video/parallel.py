"""Parallel decoding: segments between random access points, several at a time, each in a thread of its own.

On two cores this takes less time than the decoders' own threads, which wait for each other's frames
(benchmarks/indexing.py). The images are the same.
"""

import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from framesift._utils.cores import usable_cores
from framesift.errors import InputError
from framesift.types.vectors import Array
from framesift.video.colour import FrameConverter, shrunk_size
from framesift.video.container import LARGE_PIXELS, OpenedVideo, open_video
from framesift.video.decoding import INDEXED, DecodePlan, PacketReader, decode_wanted

# Wanted frames per segment: enough to make up for skipping the segments of other workers.
SEGMENT_FRAMES = 4
# With longer distances between random access points most of a segment would wait for those before it.
MAX_SEGMENT_FRAMES = 64
# Each worker holds its own reference frames.
MOST_WORKERS = 8
MOST_WORKERS_LARGE = 4
# Images of one segment that may wait for those before it.
WAITING_BYTES = 32 * 1024**2
WAITING_IMAGES = 16
POLL_S = 0.1


class DecodedImage(NamedTuple):
    """The image (H, W, 3) uint8 RGB for the packet `wanted`.

    packet differs from it if another frame takes its place; it is None, like the image, if there is none.
    """

    wanted: int
    packet: int | None
    image: Array | None
    is_damaged: bool


def decode_images(path: str, plan: DecodePlan, short_side: int | None) -> Generator[DecodedImage, None, None]:
    """Decode the wanted frames by ascending time, as `decode_wanted` does, and convert them to images.

    Segments are decoded in parallel up to the first damaged or missing frame, and one after the other from there on.
    """
    segments = split(plan)
    done = 0
    if len(segments) > 1:
        with open_video(path, threads=1) as video:
            workers = _worker_count(video, segments)
            capacity = _capacity(video, short_side)
        if workers > 1:
            run = _ParallelRun(path, plan, segments, short_side, workers, capacity)
            with closing(run.images()) as images:
                for image in images:
                    yield image
                    done += 1
    if done == len(plan.wanted):
        return
    # One segment more is decoded, as its last frame may have to replace the first one that is missing.
    start, end = 0, 0
    for segment in segments:
        end += len(segment)
        if end < done:
            start = end
    rest = DecodePlan(plan.timeline, plan.wanted[start:], keys_only=plan.keys_only)
    yielded = set(plan.wanted[:done])
    with open_video(path) as video:
        converter = FrameConverter(video.stream.sample_aspect_ratio, short_side)
        for image in _converted(PacketReader(video, plan.timeline), rest, converter):
            if image.wanted not in yielded:
                yield image


def split(plan: DecodePlan) -> list[list[int]]:
    """The wanted frames in consecutive segments, each decodable without the packets of the others."""
    timeline = plan.timeline
    if plan.by_count or timeline.is_broken.any():
        return [plan.wanted]
    segments: list[list[int]] = [[]]
    last = -1  # the last packet of the segments so far
    for packet in plan.wanted:
        start = packet if plan.keys_only else timeline.random_access(packet)
        is_apart = start > last + 1 or (start == last + 1 and timeline.is_closed[start])
        if is_apart and len(segments[-1]) >= SEGMENT_FRAMES:
            segments.append([])
        segments[-1].append(packet)
        last = max(last, packet)
    return segments


def _worker_count(video: OpenedVideo, segments: Sequence[Sequence[int]]) -> int:
    """How many segments to decode at a time."""
    if video.container.format.name not in INDEXED or max(map(len, segments)) > MAX_SEGMENT_FRAMES:
        return 1
    is_large = video.stream.width * video.stream.height > LARGE_PIXELS
    return min(usable_cores(), len(segments), MOST_WORKERS_LARGE if is_large else MOST_WORKERS)


def _capacity(video: OpenedVideo, short_side: int | None) -> int:
    """How many images of a segment may wait."""
    width, height = shrunk_size(video.stream.width, video.stream.height, short_side)
    return max(1, min(WAITING_IMAGES, WAITING_BYTES // (3 * width * height + 1)))


def _converted(reader: PacketReader, plan: DecodePlan, converter: FrameConverter) -> Iterator[DecodedImage]:
    for result in decode_wanted(reader, plan):
        image = None if result.frame is None else converter.convert(result.frame)
        yield DecodedImage(result.wanted, result.packet, image, result.is_damaged)


class _DecodingSegment:
    """Wanted frames, and their images on the way from a worker: at the end None, after a failure its exception."""

    def __init__(self, wanted: list[int], capacity: int) -> None:
        self.wanted = wanted
        self.images: queue.Queue[DecodedImage | BaseException | None] = queue.Queue(capacity)


class _ParallelRun:
    """One pass over the segments of a video by several workers."""

    def __init__(
        self,
        path: str,
        plan: DecodePlan,
        segments: Sequence[list[int]],
        short_side: int | None,
        workers: int,
        capacity: int,
    ) -> None:
        self._path = path
        self._plan = plan
        self._short_side = short_side
        self._segments = [_DecodingSegment(wanted, capacity) for wanted in segments]
        self._waiting = iter(self._segments)
        self._lock = threading.Lock()
        # One segment more than workers, so that none waits while the oldest images are taken.
        self._slots = threading.Semaphore(workers + 1)
        self._stop = threading.Event()
        self._threads = -(-usable_cores() // workers)  # of each decoder
        self._workers = [
            threading.Thread(target=self._work, name=f"framesift-decode-{n}", daemon=True) for n in range(workers)
        ]

    def images(self) -> Generator[DecodedImage, None, None]:
        """Yield the images in order; ends before the first damaged or missing frame."""
        try:
            for worker in self._workers:
                worker.start()
            for segment in self._segments:
                for wanted in segment.wanted:
                    item = segment.images.get()
                    if isinstance(item, BaseException) and not isinstance(item, InputError):
                        raise item
                    if not isinstance(item, DecodedImage) or item.packet != wanted or item.is_damaged:
                        return
                    yield item
                self._slots.release()
        finally:
            self._stop.set()
            for worker in self._workers:
                if worker.ident is not None:
                    worker.join()

    def _work(self) -> None:
        segment = self._take()
        if segment is None:
            return
        try:
            with open_video(self._path, threads=self._threads) as video:
                reader = PacketReader(video, self._plan.timeline)
                converter = FrameConverter(video.stream.sample_aspect_ratio, self._short_side)
                while segment is not None:
                    plan = DecodePlan(self._plan.timeline, segment.wanted, keys_only=self._plan.keys_only)
                    for image in _converted(reader, plan, converter):
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
        """The next segment, when few enough are unfinished."""
        while not self._slots.acquire(timeout=POLL_S):
            if self._stop.is_set():
                return None
        with self._lock:
            return None if self._stop.is_set() else next(self._waiting, None)

    def _put(self, segment: _DecodingSegment, item: DecodedImage | BaseException | None) -> None:
        while not self._stop.is_set():
            try:
                segment.images.put(item, timeout=POLL_S)
                return
            except queue.Full:
                continue
