"""Indexing a video: decoded in one thread, encoded in another, stored in parts as it proceeds."""

import itertools
import logging
import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Literal, get_args

import numpy as np
from PIL import Image

from framesift._utils.machine import release_free_memory
from framesift._utils.records import shown
from framesift._utils.settings import check_names, check_settings, setting
from framesift._utils.text import counted
from framesift._utils.version import __version__
from framesift.encoders.base import Encoder, fingerprint_of
from framesift.encoders.registry import check_device, get_encoder, identify
from framesift.errors import FramesiftError, InputError, OptionError
from framesift.progress import Progress, as_progress
from framesift.store.fingerprint import FileChanged, WatchedFile, read_watched
from framesift.store.store import QUICK, IndexKey, Store, StoredCandidates, absolute_source
from framesift.store.timelines import StoredTimeline, use_stored_timeline
from framesift.types import VideoIndex
from framesift.types.vectors import Array
from framesift.video.blank import is_blank, is_blank_picture, is_unchanged, reduce_picture, small_picture
from framesift.video.cuda import DECODES, CudaDecoder, CudaImage, Decode, why_not_cuda
from framesift.video.diagnostics import list_stretches, stretches
from framesift.video.frames import (
    ENOUGH_CANDIDATES,
    MODES,
    Fps,
    Mode,
    Sampling,
    decodable_times,
    parse_fps,
    probe,
    sample,
)
from framesift.video.given_frames import GivenFrames, are_frames
from framesift.video.parallel import PlanChanged, put_unless
from framesift.video.timeline import read_timeline

# Candidates per part: the most that is lost when a run is interrupted. Batches end at part boundaries, so that the
# vectors do not depend on where a run was interrupted.
PART_SIZE = 128
DEFAULT_BATCH = 16
INDEXING = "indexing"  # the stage of progress
# The decoder shrinks frames to this many times the encoder's input size. On grainy 1080p video the offline encoder's
# vectors then have a cosine of at least 0.993 with those of the full-size frames; at 1 it was 0.982.
IMAGE_MARGIN = 2
UnchangedFrames = Literal["reuse", "encode"]
UNCHANGED_FRAMES: tuple[UnchangedFrames, ...] = get_args(UnchangedFrames)
# A damaged frame stays a candidate where this many seconds, counted from 0, have no other.
MINUTE_S = 60.0
DAMAGED = "damaged frame is", "damaged frames are"
QUICK_SHARE = 0.1  # key frames of a quick index, of the candidates of the finished one
QUICK_WARNING = "only {} are considered (quick); a call without quick completes the index"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IndexSettings:
    """How videos are decoded and encoded, and where their indexes are."""

    encoder: "str | Encoder" = setting("auto", "an encoder of `framesift doctor`")
    fps: Fps = setting("auto", "candidate frames per second, or auto", metavar="RATE")
    mode: Mode = setting("exact", "how candidate frames are decoded", choices=MODES)
    unchanged_frames: UnchangedFrames = setting(
        "reuse",
        "candidates that look like the one before: reuse its vector, or encode them too",
        choices=UNCHANGED_FRAMES,
    )
    device: str = setting("auto", "where the encoder runs: auto, cpu, cuda or mps")
    decode: Decode = setting("auto", "where videos are decoded; auto: cuda if the encoder is there", choices=DECODES)
    store: str | os.PathLike[str] | None = setting(
        None, "folder of the indexes (default: the user's cache folder)", metavar="DIR"
    )
    quick: bool = setting(
        False, "of a new video only some key frames and no speech, until a call without it", action="store_true"
    )

    def __post_init__(self) -> None:
        check_settings(self)
        object.__setattr__(self, "fps", parse_fps(self.fps))
        if self.store is not None and not isinstance(self.store, str | os.PathLike):
            raise OptionError(f"store is {shown(self.store)}; expected a directory")

    @property
    def rate(self) -> str:
        """The candidates per second as text."""
        return "auto" if self.fps == "auto" else f"{self.fps:g}"

    def key(self, video: str) -> IndexKey:
        """The key of the index of the video with this fingerprint; identifying an encoder reads its weights."""
        named = self.encoder
        name, weights = identify(named) if isinstance(named, str) else (named.name, fingerprint_of(named))
        return IndexKey(video, name, weights, self.rate, self.mode, self.unchanged_frames)


