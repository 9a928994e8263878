"""The temporal network of TSPO: contextualised frame vectors, from a checkpoint.

Sinusoidal positions are added; attention with 8 heads runs inside windows of 12 consecutive frames; a multilayer
perceptron follows; both are residual. Weights come from safetensors, or from a .pt file read with
torch's `weights_only`, so that no code in it is executed.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.optional import require
from framesift.errors import FramesiftError, InputError
from framesift.types.vectors import Array

EXTRA = "siglip"
HEADS = 8
WINDOW = 12
WAVELENGTH = 10_000.0

# The prefixes of a checkpoint depend on how it was saved, so tensors are identified by the end of their names.
PARTS = {
    "attention in": r"in_proj_(weight|bias)$",
    "attention out": r"out_proj\.(weight|bias)$",
    "perceptron": r"(?:mlp|ffn|feed_forward)\.(?:\w+\.)*?(?:fc|linear)?(\d+)\.(weight|bias)$",
}


def load(path: str | Path) -> "TemporalNetwork":
    """Load the network from a .safetensors, .pt, .pth or .bin file."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no checkpoint {file}; expected TSPO's weights as .safetensors or .pt")
    torch = require("torch", EXTRA)
    if file.suffix == ".safetensors":
        state = require("safetensors.torch", EXTRA).load_file(file)
    else:
        try:
            state = torch.load(file, map_location="cpu", weights_only=True)
        # torch raises several kinds of errors for files with more than tensors.
        except Exception as error:
            raise FramesiftError(f"{file} can't be read as plain weights; save it as safetensors") from error
    for key in ("state_dict", "model"):
        state = state[key] if isinstance(state.get(key), Mapping) else state
    return TemporalNetwork(file.name, state)


class TemporalNetwork:
    """The network with its weights; `embed` is its forward pass."""

    def __init__(self, name: str, state: Mapping[str, Any]) -> None:
        self.name = name
        self._torch = require("torch", EXTRA)
        attention = {part: self._find(state, PARTS[part]) for part in ("attention in", "attention out")}
        self._weights = {
            "in": (attention["attention in"]["weight"], attention["attention in"]["bias"]),
            "out": (attention["attention out"]["weight"], attention["attention out"]["bias"]),
        }
        layers: dict[int, dict[str, Any]] = {}
        for key, tensor in state.items():
            if match := re.search(PARTS["perceptron"], key):
                layers.setdefault(int(match.group(1)), {})[match.group(2)] = tensor.float()
        if len(layers) != 2 or any(set(layer) != {"weight", "bias"} for layer in layers.values()):
            raise InputError(f"{name} has {len(layers)} layers of a perceptron; expected two with weight and bias")
        self._perceptron = [(layers[k]["weight"], layers[k]["bias"]) for k in sorted(layers)]
        self.dim = int(self._weights["out"][0].shape[0])

    def embed(self, frames: Array) -> Array:
        """(N, dim) → (N, dim) float32."""
        torch = self._torch
        if frames.shape[1] != self.dim:
            raise InputError(
                f"the frames have {frames.shape[1]} dimensions, {self.name} reads {self.dim}: index the video with the "
                "encoder it was trained on (encoder='clip')"
            )
        linear = torch.nn.functional.linear
        with torch.inference_mode():
            x = torch.from_numpy(np.ascontiguousarray(frames, dtype=np.float32) + positions(len(frames), self.dim))
            x = x + linear(self._attend(linear(x, *self._weights["in"])), *self._weights["out"])
            wide = torch.nn.functional.gelu(linear(x, *self._perceptron[0]))
            out: Array = (x + linear(wide, *self._perceptron[1])).numpy()
        return out

    def _attend(self, packed: Any) -> Any:
        """Attention of queries, keys and values (N, 3·dim) inside each window; the last may be shorter."""
        torch, count = self._torch, len(packed)
        filled = torch.nn.functional.pad(packed, (0, 0, 0, -count % WINDOW))
        parts = filled.unflatten(0, (-1, WINDOW)).unflatten(2, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        real = (torch.arange(len(filled)) < count).unflatten(0, (-1, WINDOW))[:, None, None, :]
        attended = torch.nn.functional.scaled_dot_product_attention(*parts, attn_mask=real)
        return attended.transpose(1, 2).flatten(2).flatten(0, 1)[:count]

    def _find(self, state: Mapping[str, Any], pattern: str) -> dict[str, Any]:
        tensors = {match.group(1): state[key].float() for key in state if (match := re.search(pattern, key))}
        if set(tensors) != {"weight", "bias"}:
            raise InputError(
                f"{self.name} has no tensors named like {pattern!r}; expected a checkpoint of TSPO's network"
            )
        return tensors


def positions(count: int, dim: int) -> Array:
    """(count, dim) float32: sines in the even columns, cosines in the odd ones."""
    rate = WAVELENGTH ** (-np.arange(0, dim, 2) / dim)
    angle = np.arange(count)[:, None] * rate
    out = np.empty((count, dim), dtype=np.float32)
    out[:, 0::2], out[:, 1::2] = np.sin(angle), np.cos(angle)[:, : dim // 2]
    return out
