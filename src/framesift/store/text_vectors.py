"""Cached text vectors: the text of events depends on the video, not on the question."""

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


CHUNK = 1024  # texts between two calls of progress


def cached_text_vectors(
    encoder: "TextEncoder",
    texts: Sequence[str],
    store: str | os.PathLike[str] | None = None,
    *,
    progress: Progress = ignore_progress,
) -> Array:
    """Encode texts as (n, D) float32 unit rows, or read them from the store if they were encoded before.

    Equal texts are encoded once. Without a fingerprint, versions of an encoder can't be distinguished, so its vectors
    are not stored. progress: counts distinct texts.
    """
    encoder_fingerprint = fingerprint_of(encoder)
    cache = Store(store)
    vectors = cache.load_texts(encoder.name, encoder_fingerprint, texts)
    if vectors is None:
        distinct = {text: k for k, text in enumerate(dict.fromkeys(texts))}
        vectors = _encoded(encoder, list(distinct), progress)[[distinct[text] for text in texts]]
        if encoder_fingerprint != UNKNOWN:
            cache.save_texts(encoder.name, encoder_fingerprint, texts, vectors)
    return vectors


def _encoded(encoder: "TextEncoder", texts: list[str], progress: Progress) -> Array:
    parts = []
    for start in range(0, len(texts), CHUNK):
        progress("encoding text", start, len(texts))
        parts.append(encode_long_texts(encoder, texts[start : start + CHUNK]))
    return np.concatenate(parts) if parts else encode_long_texts(encoder, texts)