def index(
    path: Any,
    encoder: str | Encoder = IndexSettings.encoder,
    fps: Fps = IndexSettings.fps,
    mode: Mode = IndexSettings.mode,
    *,
    times_s: Sequence[float] | Array | None = None,
    progress: Progress | None = None,
    source: str | None = None,
    **settings: Any,
) -> VideoIndex:
    """Decode and encode a video once; later calls, in any process, read the stored index.

    Args:
        path: The file, or frames from elsewhere: arrays, PIL images, or a decoder such as torchcodec's.
        encoder: A name of `encoders()`, a checkpoint's folder, or any object with the encoder's methods.
        fps: Candidates per second; "auto" raises it on short clips.
        mode: "exact", "fast" or "keyframes", see docs/indexing.md.
        times_s: When frames from elsewhere are shown.
        progress: Called with stage, done and total: a `framesift.progress.Progress`.
        source: The URL the video came from, if `path` is a local copy.
        **settings: `store`, a folder, by default the user's cache folder; `device`; `unchanged_frames`: "reuse" gives a
            candidate that shows the same as the last encoded one that one's vector; `decode`: "cuda" decodes on the GPU
            what it can, "cpu" everything on the CPU, "auto" on the GPU if the encoder takes images there; `quick`:
            for a new video, only some key frames.

    Returns:
        The candidate frames as vectors.

    Raises:
        InputError: The file can't be read, or has no frame that can be decoded.
        OptionError: A setting is unknown or out of range.

    Example:
        ```python
        index = fs.index("film.mp4", encoder="siglip")
        index.save("film.safetensors")
        ```
    """
    check_names(settings, IndexSettings)
    chosen = IndexSettings(encoder, fps, mode, **settings)
    if are_frames(path, times_s):
        return index_frames(GivenFrames(path, times_s), chosen, progress=progress)
    return build_index(path, chosen, source=source, progress=progress)


def index_frames(frames: GivenFrames, settings: IndexSettings, *, progress: Progress | None = None) -> VideoIndex:
    """Encode frames from elsewhere; nothing is stored."""
    named, report = settings.encoder, as_progress(progress)
    encoder = get_encoder(named, device=settings.device)
    size, vectors = getattr(encoder, "batch_size", DEFAULT_BATCH), []
    blank: list[bool] = []
    for start in range(0, len(frames), size):
        numbers = range(len(frames))[start : start + size]
        images = frames.decode(numbers)
        batch = _Batch(frames.times_s[numbers].tolist(), images, [k - start + 1 for k in numbers])
        vectors.append(_encode(encoder, batch, frames.info.path))
        blank += map(is_blank, images)
        report(INDEXING, numbers.stop, len(frames))
    rows = np.concatenate(vectors).astype(np.float32)
    return VideoIndex(frames.info, frames.times_s, rows, encoder.name, is_blank=np.array(blank))


def build_index(
    path: str | os.PathLike[str],
    settings: IndexSettings,
    *,
    source: str | None = None,
    stored_only: bool = False,
    progress: Progress | None = None,
) -> VideoIndex:
    """Index a video as `index` does; with stored_only, NotStored in place of decoding."""
    encoder, device = settings.encoder, settings.device
    if isinstance(encoder, str):
        check_device(encoder, device)
    opened = Store(settings.store, stored_only=stored_only)

    def load_or_build(file: WatchedFile) -> VideoIndex:
        key = settings.key(file.fingerprint)
        if settings.quick and opened.index_warnings(key) is None:
            key = replace(key, mode=QUICK)
        report = as_progress(progress)

        def load() -> VideoIndex | None:
            cached = opened.load(key, file.path)
            if cached is not None:
                use_stored_timeline(file, opened)
            return cached

        def build() -> VideoIndex:
            model = get_encoder(key.encoder, device=device) if isinstance(encoder, str) else encoder
            try:
                attempt = partial(_build, file, model, opened, key, settings, report, source or file.path)
                try:
                    attempt()
                except PlanChanged:  # all packets are scanned now
                    opened.remove_parts(key)
                    attempt()
            except Exception as error:
                if isinstance(error, FileChanged) or file.has_changed:
                    opened.remove_parts(key)
                raise
            StoredTimeline(opened.root, file, source).save(read_timeline(file.path))
            built = opened.load(key, file.path)
            if built is None:
                raise FramesiftError(f"the index of {file.path} was removed while it was built; run the command again")
            return built

        return opened.load_or_compute(
            str(key.folder), load, build, lambda: report("another process is indexing this video; waiting", 0, 1)
        )

    return read_watched(path, load_or_build)


