"""Encoders that need no model, and one as another package would bring it."""

import os
import time

import numpy as np
from PIL import Image

from framesift.encoders.base import split_by_tokens


class WordCounter:
    """Stands in for another package's encoder: reads four words, one dimension for each length of word."""

    name, dim = "words", 12

    def __init__(self, device="auto"):
        self.device = device
        self.calls = []

    def encode_images(self, pictures):
        return np.eye(self.dim, dtype=np.float32)[: len(pictures)]

    def encode_texts(self, texts):
        self.calls.append(list(texts))
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.split()[:4]:
                rows[row, len(word)] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def split_text(self, text):
        return split_by_tokens(text, limit=4, count=count_words)


def count_words(text):
    return len(text.split())


class GridEncoder:
    """Mean colours of a 4 × 4 grid. Any object with these members is an encoder."""

    name = "grid"
    dim = 49
    fingerprint = "0123456789abcdef"
    batch_size = 8

    def __init__(self):
        self.seen = 0

    def encode_images(self, pictures):
        self.seen += len(pictures)
        grids = [np.asarray(Image.fromarray(np.asarray(p)).resize((4, 4), Image.Resampling.BOX)) for p in pictures]
        rows = np.stack(grids).reshape(len(grids), -1).astype(np.float32)
        return unit(np.concatenate((rows / 255 - 0.5, np.full((len(rows), 1), 0.1, np.float32)), axis=1))

    def encode_texts(self, texts):
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[[ord(c) % (self.dim - 1) for c in text]] = 1.0
        return unit(rows)


class PausedGrid(GridEncoder):
    """Pauses PAUSE_S for each image, so that a moment at random is often one of the work."""

    name = "paused-grid"

    def __init__(self, device="auto"):
        super().__init__()

    def encode_images(self, pictures):
        time.sleep(len(pictures) * float(os.environ.get("PAUSE_S", "0")))
        return super().encode_images(pictures)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
