"""An encoder as another package would bring it."""

import numpy as np

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