def _build(
    file: WatchedFile,
    encoder: Encoder,
    store: Store,
    key: IndexKey,
    settings: IndexSettings,
    progress: Progress,
    source: str,
) -> None:
    path, fps, mode = file.path, settings.fps, settings.mode
    if key.mode == QUICK:
        fps, mode = _quick_rate(path, fps), "keyframes"
    started = time.perf_counter()
    done, after_s, lost = 0, None, list[tuple[Array, Array]]()
    for part in store.load_parts(key):
        done, after_s = done + len(part), float(part.times_s[-1])
        lost.append((part.times_s[part.is_damaged], part.missed_s))
    resumed = done
    if resumed:
        log.info("%s: resuming after %d candidates", path, done)
    short_side = decoded_side(encoder)
    gpu = _gpu_decoder(settings.decode, getattr(encoder, "image_device", None))
    with sample(path, fps, mode, short_side=short_side, after_s=after_s, gpu=gpu) as sampling:
        for damaged_s, missed_s in lost:  # the warnings are about the whole video
            sampling.damaged_s.extend(damaged_s.tolist())
            sampling.missed_s.extend(missed_s.tolist())
        tail: list[StoredCandidates] = []  # of the part that is not complete; the others are in the store
        vectors = np.empty((0, encoder.dim), dtype=np.float16)
        size, reuse = getattr(encoder, "batch_size", DEFAULT_BATCH), key.unchanged_frames == "reuse"
        for batch in _batches(sampling, size, reuse):
            vectors = np.concatenate((vectors[-1:], _encode(encoder, batch, path)))
            new = batch.stored(vectors)
            file.check()
            tail.append(new)
            done += len(new)
            if done % PART_SIZE == 0:
                store.save_part(key, done - PART_SIZE, StoredCandidates.join(tail, PART_SIZE))
                tail = []
                release_free_memory()
            progress(INDEXING, done, max(resumed + sampling.expected, done))
        if not done:
            raise InputError(f"{path} has no decodable frame; expected a playable video")
        info, warnings = sampling.info, sampling.warnings  # opens the file: before the vectors are joined
        release_free_memory()
        candidates = StoredCandidates.join(itertools.chain(store.load_parts(key), tail), done)
        if len(candidates) < done:
            raise FramesiftError(f"parts of the index of {path} were removed while it was built; run the command again")
        candidates, damage = _without_damaged(candidates, path)
        if not len(candidates):
            raise InputError(f"{path!r}: none of its frames can be decoded; the file is damaged: download it again")
        if key.mode == QUICK:
            damage.append(QUICK_WARNING.format(counted(len(candidates), "key frame")))
        manifest: dict[str, Any] = {
            "versions": {"framesift": __version__, **{name: version(name) for name in ("av", "numpy")}},
            "video": asdict(info) | {"path": absolute_source(source)},  # absolute: pruning runs in any folder
            "sampling": {"fps": fps, "fps_used": sampling.fps, "mode": mode, "warnings": [*warnings, *damage]},
            "candidates": len(candidates),
            "seconds": round(time.perf_counter() - started, 3),
            "resumed": bool(resumed),  # then the seconds cover the last run only
        }
    file.check_content()
    store.save(key, candidates, manifest)


def _quick_rate(path: str, fps: Fps) -> float:
    """Key frames per second of a quick index: a share of the candidates, and a few of a short video."""
    rate = 1.0 if fps == "auto" else fps
    few = ENOUGH_CANDIDATES / max(probe(path).duration_s, ENOUGH_CANDIDATES)
    return min(rate, max(QUICK_SHARE * rate, few))


def decoded_side(encoder: Encoder) -> int | None:
    """The shorter side to which frames are decoded for an encoder; None for their own size."""
    side = getattr(encoder, "image_side", None)
    return None if side is None else IMAGE_MARGIN * side


def _gpu_decoder(decode: Decode, image_device: str | None) -> CudaDecoder | None:
    """The decoder on the GPU, if it is to be used. image_device: where the encoder takes images, None for the CPU."""
    if decode == "cpu" or (decode == "auto" and image_device is None):
        return None
    number = int((image_device or "cuda").partition(":")[2] or 0)
    reason = why_not_cuda(number)
    if not reason:
        return CudaDecoder(number)
    if decode == "cuda":
        raise OptionError(f"decode is cuda, but {reason}; expected auto or cpu")
    log.info("decoding on the CPU: %s", reason)
    return None


def _without_damaged(candidates: StoredCandidates, path: str) -> tuple[StoredCandidates, list[str]]:
    """Leave out damaged candidates, except where nothing else covers a minute; also return warnings about them.

    Where something is damaged or missing, what can be decoded only after the frames before it is left out too: every
    candidate can be shown by itself.
    """
    times_s, is_damaged = candidates.times_s, candidates.is_damaged
    lost_s = np.concatenate([times_s[is_damaged], candidates.missed_s])
    if not len(lost_s):
        return candidates, []
    minutes = times_s // MINUTE_S
    stays = ~is_damaged | ~np.isin(minutes, minutes[~is_damaged])
    near = np.searchsorted(times_s, lost_s)[:, None] + [-1, 0, 1]
    tried = stays & np.isin(np.arange(len(times_s)), near)
    stays[tried] = np.isin(times_s[tried], list(decodable_times(path, times_s[tried].tolist())))
    warnings = []
    if not stays.all():
        warnings.append(f"{counted(int((~stays).sum()), *DAMAGED)} left out of the candidates")
    if (marked := stays & is_damaged).any():
        where = list_stretches(stretches(times_s[marked].tolist()))
        warnings.append(
            f"{counted(int(marked.sum()), *DAMAGED)} kept as candidates, marked, because no other frame covers their "
            f"minute: {where}"
        )
    return candidates.take(np.flatnonzero(stays)), warnings


