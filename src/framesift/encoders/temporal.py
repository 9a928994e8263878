"""The temporal network of TSPO: contextualised frame vectors, from its published checkpoint.

Sinusoidal positions are added; attention with 8 heads sees a sliding window of 12 frames; a perceptron with ReLU
follows, and the frame's own vector is added.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from framesift._utils.requirements import require
from framesift.errors import InputError
from framesift.types.vectors import Array

EXTRA = "siglip"
HEADS = 8
WINDOW = 12  # from 6 frames before to 5 after
WAVELENGTH = 10_000.0
BLOCK_ROWS = 1024  # frames attended to at a time: their keys and values in windows take 75 MB at 768 dimensions

# Prefixes differ between the published model ("selector.") and a training checkpoint ("multiModal_align.").
QUERY, KEY, VALUE = (f"temporal.Self_{part}" for part in "qkv")
LAYERS = (QUERY, KEY, VALUE, "mlp.0", "mlp.2")
PARTS = tuple(f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias"))


def load(path: str | Path) -> "TemporalNetwork":
    """Load the network from a safetensors file, or a folder with model.safetensors."""
    file = Path(path)
    if file.is_dir():
        file /= "model.safetensors"
    if not file.is_file():
        raise InputError(f"there is no checkpoint {file}; expected TSPO's weights as safetensors")
    safetensors = require("safetensors", EXTRA)
    try:
        with safetensors.safe_open(file, framework="pt") as tensors:
            # The published file also has all of CLIP.
            state = {name: tensors.get_tensor(name) for name in tensors.keys() if name.endswith(PARTS)}  # noqa: SIM118
    except safetensors.SafetensorError as error:
        raise InputError(f"{file} can't be read as safetensors ({error}); save or download it again") from error
    return TemporalNetwork(file.name, state)


class TemporalNetwork:
    """The network with its weights; `embed` is its forward pass."""

    def __init__(self, name: str, state: Mapping[str, Any]) -> None:
        self.name = name
        self._torch = require("torch", EXTRA)
        first = next((key for key in state if key.endswith(f"{QUERY}.weight")), "")
        prefix = first.removesuffix(f"{QUERY}.weight")
        self.dim = len(state.get(first, ()))
        self._layers: dict[str, list[Any]] = {layer: [] for layer in LAYERS}
        for layer in LAYERS:
            for part, expected in (("weight", (self.dim, self.dim)), ("bias", (self.dim,))):
                tensor = state.get(f"{prefix}{layer}.{part}")
                if tensor is None:
                    raise InputError(f"{name} has no tensor {layer}.{part}; expected a checkpoint of TSPO's network")
                if tuple(tensor.shape) != expected or self.dim % HEADS:
                    raise InputError(
                        f"{layer}.{part} of {name} has shape {tuple(tensor.shape)}; expected {expected}, "
                        f"and a multiple of {HEADS}"
                    )
                self._layers[layer].append(tensor.float())

    def embed(self, frames: Array) -> Array:
        """(N, dim) CLIP's image vectors, not normalised → (N, dim) float32."""
        torch = self._torch
        if frames.shape[1] != self.dim:
            raise InputError(
                f"the frames have {frames.shape[1]} dimensions, {self.name} reads {self.dim}: index the video with the "
                "encoder it was trained on (encoder='clip')"
            )
        with torch.inference_mode():
            own = torch.from_numpy(np.ascontiguousarray(frames, dtype=np.float32))
            timed = own + torch.from_numpy(positions(len(frames), self.dim))
            attended = self._attend(*(self._apply(layer, timed) for layer in (QUERY, KEY, VALUE)))
            out: Array = (own + self._apply("mlp.2", self._apply("mlp.0", attended).relu())).numpy()
        return out

    def _apply(self, layer: str, x: Any) -> Any:
        return self._torch.nn.functional.linear(x, *self._layers[layer])

    def _attend(self, queries: Any, keys: Any, values: Any) -> Any:
        """Attention (N, dim) of each frame to the window around it, shorter at both ends of the video."""
        torch = self._torch
        queries, keys, values = (x.unflatten(1, (HEADS, -1)) for x in (queries, keys, values))
        blocks = []
        for rows in torch.arange(len(queries)).split(BLOCK_ROWS):
            near = rows[:, None] + torch.arange(WINDOW) - WINDOW // 2
            outside = (near < 0) | (near >= len(queries))
            near = near.clamp(0, len(queries) - 1)
            logits = torch.einsum("nhd,nwhd->nhw", queries[rows], keys[near]) / queries.shape[2] ** 0.5
            weights = logits.masked_fill(outside[:, None], -torch.inf).softmax(dim=2)
            blocks.append(torch.einsum("nhw,nwhd->nhd", weights, values[near]).flatten(1))
        return torch.cat(blocks)


def positions(count: int, dim: int) -> Array:
    """(count, dim) float32 of the frame's share of the video: sines in the even columns, cosines in the odd ones."""
    angle = (np.arange(count) / count)[:, None] * WAVELENGTH ** (-np.arange(0, dim, 2) / dim)
    out = np.empty((count, dim), dtype=np.float32)
    out[:, 0::2], out[:, 1::2] = np.sin(angle), np.cos(angle)
    return out
