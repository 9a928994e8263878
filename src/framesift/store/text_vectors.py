"""Vectors of texts, computed once: an event's words belong to the video, not to the question."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from framesift.encoders.base import UNKNOWN, encode_long_texts, fingerprint_of
from framesift.progress import Progress, ignore_progress
from framesift.store.store import Store
from framesift.types.vectors import Array

if TYPE_CHECKING:
    from framesift.encoders.base import TextEncoder


AT_ONCE = 1024  # texts, between two calls of progress


def cached_text_vectors(
    encoder: "TextEncoder",
    texts: Sequence[str],
    store: str | os.PathLike[str] | None = None,
    *,
    progress: Progress = ignore_progress,
) -> Array:
    """(n, D) float32 unit rows, read from the library if these texts were encoded before. Equal texts cost one.

    An encoder without a fingerprint can't be told from its next version, so its vectors are not kept. progress is
    called with how many distinct texts are encoded, and of how many; what it raises ends the work.
    """
    mark = fingerprint_of(encoder)
    kept = Store(store)
    vectors = kept.load_texts(encoder.name, mark, texts)
    if vectors is None:
        distinct = {text: k for k, text in enumerate(dict.fromkeys(texts))}
        vectors = _encoded(encoder, list(distinct), progress)[[distinct[text] for text in texts]]
        if mark != UNKNOWN:
            kept.save_texts(encoder.name, mark, texts, vectors)
    return vectors


def _encoded(encoder: "TextEncoder", texts: list[str], progress: Progress) -> Array:
    parts = []
    for start in range(0, len(texts), AT_ONCE):
        progress("encoding text", start, len(texts))
        parts.append(encode_long_texts(encoder, texts[start : start + AT_ONCE]))
    return np.concatenate(parts) if parts else encode_long_texts(encoder, texts)
