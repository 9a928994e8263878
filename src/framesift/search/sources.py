"""What a search compares a text with: the frames of each index and the events of each video; and what chance scores.

    STORE/corpus/chance-<encoder>-<its fingerprint>-<kind>.json    the best score of each unrelated question, by source

A source is verified when these scores are computed, once: its name changes when its content does. Their level is that
of the searched videos together: with one for each, every further video would be a chance for a text that matches
nothing.
"""

import hashlib
import json
import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from framesift._utils.files import write_text
from framesift._utils.json import check_digest, load_json, with_digest
from framesift._utils.records import read_record
from framesift.encoders.base import Encoder
from framesift.errors import FramesiftError, InputError, StoreError
from framesift.selection.chance import UNRELATED, best_level, word_scores
from framesift.selection.lexical import EventWords, quoting
from framesift.store.store import (
    CHANCE_RULES,
    INDEX,
    SAMPLING_RULES,
    Store,
    StoredCandidates,
    cached_text_vectors,
    events_from,
    log_unwritable,
    read_manifest,
    read_payload,
)
from framesift.types import Event
from framesift.types.vectors import BLOCK_ROWS, Array, small_products, unit_rows

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FrameVectors:
    """The frames of one index that show something. owner: the video, the index, and when it was written."""

    owner: str
    folder: Path

    @classmethod
    def of(cls, folder: Path) -> "FrameVectors":
        try:
            written_ns = (folder / INDEX).stat().st_mtime_ns
        except OSError:  # reported when it is read
            written_ns = 0
        return cls(f"{folder.parent.name}/{folder.name}@{SAMPLING_RULES}-{written_ns}", folder)

    def read(self) -> tuple[Array, Array]:
        """(n, D) float16 rows and their times, without verifying the checksum."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(self.folder / INDEX), "numpy") as tensors:
                frames, times_s, is_blank = map(tensors.get_tensor, ("frames", "times_s", "is_blank"))
        except (SafetensorError, TypeError) as error:
            raise StoreError(f"{INDEX} is damaged ({error})") from None
        if is_blank.any() and not is_blank.all():
            frames, times_s = frames[~is_blank], times_s[~is_blank]
        return frames, times_s

    def unrelated_scores(self, queries: Array) -> Array:
        """(n, K) scores for the unrelated questions, whose vectors are queries (K, D). The file is verified first."""
        stored = StoredCandidates.unpack(read_payload(self.folder, "index", read_manifest(self.folder)))
        unit_rows(stored.frames, "frames", dim=queries.shape[1])
        if not stored.times_s.shape == stored.is_blank.shape == (len(stored.frames),):
            raise StoreError(f"{INDEX} is damaged (frames {stored.frames.shape}, times {stored.times_s.shape})")
        return cosines(self.read()[0], queries)


@dataclass(frozen=True)
class EventVectors:
    """The events of one video from one source, and their stored vectors. owner: ends in a digest of the events."""

    owner: str
    events: tuple[Event, ...]
    texts: tuple[str, ...]  # of all stored events, whose vectors are stored together
    inside: tuple[int, ...]  # positions of `events` among these
    model: Encoder
    root: Path

    @classmethod
    def of(cls, store: Store, video: str, name: str, model: Encoder, duration_s: float) -> "list[EventVectors]":
        """The events inside the video, or no source if there are none or they can't be read."""
        try:
            folder = store.root / video / name
            payload = read_payload(folder, "events", read_manifest(folder))
            listed = events_from(payload)
        except (OSError, InputError, StoreError) as error:
            log.warning("%s/%s can't be searched (%s)", video, name, error)
            return []
        inside = tuple(k for k, event in enumerate(listed) if event.end_s >= 0 and event.start_s <= duration_s)
        events = tuple(
            replace(listed[k], start_s=max(0.0, listed[k].start_s), end_s=min(duration_s, listed[k].end_s))
            for k in inside
        )
        digest = hashlib.blake2b(payload + str(inside).encode(), digest_size=8).hexdigest()
        texts = tuple(event.text for event in listed)
        return [cls(f"{video}/{name}@{digest}", events, texts, inside, model, store.root)] if events else []

    def read(self) -> tuple[Array, Array]:
        vectors = cached_text_vectors(self.model, self.texts, self.root)[list(self.inside)]
        return vectors, np.array([event.start_s for event in self.events])

    def quoting(self, text: str) -> list[int]:
        """The positions of the events that contain every word of the text."""
        return quoting([event.text for event in self.events], text)

    @cached_property
    def words(self) -> EventWords:
        return EventWords([event.text for event in self.events])

    def unrelated_scores(self, queries: Array) -> Array:
        """(n, K) scores of the events for the unrelated questions, whose vectors are queries (K, D)."""
        lexical = np.stack([self.words.scores(question) for question in UNRELATED], axis=1)
        return word_scores(cosines(self.read()[0], queries), lexical)


