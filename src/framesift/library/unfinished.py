"""What is known so far of videos that are being indexed, so that questions can be answered before that is done."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from framesift._utils.text import clock, counted
from framesift.encoders.base import Encoder
from framesift.indexing.index import PART_SIZE
from framesift.indexing.partial import overview, partial_index
from framesift.library.files import LibraryVideo
from framesift.pipeline.video import Video
from framesift.progress import Progress
from framesift.store.store import IndexKey, Store, StoredCandidates
from framesift.types import VideoIndex
from framesift.video.frames import probe

CACHED = 4  # videos; the parts of the others are read from the store again


@dataclass
class _Unfinished:
    """The candidates of one version of a video. count: those that a question can use."""

    keyframes: StoredCandidates | None = None
    parts: list[StoredCandidates] = field(default_factory=list)
    count: int = 0


class UnfinishedVideos:
    """Keyframes of each video being indexed, and the parts of its index, which are read from the store once each."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._videos: OrderedDict[str, _Unfinished] = OrderedDict()
        self._lock = threading.Lock()

    def make_overview(self, video: LibraryVideo, encoder: Encoder, progress: Progress) -> None:
        """Decode and encode keyframes of the whole video, which can be asked about from the first few on."""
        known = self._of(video)
        for keyframes in overview(str(video.path), encoder, progress):
            known.keyframes, known.count = keyframes, max(known.count, len(keyframes))

    def note_progress(self, video: LibraryVideo, done: int) -> None:
        """Record that so many candidates are encoded; those of complete parts are stored."""
        known = self._of(video)
        stored = done - done % PART_SIZE
        if stored:
            known.count = max(known.count, stored + (0 if known.keyframes is None else len(known.keyframes)))

    def note_indexed(self, video: LibraryVideo, candidates: int) -> None:
        """Record that the index is complete; its text may not be."""
        known = self._of(video)
        known.count = max(known.count + 1, candidates)

    def count(self, video: LibraryVideo) -> int:
        """How many candidates can be used: rises whenever a question would be answered from more."""
        with self._lock:
            known = self._videos.get(video.stamp)
        return 0 if known is None else known.count

    def index(self, video: LibraryVideo, key: IndexKey) -> tuple[VideoIndex | None, float]:
        """The index so far, and up to which time it is complete; None without any candidate."""
        known = self._of(video)
        with self._lock:
            known.parts += self._store.load_parts(key, sum(map(len, known.parts)))
            parts = list(known.parts)
        complete_s = float(parts[-1].times_s[-1]) if parts else 0.0
        return partial_index(parts, known.keyframes, probe(video.path), key.encoder), complete_s

    def forget(self, video: LibraryVideo) -> None:
        """Drop what is known of a video that is ready."""
        with self._lock:
            self._videos.pop(video.stamp, None)

    def _of(self, video: LibraryVideo) -> _Unfinished:
        with self._lock:
            known = self._videos.setdefault(video.stamp, _Unfinished())
            self._videos.move_to_end(video.stamp)
            while len(self._videos) > CACHED:
                self._videos.popitem(last=False)
        return known


def describe_progress(video: Video, *, is_indexed: bool, complete_s: float) -> str:
    """A sentence on what a selection was made from. complete_s: up to where all candidates are known."""
    text = video.text
    words = "" if text.sources or text.notes else ", without the words, which follow"
    if is_indexed:
        return f"Selected from all frames{words}."
    frames = counted(len(video.index), "frame")
    if complete_s:
        return f"Selected from {frames} so far: all up to {clock(complete_s)[:-4]}, keyframes of the rest{words}."
    return f"Selected from {frames} so far: keyframes spread over the video{words}."
