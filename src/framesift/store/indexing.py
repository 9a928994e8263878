"""Indexing a video: decoded in one thread, encoded in another, stored in parts as it proceeds."""

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from framesift._utils.version import __version__
from framesift.encoders.base import Encoder, fingerprint_of
from framesift.encoders.registry import get_encoder, identify
from framesift.errors import FramesiftError, InputError, OptionError
from framesift.progress import Progress, as_progress
from framesift.store.fingerprint import fingerprint
from framesift.store.store import IndexKey, Store, absolute_source
from framesift.types import VideoIndex
from framesift.types.vectors import Array
from framesift.video.frames import MODES, Fps, Mode, Sampling, sample

# Candidates per part: the most that is lost when a run is interrupted. Batches end at part boundaries, so that the
# vectors do not depend on where a run was interrupted.
PART_SIZE = 128
DEFAULT_BATCH = 16
# The decoder shrinks frames to this many times the encoder's input size. On grainy 1080p video the offline encoder's
# vectors then have a cosine of at least 0.993 with those of the full-size frames; at 1 it was 0.982.
IMAGE_MARGIN = 2

log = logging.getLogger(__name__)


def index(
    path: str | os.PathLike[str],
    encoder: str | Encoder = "auto",
    fps: Fps = "auto",
    mode: Mode = "exact",
    *,
    progress: Callable[..., Any] | None = None,
    store: str | os.PathLike[str] | Store | None = None,
    device: str = "auto",
    source: str | None = None,
) -> VideoIndex:
    """Decode and encode a video once; later calls, in any process, read the stored index.

    encoder: a name of `encoders()`, a checkpoint's folder, or any object with the encoder's methods. fps: candidates
    per second, "auto" raises it on short clips. mode: "exact", "fast" or "keyframes", see docs/indexing.md. progress:
    a `framesift.progress.Progress`, called with the candidates done and expected. store: a folder, the user's cache
    folder by default. source: the URL the video came from, if `path` is a local copy.
    """
    path = os.fspath(path)
    opened = store if isinstance(store, Store) else Store(store)
    key = index_key(fingerprint(path), encoder, fps, mode)
    cached = opened.load(key, path)
    if cached is not None:
        return cached
    model = get_encoder(key.encoder, device=device) if isinstance(encoder, str) else encoder
    _build(path, model, opened, key, fps, mode, as_progress(progress), source or path)
    built = opened.load(key, path)
    if built is None:
        raise FramesiftError(f"the index of {path} was removed while it was built; run the command again")
    return built


def check_sampling(fps: Fps, mode: str) -> None:
    """Reject a rate or a mode of decoding that `index` does not know."""
    if fps != "auto" and not 0 < fps <= 1000:
        raise OptionError(f"fps is {fps}; expected a number above 0, or auto")
    if mode not in MODES:
        raise OptionError(f"mode is {mode!r}; expected one of {', '.join(MODES)}")


def index_key(video: str, encoder: str | Encoder = "auto", fps: Fps = "auto", mode: Mode = "exact") -> IndexKey:
    """The key of the index of the video with this fingerprint."""
    name, encoder_fingerprint = (
        identify(encoder) if isinstance(encoder, str) else (encoder.name, fingerprint_of(encoder))
    )
    return IndexKey(video, name, encoder_fingerprint, "auto" if fps == "auto" else f"{float(fps):g}", mode)


def _build(
    path: str,
    encoder: Encoder,
    store: Store,
    key: IndexKey,
    fps: Fps,
    mode: Mode,
    progress: Progress,
    source: str,
) -> None:
    started = time.perf_counter()
    parts = store.load_parts(key)
    done = resumed = sum(len(times) for times, _ in parts)
    if done:
        log.info("%s: resuming after %d candidates", path, done)
    after_s = float(parts[-1][0][-1]) if parts else None
    side = getattr(encoder, "picture_side", None)
    short_side = None if side is None else IMAGE_MARGIN * side
    with sample(path, fps, mode, short_side=short_side, after_s=after_s) as sampling:
        expected = done + sampling.expected
        for times, images in _batches(sampling, getattr(encoder, "batch_size", DEFAULT_BATCH)):
            vectors = _encode(encoder, images, times, path)
            if not parts or len(parts[-1][0]) == PART_SIZE:
                parts.append((np.zeros(0), np.zeros((0, vectors.shape[1]), np.float16)))
            joined = np.concatenate((parts[-1][0], times)), np.concatenate((parts[-1][1], vectors))
            parts[-1] = joined
            if len(joined[0]) == PART_SIZE:
                store.save_part(key, done + len(times) - PART_SIZE, *joined)
            done += len(times)
            progress("indexing", done, max(expected, done))
        if not done:
            raise InputError(f"{path} has no decodable frame; expected a playable video")
        manifest: dict[str, Any] = {
            "versions": {"framesift": __version__, **{name: version(name) for name in ("av", "numpy")}},
            "video": asdict(sampling.info) | {"path": absolute_source(source)},  # absolute: pruning runs in any folder
            "sampling": {"fps": fps, "fps_used": sampling.fps, "mode": mode, "warnings": list(sampling.warnings)},
            "candidates": done,
            "dim": int(parts[0][1].shape[1]),
            "seconds": round(time.perf_counter() - started, 3),
            "resumed": bool(resumed),  # then the seconds cover the last run only
        }
    times_s, frames = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    store.save(key, times_s, frames, manifest)


def _encode(encoder: Encoder, images: list[Array], times: Array, path: str) -> Array:
    """Encode images as (n, D) float16; a non-finite vector raises an error with its time."""
    vectors = np.asarray(encoder.encode_images(images))
    if vectors.shape != (len(images), encoder.dim):
        expected = (len(images), encoder.dim)
        raise FramesiftError(f"the encoder {encoder.name} returned shape {vectors.shape}; expected {expected}")
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        at = float(times[bad[0]])
        raise FramesiftError(f"the encoder {encoder.name} returned a non-finite vector for {path} at {at:.3f} s")
    return vectors.astype(np.float16)


def _batches(sampling: Sampling, size: int) -> Iterator[tuple[Array, list[Array]]]:
    """Yield (times, images) in batches that end at part boundaries, decoded in a separate thread.

    The thread runs at most two batches ahead, so memory does not grow with the length of the video.
    """
    ahead: queue.Queue[tuple[Array, list[Array]] | BaseException | None] = queue.Queue(maxsize=2)
    stop = threading.Event()

    def put(item: tuple[Array, list[Array]] | BaseException | None) -> None:
        while not stop.is_set():
            try:
                ahead.put(item, timeout=0.1)
                return
            except queue.Full:
                continue

    def decode() -> None:
        times: list[float] = []
        images: list[Array] = []
        count = 0
        try:
            for time_s, image in sampling:
                times.append(time_s)
                images.append(image)
                count += 1
                if len(images) == size or count % PART_SIZE == 0:
                    put((np.array(times), images))
                    times, images = [], []
                if stop.is_set():
                    return
            if images:
                put((np.array(times), images))
            put(None)
        except BaseException as error:  # re-raised in the encoding thread
            put(error)

    thread = threading.Thread(target=decode, name="framesift-decode", daemon=True)
    thread.start()
    try:
        while (item := ahead.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join()
