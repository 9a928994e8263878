"""Small JPEGs of a video's frames, decoded in batches: all that a page is waiting for come from one pass over the file.

A selection announces its frames; the browser's requests then wait for the same pass. Frames that no request waits for
are dropped as soon as another selection is announced.
"""

import logging
import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import av.error
from PIL import Image

from framesift._utils.files import write_bytes
from framesift.errors import FramesiftError, InputError
from framesift.library.files import LibraryVideo
from framesift.rendering.thumbnails import jpeg, shrink
from framesift.types.vectors import Array
from framesift.video.colour import FrameConverter
from framesift.video.container import open_video, read_packets
from framesift.video.decoding import decode_packet
from framesift.video.frames import fetch

MAX_SIDE = 480  # pixels
QUALITY = 80
FULL_QUALITY = 92
MAX_FULL_SIZES = 2  # decoded at a time
CACHE_BYTES = 512 * 2**20  # on disk, over all videos
THUMBNAIL_POSITION = 0.1  # share of the video: the first frames are often black

log = logging.getLogger(__name__)


class ServerBusy(FramesiftError):
    """The server has reached its limit of concurrent work."""


@dataclass
class _PendingFrames:
    """Frames of one video still to be decoded, by time; `requested`: those that were not only announced."""

    video: LibraryVideo
    fingerprint: str
    futures: dict[float, "Future[bytes]"] = field(default_factory=dict)
    requested: set[float] = field(default_factory=set)


class FrameImages:
    """Disk cache of JPEGs by video content and time, filled by one decoding thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Condition()
        self._pending: dict[str, _PendingFrames] = {}
        self._full_sizes = threading.BoundedSemaphore(MAX_FULL_SIZES)
        self._stopping = False
        self._written = 0  # bytes since the cache was last pruned
        self._thread = threading.Thread(target=self._run, name="framesift-frames", daemon=True)

    def start(self) -> None:
        self._prune()
        self._thread.start()

    def stop(self) -> None:
        with self._lock:
            self._stopping = True
            for pending in self._pending.values():
                for future in pending.futures.values():
                    future.cancel()
                pending.futures.clear()
            self._lock.notify_all()

    def announce(self, video: LibraryVideo, fingerprint: str, times_s: list[float]) -> None:
        """Decode these frames ahead of their requests; earlier ones nobody has requested are dropped."""
        with self._lock:
            pending = self._pending.setdefault(fingerprint, _PendingFrames(video, fingerprint))
            for time_s in pending.futures.keys() - pending.requested:
                del pending.futures[time_s]
            for time_s in map(_as_in_urls, times_s):
                if not self._path(fingerprint, time_s).exists():
                    pending.futures.setdefault(time_s, Future())
            self._lock.notify_all()

    def request(self, video: LibraryVideo, fingerprint: str, time_s: float) -> "Future[bytes]":
        """The JPEG of the frame on screen at `time_s`, cached or decoded soon."""
        time_s = _as_in_urls(time_s)
        cached = _read(self._path(fingerprint, time_s))
        if cached is not None:
            done: Future[bytes] = Future()
            done.set_result(cached)
            return done
        with self._lock:
            pending = self._pending.setdefault(fingerprint, _PendingFrames(video, fingerprint))
            pending.requested.add(time_s)
            future = pending.futures.setdefault(time_s, Future())
            self._lock.notify_all()
            return future

    def full_size(self, video: LibraryVideo, time_s: float) -> bytes:
        """The JPEG of the frame on screen at `time_s`, as large as the video; not cached."""
        with self._full_sizes:
            ((_, array),) = fetch(video.path, [time_s])
            return jpeg(Image.fromarray(array), quality=FULL_QUALITY)

    def thumbnail(self, video: LibraryVideo, fingerprint: str, duration_s: float) -> bytes:
        """A JPEG for the library: a keyframe some way into the video."""
        path = self._folder / fingerprint / "thumbnail.jpg"
        data = _read(path)
        if data is None:
            data = _small_jpeg(_decode_keyframe(video.path, duration_s * THUMBNAIL_POSITION))
            self._store(path, data)
        return data

    def _path(self, fingerprint: str, time_s: float) -> Path:
        return self._folder / fingerprint / f"{round(time_s * 1e6):012d}.jpg"

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._stopping and not any(p.futures for p in self._pending.values()):
                    self._pending = {}
                    self._lock.wait()
                if self._stopping:
                    return
                # The video requested last is the one on screen.
                pending = next(p for p in reversed(self._pending.values()) if p.futures)
                times = sorted(pending.futures)
            self._decode(pending, times)

    def _decode(self, pending: _PendingFrames, times: list[float]) -> None:
        """Decode frames in one pass, which ends early when none of them is pending any more."""
        try:
            for time_s, array in fetch(pending.video.path, times, short_side=MAX_SIDE):
                data = _small_jpeg(array)
                self._store(self._path(pending.fingerprint, time_s), data)
                with self._lock:
                    self._resolve(pending, time_s, data)
                    if not pending.futures.keys() & set(times):
                        return
        except Exception as error:
            if len(times) > 1:  # one by one, so that a wrong time fails alone
                for time_s in times:
                    if time_s in pending.futures:
                        self._decode(pending, [time_s])
                return
            if not isinstance(error, FramesiftError):
                log.exception("frames of %s could not be decoded", pending.video.name)
                error = InputError(f"a frame of {pending.video.name!r} could not be decoded")
            with self._lock:
                self._resolve(pending, times[0], error)

    def _resolve(self, pending: _PendingFrames, time_s: float, result: bytes | Exception) -> None:
        pending.requested.discard(time_s)
        future = pending.futures.pop(time_s, None)
        if future is None:
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    def _store(self, path: Path, data: bytes) -> None:
        try:
            write_bytes(path, data)
        except OSError as error:
            log.warning("a frame can't be cached in %s (%s)", path.parent, error)
        self._written += len(data)
        if self._written > CACHE_BYTES // 8:
            self._prune()

    def _prune(self) -> None:
        """Keep the cache below its size; the files used least recently go first."""
        self._written = 0
        files = []
        for path in self._folder.glob("*/*.jpg"):
            with suppress(OSError):
                files.append((path.stat(), path))
        total = sum(status.st_size for status, _ in files)
        for status, path in sorted(files, key=lambda row: row[0].st_atime):
            if total <= CACHE_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= status.st_size


def _as_in_urls(time_s: float) -> float:
    """The time as the URLs of frames have it: a selection's and its request's are the same."""
    return round(time_s, 6)


def _small_jpeg(array: Array) -> bytes:
    return jpeg(shrink(Image.fromarray(array), MAX_SIDE), quality=QUALITY)


def _decode_keyframe(path: Path, time_s: float) -> Array:
    """The keyframe a seek to `time_s` lands on."""
    with open_video(path, threads=1) as video, suppress(av.error.FFmpegError, ValueError):
        with suppress(av.error.FFmpegError):  # not seekable: its first frame
            start = video.stream.start_time or 0
            video.container.seek(start + int(time_s / video.tick), stream=video.stream)
        converter = FrameConverter(video.stream.sample_aspect_ratio, MAX_SIDE)
        for packet in read_packets(video.container, video.stream):
            for frame in decode_packet(video, packet):
                return converter.convert(frame)
    raise InputError(f"{path.name!r} has no decodable frame for its thumbnail")


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
