"""The vectors that a search compares with: of the frames of an index, and of a video's stored events."""

import hashlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from framesift.encoders.base import Encoder
from framesift.errors import InputError, StoreError
from framesift.selection.chance import UNRELATED, word_scores
from framesift.selection.lexical import EventWords, quoting
from framesift.store.arrays import unpack_arrays
from framesift.store.manifests import SAMPLING_RULES, read_manifest
from framesift.store.store import INDEX, Store, events_from, read_payload
from framesift.store.text_vectors import cached_text_vectors
from framesift.types import Event
from framesift.types.vectors import Array, unit_rows

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FrameVectors:
    """The frames of one index that show something, read from its file."""

    owner: str
    file: Path

    @classmethod
    def of(cls, folder: Path) -> "FrameVectors":
        """The frames of an entry. The owner's name changes when its file is written: it is verified again."""
        try:
            written_ns = (folder / INDEX).stat().st_mtime_ns
        except OSError:  # reported when it is read
            written_ns = 0
        return cls(f"{folder.parent.name}/{folder.name}@{SAMPLING_RULES}-{written_ns}", folder / INDEX)

    def vectors(self) -> tuple[Array, Array]:
        folder = self.file.parent
        tensors = unpack_arrays(read_payload(folder, "index", read_manifest(folder)))
        if "rules" not in tensors or tensors["rules"].tolist() != [SAMPLING_RULES]:
            raise StoreError("made by an earlier version; index the video again")
        shown = _shown(tensors["is_blank"])
        frames, times_s = tensors["frames"][shown], tensors["times_s"][shown]
        if frames.ndim != 2 or times_s.shape != (len(frames),):
            raise StoreError(f"{self.file} is damaged (frames {frames.shape}, times {times_s.shape})")
        return _unit(frames), times_s

    def unrelated_scores(self, queries: Array) -> Array:
        """(n, K) scores of the frames for the unrelated questions, whose vectors are queries (K, D)."""
        return self.vectors()[0] @ queries.T

    def rows_at(self, positions: Sequence[int]) -> Array:
        with self._opened() as tensors:
            frames, indices = (
                tensors.get_slice("frames"),
                _shown(tensors.get_tensor("is_blank"))[list(positions)].tolist(),
            )
            return _unit(np.concatenate([frames[index : index + 1] for index in indices]))

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(str(self.file), "numpy") as tensors:
                yield tensors
        except (SafetensorError, OSError, TypeError, ValueError) as error:
            raise StoreError(f"{self.file} is damaged ({error}); index the video again") from None


@dataclass(frozen=True)
class EventVectors:
    """The events of one video from one source, and their stored vectors."""

    owner: str
    events: tuple[Event, ...]
    texts: tuple[str, ...]  # of all stored events, whose vectors are stored together
    inside: tuple[int, ...]  # positions of `events` among these
    model: Encoder
    root: Path

    @classmethod
    def read(cls, store: Store, video: str, name: str, model: Encoder, duration_s: float) -> "list[EventVectors]":
        """The events inside the video, or no source if they can't be read. The owner's name changes with the text."""
        try:
            folder = store.root / video / name
            payload = read_payload(folder, "events", read_manifest(folder))
            listed = events_from(payload)
        except (OSError, InputError, StoreError) as error:
            log.warning("%s/%s can't be searched (%s)", video, name, error)
            return []
        inside = [k for k, event in enumerate(listed) if event.end_s >= 0 and event.start_s <= duration_s]
        events = tuple(_clipped(listed[k], duration_s) for k in inside)
        if len(inside) < len(listed):
            payload += str(inside).encode()
        digest = hashlib.blake2b(payload, digest_size=8).hexdigest()
        texts = tuple(event.text for event in listed)
        return [cls(f"{video}/{name}@{digest}", events, texts, tuple(inside), model, store.root)] if events else []

    def vectors(self) -> tuple[Array, Array]:
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
        return word_scores(self.vectors()[0] @ queries.T, lexical)

    def rows_at(self, positions: Sequence[int]) -> Array:
        return self.vectors()[0][list(positions)]


def _shown(is_blank: Array) -> Array:
    """The indices of an index's frames that are not blank; all of them if every one is."""
    return np.flatnonzero(~is_blank | is_blank.all())


def _unit(frames: Array) -> Array:
    rows: Array = unit_rows(frames, "frames").astype(np.float32)
    return rows


def _clipped(event: Event, duration_s: float) -> Event:
    return replace(event, start_s=max(0.0, event.start_s), end_s=min(duration_s, event.end_s))
