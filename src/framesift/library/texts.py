"""Vectors of texts, computed once: an event's words belong to the video, not to the question."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from framesift.encode.base import UNKNOWN, encode_long_texts, fingerprint_of
from framesift.library.store import Store
from framesift.vectors import Array

if TYPE_CHECKING:
    from framesift.encode.base import TextEncoder


def kept_vectors(encoder: "TextEncoder", texts: Sequence[str], store: str | os.PathLike[str] | None = None) -> Array:
    """(n, D) float32 unit rows, read from the library if these texts were encoded before. Equal texts cost one.

    An encoder without a fingerprint can't be told from its next version, so its vectors are not kept.
    """
    mark = fingerprint_of(encoder)
    kept = Store(store)
    vectors = kept.load_texts(encoder.name, mark, texts)
    if vectors is None:
        distinct = {text: k for k, text in enumerate(dict.fromkeys(texts))}
        vectors = encode_long_texts(encoder, list(distinct))[[distinct[text] for text in texts]]
        if mark != UNKNOWN:
            kept.save_texts(encoder.name, mark, texts, vectors)
    return vectors
