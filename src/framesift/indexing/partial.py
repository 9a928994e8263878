"""What can be asked about a video before its index is finished: keyframes spread over it, and the stored parts."""

import time
from collections.abc import Iterator, Sequence

import numpy as np

from framesift.encoders.base import Encoder
from framesift.indexing.index import decoded_side
from framesift.progress import Progress, ignore_progress
from framesift.store.store import StoredCandidates
from framesift.types import VideoIndex, VideoInfo
from framesift.types.vectors import is_long, unit_rows
from framesift.video.blank import is_blank
from framesift.video.frames import probe, sample

OVERVIEW = "keyframes"  # the stage's name
OVERVIEW_FRAMES = 48
BATCH = 8
# A slow encoder stops here, so that the index itself is not delayed for long.
OVERVIEW_S = 6.0


def overview(path: str, encoder: Encoder, progress: Progress = ignore_progress) -> Iterator[StoredCandidates]:
    """Yield encoded keyframes of the whole video: first a few, then more between them."""
    progress(OVERVIEW, 0, 0)
    duration_s = max(probe(path).duration_s, 1.0)
    with sample(path, OVERVIEW_FRAMES / duration_s, "keyframes", short_side=decoded_side(encoder)) as sampling:
        decoded = [(time_s, image) for time_s, image in sampling if sampling.damaged_s[-1:] != [time_s]]
    started = time.monotonic()
    order = coarse_to_fine(len(decoded))
    done = []
    for first in range(0, len(order), BATCH):
        batch = [decoded[k] for k in sorted(order[first : first + BATCH])]
        times_s, images = zip(*batch, strict=True)
        rows = np.asarray(encoder.encode_images(list(images))).astype(np.float16)
        blank, no = np.array([*map(is_blank, images)]), np.zeros(len(batch), dtype=bool)
        done.append(StoredCandidates(np.array(times_s), rows, blank, no, np.zeros(0)))
        joined = StoredCandidates.join(done, sum(map(len, done)))
        yield joined.take(np.argsort(joined.times_s))
        progress(OVERVIEW, len(joined), len(decoded))
        if time.monotonic() - started > OVERVIEW_S:
            return


def coarse_to_fine(count: int) -> list[int]:
    """0 … count - 1 in an order of which every beginning is spread over the whole range."""
    bits = max(count - 1, 1).bit_length()
    numbers = (int(f"{k:0{bits}b}"[::-1], 2) for k in range(2**bits))
    return [number for number in numbers if number < count]


def partial_index(
    parts: Sequence[StoredCandidates], keyframes: StoredCandidates | None, info: VideoInfo, encoder: str
) -> VideoIndex | None:
    """An index of consecutive parts from the start, and of the keyframes after them; None without any."""
    end_s = float(parts[-1].times_s[-1]) if parts else -1.0
    rest = [] if keyframes is None else [keyframes.take(np.flatnonzero(keyframes.times_s > end_s))]
    known = [part.take(np.flatnonzero(~part.is_damaged)) for part in (*parts, *rest)]
    if not (count := sum(map(len, known))):
        return None
    candidates = StoredCandidates.join(known, count)
    frames = candidates.frames
    if not is_long(frames.shape):
        frames = unit_rows(frames, "frames").astype(np.float32)
    return VideoIndex(info, candidates.times_s, frames, encoder, is_blank=candidates.is_blank)
