"""Small JPEGs of a video's frames, decoded in batches: all that a page is waiting for come from one pass over the file.

A selection announces its frames; the browser's requests then wait for the same pass. Frames that no request waits for
are dropped as soon as another selection is announced.
"""

import io
import logging
import math
import os
import threading
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import av.error
from PIL import Image

from framesift._utils.files import write_bytes
from framesift.errors import FramesiftError, InputError
from framesift.library.files import LibraryVideo
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
MAX_PENDING = 4096

log = logging.getLogger(__name__)


class ServerBusy(FramesiftError):
    """The server has reached its limit of concurrent work."""


@dataclass
class _PendingFrames:
    """Frames of one video still to be decoded, by time; `requested`: how many requests wait for a time."""

    video: LibraryVideo
    fingerprint: str
    futures: dict[float, "Future[bytes]"] = field(default_factory=dict)
    requested: Counter[float] = field(default_factory=Counter)


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
            self._pending.clear()
            self._lock.notify_all()

    def announce(self, video: LibraryVideo, fingerprint: str, times_s: list[float]) -> None:
        """Decode these frames ahead of their requests; earlier ones that no request waits for are dropped."""
        with self._lock:
            pending = self._pending.setdefault(fingerprint, _PendingFrames(video, fingerprint))
            for time_s in [t for t in pending.futures if not pending.requested[t]]:
                pending.futures.pop(time_s).cancel()
            for time_s in map(_as_in_urls, times_s):
                if not self._path(fingerprint, time_s).exists():
                    pending.futures.setdefault(time_s, Future())
            self._lock.notify_all()

    def request(self, video: LibraryVideo, fingerprint: str, time_s: float) -> "Future[bytes]":
        """The JPEG of the frame on screen at `time_s`, cached or decoded soon."""
        if not math.isfinite(time_s) or not 0 <= time_s < 1e7:
            raise InputError(f"the frame's time is {time_s}; expected seconds from 0")
        time_s = _as_in_urls(time_s)
        cached = _read(self._path(fingerprint, time_s))
        if cached is not None:
            done: Future[bytes] = Future()
            done.set_result(cached)
            return done
        with self._lock:
            pending = self._pending.setdefault(fingerprint, _PendingFrames(video, fingerprint))
            if len(pending.futures) >= MAX_PENDING:
                raise ServerBusy("too many frames are waiting to be decoded; try again in a moment")
            pending.requested[time_s] += 1
            future = pending.futures.setdefault(time_s, Future())
            self._lock.notify_all()
            return future

    def abandon(self, fingerprint: str, time_s: float) -> None:
        """Note that a request no longer waits; the next selection drops the frame if none does."""
        with self._lock:
            pending = self._pending.get(fingerprint)
            if pending is not None and pending.requested[_as_in_urls(time_s)] > 0:
                pending.requested[_as_in_urls(time_s)] -= 1

    def full_size(self, video: LibraryVideo, time_s: float) -> bytes:
        """The JPEG of the frame on screen at `time_s`, as large as the video; not cached."""
        with self._full_sizes:
            ((_, array),) = fetch(video.path, [time_s])
            out = io.BytesIO()
            Image.fromarray(array).save(out, "JPEG", quality=FULL_QUALITY)
            return out.getvalue()

    def thumbnail(self, video: LibraryVideo, fingerprint: str, duration_s: float) -> bytes:
        """A JPEG for the library: a keyframe some way into the video."""
        path = self._folder / fingerprint / "thumbnail.jpg"
        data = _read(path)
        if data is None:
            data = _encode_jpeg(_decode_keyframe(video.path, duration_s * THUMBNAIL_POSITION))
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
                batch = dict(pending.futures)
            self._decode(pending, batch)

    def _decode(self, pending: _PendingFrames, batch: dict[float, "Future[bytes]"]) -> None:
        """Decode a batch in one pass, which ends early when none of the remaining frames is pending any more."""
        times = sorted(batch)
        try:
            for time_s, array in fetch(pending.video.path, times, short_side=MAX_SIDE):
                data = _encode_jpeg(Image.fromarray(array))
                self._store(self._path(pending.fingerprint, time_s), data)
                with self._lock:
                    self._resolve(pending, time_s, batch[time_s], data)
                    remaining = [t for t in times if t > time_s]
                    if self._stopping or (remaining and not any(t in pending.futures for t in remaining)):
                        return
        except Exception as error:
            self._fail(pending, batch, error)

    def _resolve(
        self, pending: _PendingFrames, time_s: float, batched: "Future[bytes]", result: bytes | Exception
    ) -> None:
        """Complete the batch's future and one that was requested after the batch's had been dropped."""
        pending.requested.pop(time_s, None)
        for future in (batched, pending.futures.pop(time_s, None)):
            if future is None or future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _fail(self, pending: _PendingFrames, batch: dict[float, "Future[bytes]"], error: Exception) -> None:
        """Retry a failed batch frame by frame, so that one wrong time fails alone."""
        if len(batch) > 1 and isinstance(error, FramesiftError):
            for time_s, future in batch.items():
                if not future.done() and not self._stopping:
                    self._decode(pending, {time_s: future})
            return
        if not isinstance(error, FramesiftError):
            log.exception("frames of %s could not be decoded", pending.video.name)
            error = InputError(f"a frame of {pending.video.name!r} could not be decoded")
        with self._lock:
            for time_s, future in batch.items():
                self._resolve(pending, time_s, future, error)

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
        files = [(status, path) for path in self._folder.glob("*/*.jpg") if (status := _status(path)) is not None]
        total = sum(status.st_size for status, _ in files)
        for status, path in sorted(files, key=lambda row: row[0].st_atime):
            if total <= CACHE_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= status.st_size


def _as_in_urls(time_s: float) -> float:
    """The time as the URLs of frames have it: a selection's and its request's are the same."""
    return round(time_s, 6)


def _encode_jpeg(image: Image.Image) -> bytes:
    image.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def _decode_keyframe(path: Path, time_s: float) -> Image.Image:
    """The keyframe a seek to `time_s` lands on."""
    with open_video(path, threads=1) as video:
        try:
            start = video.stream.start_time or 0
            video.container.seek(start + int(time_s / video.tick), stream=video.stream)
        except av.error.FFmpegError:
            log.info("%s is not seekable; its first frame is its thumbnail", path)
        converter = FrameConverter(video.stream.sample_aspect_ratio, MAX_SIDE)
        try:
            for packet in read_packets(video.container, video.stream):
                for frame in decode_packet(video, packet):
                    return Image.fromarray(converter.convert(frame))
        except (av.error.FFmpegError, ValueError):
            log.info("%s has no decodable frame near %.0f s", path, time_s)
    raise InputError(f"{path.name!r} has no decodable frame for its thumbnail")


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