SearchSource = FrameVectors | EventVectors


def cosines(rows: Array, queries: Array) -> Array:
    """(n, K) float64: the cosine of each row (n, D), of any length and type, with unit queries (K, D); by blocks."""
    out = np.empty((len(rows), len(queries)))
    queries = queries.astype(np.float64)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS].astype(np.float64)
        lengths = np.sqrt(np.einsum("nd,nd->n", block, block))
        out[start : start + BLOCK_ROWS] = small_products(block, queries) / lengths[:, None]
    return out


@dataclass(frozen=True)
class _BestScores:
    """rules, questions: how the scores were computed. scores: of each question, by source."""

    rules: int
    questions: tuple[str, ...]
    scores: Mapping[str, tuple[float, ...]]


def unrelated_scores(file: Path, sources: Sequence[SearchSource], model: Encoder) -> dict[str, tuple[float, ...]]:
    """The best score of each unrelated question by source, as stored in the file, which gets what it lacks.

    A source that can't be read is left out with a warning.
    """
    stored = _load(file)
    scores = {source.owner: stored[source.owner] for source in sources if source.owner in stored}
    missing = [source for source in sources if source.owner not in scores]
    queries = cached_text_vectors(model, UNRELATED, file.parent.parent) if missing else np.zeros(0)
    for source in missing:
        try:
            best = source.unrelated_scores(queries).max(axis=0)
        except (FramesiftError, OSError, ValueError, KeyError) as error:
            log.warning("%s can't be searched (%s)", source.owner.partition("@")[0], error)
        else:
            scores[source.owner] = tuple(round(float(score), 6) for score in best)
    if scores.keys() != stored.keys():
        record = {"rules": CHANCE_RULES, "questions": UNRELATED, "scores": scores}
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps(with_digest(record)))
        except OSError as error:
            log_unwritable(file.parent.parent, error)
    return scores


def library_level(scores: Mapping[str, Sequence[float]], videos: Collection[str] | None) -> float:
    """The level of the sources of these videos, by fingerprint, or of all."""
    return best_level(np.array([row for owner, row in scores.items() if is_among(owner, videos)]))


def is_among(owner: str, videos: Collection[str] | None) -> bool:
    """Whether a source is of one of these videos, given by fingerprint; None stands for all."""
    return videos is None or owner.partition("/")[0] in videos


def _load(file: Path) -> Mapping[str, tuple[float, ...]]:
    """The stored scores; none if the file is missing, damaged or computed by other rules."""
    try:
        record = load_json(file.read_bytes(), file.name, "the scores of unrelated questions")
        best = read_record(_BestScores, record, file.name)
        check_digest(record, file.name)
    except (InputError, OSError):
        return {}
    is_usable = (best.rules, best.questions) == (CHANCE_RULES, UNRELATED) and all(
        len(row) == len(UNRELATED) and all(map(math.isfinite, row)) for row in best.scores.values()
    )
    return best.scores if is_usable else {}