@dataclass(frozen=True)
class _Batch:
    """Decoded candidates: their times and flags, and the images to encode.

    rows: for each candidate, the number of its image from 1 on; 0 stands for the last image of the batch before.
    """

    times_s: list[float] = field(default_factory=list)
    images: list[Any] = field(default_factory=list)  # arrays, or tensors where the GPU decodes
    rows: list[int] = field(default_factory=list)
    is_blank: list[bool] = field(default_factory=list)
    is_damaged: list[bool] = field(default_factory=list)
    missed_s: list[float] = field(default_factory=list)

    def stored(self, vectors: Array) -> StoredCandidates:
        """The candidates with their vectors: the last of the batch before, if there was one, then its own."""
        rows = np.array(self.rows) + len(vectors) - len(self.images) - 1
        flags = map(np.array, (self.is_blank, self.is_damaged, self.missed_s))
        return StoredCandidates(np.array(self.times_s), vectors[rows], *flags)


def _encode(encoder: Encoder, batch: _Batch, path: str) -> Array:
    """(n, dim) float16: the vectors of the batch's images; a non-finite one raises an error with its time."""
    if not batch.images:
        return np.empty((0, encoder.dim), dtype=np.float16)
    takes_tensors = getattr(encoder, "image_device", None) is not None
    images = [
        image if takes_tensors or isinstance(image, np.ndarray) else image.cpu().numpy() for image in batch.images
    ]
    vectors = np.asarray(encoder.encode_images(images))
    if vectors.shape != (len(batch.images), encoder.dim):
        expected = (len(batch.images), encoder.dim)
        raise FramesiftError(f"the encoder {encoder.name} returned shape {vectors.shape}; expected {expected}")
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        at = batch.times_s[batch.rows.index(int(bad[0]) + 1)]
        raise FramesiftError(f"the encoder {encoder.name} returned a non-finite vector for {path} at {at:.3f} s")
    return vectors.astype(np.float16)


def _reduced(image: Array | CudaImage) -> tuple[Image.Image, Array]:
    """A candidate's reduced picture, and its small one."""
    if isinstance(image, CudaImage):
        return Image.fromarray(image.reduced), image.small
    picture = reduce_picture(image)
    return picture, small_picture(picture)


def _batches(sampling: Sampling, size: int, reuse: bool) -> Iterator[_Batch]:
    """Yield batches of `size` images that end at part boundaries, decoded in a separate thread.

    reuse: a candidate that shows the same as the last image of its part has no image of its own. The thread runs at
    most two batches ahead, so memory does not grow with the length of the video.
    """
    ahead: queue.Queue[_Batch | BaseException | None] = queue.Queue(maxsize=2)
    stop, ended = threading.Event(), threading.Event()

    put = partial(put_unless, stop, ahead)

    def decode() -> None:
        batch = _Batch()
        encoded: Array | None = None
        count, missed = 0, len(sampling.missed_s)

        def send() -> None:
            nonlocal batch, missed
            # A later one is met again by a run that resumes here.
            batch.missed_s.extend(t for t in sampling.missed_s[missed:] if t <= batch.times_s[-1])
            missed += len(batch.missed_s)
            put(batch)
            batch = _Batch()

        try:
            for time_s, image in sampling:
                batch.times_s.append(time_s)
                picture, small = _reduced(image)
                is_new = not reuse or encoded is None or count % PART_SIZE == 0 or not is_unchanged(small, encoded)
                if is_new:
                    encoded = small
                    batch.images.append(image.pixels if isinstance(image, CudaImage) else image)
                batch.rows.append(len(batch.images))
                batch.is_blank.append(is_blank_picture(picture))
                batch.is_damaged.append(sampling.damaged_s[-1:] == [time_s])
                count += 1
                if len(batch.images) == size or count % PART_SIZE == 0:
                    send()
                if stop.is_set():
                    return
            if batch.times_s:
                send()
            put(None)
        except BaseException as error:  # re-raised in the encoding thread
            put(error)
        finally:
            ended.set()

    thread = threading.Thread(target=decode, name="framesift-decode", daemon=True)
    try:
        thread.start()  # a signal may arrive while it waits for the thread
        while (item := ahead.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        # When abandoned, it may be collected in the thread itself.
        if thread.ident not in (None, threading.get_ident()):
            ended.wait()
