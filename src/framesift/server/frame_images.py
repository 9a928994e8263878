"""Small pictures of a video's frames, decoded in batches: all that a page waits for come from one pass over the file.

A selection announces its frames; the browser's requests then wait for the same pass. What nobody waits for any more is
dropped as soon as another selection is announced.
"""

import io
import logging
import math
import os
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import av.error
from PIL import Image

from framesift.errors import FramesiftError, InputError
from framesift.server.files import Film
from framesift.video.colour import Painter
from framesift.video.container import open_video
from framesift.video.decoding import decode_packet
from framesift.video.frames import fetch

SIDE = 480  # longest side in pixels
QUALITY = 80
KEPT_BYTES = 512 * 2**20  # on the disk, over all videos
THUMBNAIL_AT = 0.1  # of the video: openings are often black
MOST_WAITING = 4096

log = logging.getLogger(__name__)


class Busy(FramesiftError):
    """More is asked for than this server takes on at once."""


@dataclass
class _Wanted:
    """Pictures of one video that are not there yet, by time; `asked`: times that a request waits for."""

    film: Film
    fingerprint: str
    futures: dict[float, "Future[bytes]"] = field(default_factory=dict)
    asked: set[float] = field(default_factory=set)


class Pictures:
    """JPEGs by video content and time, on the disk; one thread decodes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Condition()
        self._wanted: dict[str, _Wanted] = {}
        self._stopping = False
        self._written = 0  # bytes since the folder was last looked through
        self._thread = threading.Thread(target=self._run, name="framesift-pictures", daemon=True)

    def start(self) -> None:
        self._prune()
        self._thread.start()

    def stop(self) -> None:
        with self._lock:
            self._stopping = True
            for wanted in self._wanted.values():
                for future in wanted.futures.values():
                    future.cancel()
            self._wanted.clear()
            self._lock.notify_all()

    def announce(self, film: Film, fingerprint: str, times_s: list[float]) -> None:
        """These will be asked for next; earlier ones that no request waits for are let go."""
        with self._lock:
            wanted = self._wanted.setdefault(fingerprint, _Wanted(film, fingerprint))
            for time_s in [t for t in wanted.futures if t not in wanted.asked]:
                wanted.futures.pop(time_s).cancel()
            for time_s in times_s:
                if not self._path(fingerprint, time_s).exists():
                    wanted.futures.setdefault(time_s, Future())
            self._lock.notify_all()

    def ask(self, film: Film, fingerprint: str, time_s: float) -> "Future[bytes]":
        """The picture at a frame's own time, now or soon."""
        if not math.isfinite(time_s) or not 0 <= time_s < 1e7:
            raise InputError(f"{time_s} is no time of a frame; expected seconds")
        known = _read(self._path(fingerprint, time_s))
        if known is not None:
            done: Future[bytes] = Future()
            done.set_result(known)
            return done
        with self._lock:
            wanted = self._wanted.setdefault(fingerprint, _Wanted(film, fingerprint))
            if len(wanted.futures) >= MOST_WAITING:
                raise Busy("too many pictures are waiting; try again in a moment")
            wanted.asked.add(time_s)
            future = wanted.futures.setdefault(time_s, Future())
            self._lock.notify_all()
            return future

    def thumbnail(self, film: Film, fingerprint: str, duration_s: float) -> bytes:
        """A picture for the library: some way into the video, whichever key picture is nearest."""
        path = self._folder / fingerprint / "thumbnail.jpg"
        known = _read(path)
        if known is None:
            known = _jpeg(_picture_near(film.path, duration_s * THUMBNAIL_AT))
            self._keep(path, known)
        return known

    def _path(self, fingerprint: str, time_s: float) -> Path:
        return self._folder / fingerprint / f"{round(time_s * 1e6):012d}.jpg"

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._stopping and not any(w.futures for w in self._wanted.values()):
                    self._wanted = {}
                    self._lock.wait()
                if self._stopping:
                    return
                # The video asked for last is the one somebody looks at.
                wanted = next(w for w in reversed(self._wanted.values()) if w.futures)
                batch = dict(wanted.futures)
            self._decode(wanted, batch)

    def _decode(self, wanted: _Wanted, batch: dict[float, "Future[bytes]"]) -> None:
        """One pass over a batch. It ends early when what is left of the batch is no longer wanted."""
        times = sorted(batch)
        try:
            for time_s, (_, array) in zip(times, fetch(wanted.film.path, times, short_side=SIDE), strict=True):
                data = _jpeg(Image.fromarray(array))
                self._keep(self._path(wanted.fingerprint, time_s), data)
                with self._lock:
                    self._settle(wanted, time_s, batch[time_s], data)
                    left = [t for t in times if t > time_s]
                    if self._stopping or (left and not any(t in wanted.futures for t in left)):
                        return
        except Exception as error:
            self._explain(wanted, batch, error)

    def _settle(self, wanted: _Wanted, time_s: float, batched: "Future[bytes]", result: bytes | Exception) -> None:
        """Tell whoever waits, also those who asked after the batch's own future had been let go."""
        wanted.asked.discard(time_s)
        for future in (batched, wanted.futures.pop(time_s, None)):
            if future is None or future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _explain(self, wanted: _Wanted, batch: dict[float, "Future[bytes]"], error: Exception) -> None:
        """A batch that fails is tried time by time, so that one wrong time spoils no other picture."""
        if len(batch) > 1 and isinstance(error, FramesiftError):
            for time_s, future in batch.items():
                if not future.done() and not self._stopping:
                    self._decode(wanted, {time_s: future})
            return
        if not isinstance(error, FramesiftError):
            log.exception("pictures of %s could not be decoded", wanted.film.name)
            error = InputError(f"a picture of {wanted.film.name!r} could not be decoded")
        with self._lock:
            for time_s, future in batch.items():
                self._settle(wanted, time_s, future, error)

    def _keep(self, path: Path, data: bytes) -> None:
        _write(path, data)
        self._written += len(data)
        if self._written > KEPT_BYTES // 8:
            self._prune()

    def _prune(self) -> None:
        """Keep the folder below its size, the pictures used least lately going first."""
        self._written = 0
        files = [(status, path) for path in self._folder.glob("*/*.jpg") if (status := _status(path)) is not None]
        total = sum(status.st_size for status, _ in files)
        for status, path in sorted(files, key=lambda row: row[0].st_atime):
            if total <= KEPT_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= status.st_size


def _jpeg(picture: Image.Image) -> bytes:
    picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def _picture_near(path: Path, time_s: float) -> Image.Image:
    with open_video(path, threads=1) as video:
        try:
            start = video.stream.start_time or 0
            video.container.seek(start + int(time_s / video.tick), stream=video.stream)
        except av.error.FFmpegError:
            log.info("%s can't be seeked in; its first picture is its thumbnail", path)
        painter = Painter(video.stream.sample_aspect_ratio, SIDE)
        try:
            for packet in video.container.demux(video.stream):
                for frame in decode_packet(video, packet):
                    return Image.fromarray(painter.paint(frame))
        except (av.error.FFmpegError, ValueError):
            log.info("%s has no picture to be had near %.0f s", path, time_s)
    raise InputError(f"{path.name!r} gave no picture for its thumbnail")


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


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{threading.get_ident()}-{path.name}")
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        log.warning("a picture can't be kept in %s (%s)", path.parent, error)
