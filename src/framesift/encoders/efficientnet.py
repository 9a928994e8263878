"""EfficientNet-Lite 0 as an ONNX graph, built from its published weights without torch and kept in the user's cache.

Batch norms are folded into the convolutions, and padding is theirs: the same results in fewer steps.
"""

import logging
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np

from framesift._utils.files import write_bytes
from framesift.encoders.onnx_file import Graph
from framesift.encoders.torch_file import read_tensors
from framesift.encoders.weights import files_digest
from framesift.errors import InputError
from framesift.types.vectors import Array

NAME = "efficientnet-lite0"
FEATURES = 1280  # of its last layer before the classes
CLASSES = 1000
STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)  # of the blocks; all else follows from the weights' shapes
EPSILON = 1e-3  # of the batch norms
VERSION = 1  # of the graph, in the name of the kept file: changes with what `build_graph` writes
DIGEST_BYTES = 16

log = logging.getLogger(__name__)


def load_graph(weights: Path, folder: Path) -> bytes:
    """The graph as an ONNX file: the one kept in the folder, or, if there is none or it is damaged, built and kept.

    The kept file begins with the digest of the rest. A folder that can't be written costs the time of building only.
    """
    path = folder / f"{NAME}-{files_digest([weights]).hex()[:16]}-{VERSION}.onnx"
    with suppress(OSError):
        kept = path.read_bytes()
        digest, graph = kept[:DIGEST_BYTES], kept[DIGEST_BYTES:]
        if digest == _digest(graph):
            return graph
        log.info("offline: %s is damaged and is built again", path)
    graph = build_graph(read_tensors(weights), str(weights))
    try:
        write_bytes(path, _digest(graph) + graph)
    except OSError as error:
        log.info("offline: the network is not kept, because %s can't be written (%s)", path, error.strerror or error)
    return graph


def build_graph(weights: Mapping[str, Array], source: str) -> bytes:
    """The ONNX file: pixels (n, height, width, 3) uint8 → logits (n, 1000), features (n, 1280). source: for errors."""
    try:
        return _GraphBuilder(weights).build()
    except (KeyError, ValueError) as error:
        raise InputError(f"{source} has not the weights of {NAME} ({error}); install its package again") from None


class _GraphBuilder:
    def __init__(self, weights: Mapping[str, Array]) -> None:
        self._weights = weights
        self._graph = Graph(NAME)
        self._zero, self._six = (self._graph.constant(np.array(limit, np.float32)) for limit in (0, 6))

    def build(self) -> bytes:
        graph, weights = self._graph, self._weights
        mean, scale = (graph.constant(np.array(value, np.float32)) for value in (127, 1 / 128))
        x = graph.add("Cast", graph.input("pixels", np.uint8, "n", "height", "width", 3), to=1)
        x = graph.add("Mul", graph.add("Sub", x, mean), scale)
        x = self._convolution(graph.add("Transpose", x, perm=(0, 3, 1, 2)), "_conv_stem", "_bn0", stride=2)
        inputs = len(weights["_conv_stem.weight"])
        for block, stride in enumerate(STRIDES):
            outputs = len(weights[f"_blocks.{block}._project_conv.weight"])
            y = self._block(x, f"_blocks.{block}", stride)
            x, inputs = graph.add("Add", y, x) if stride == 1 and inputs == outputs else y, outputs
        x = self._convolution(x, "_conv_head", "_bn1")
        graph.add("Flatten", graph.add("GlobalAveragePool", x), output="features")
        matrix, bias = (graph.constant(_checked(weights[f"_fc.{part}"])) for part in ("weight", "bias"))
        graph.add("Gemm", "features", matrix, bias, output="logits", transB=1)
        graph.output("logits", np.float32, "n", CLASSES)
        graph.output("features", np.float32, "n", FEATURES)
        return graph.to_bytes()

    def _block(self, x: str, name: str, stride: int) -> str:
        if f"{name}._expand_conv.weight" in self._weights:
            x = self._convolution(x, f"{name}._expand_conv", f"{name}._bn0")
        x = self._convolution(x, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, depthwise=True)
        return self._convolution(x, f"{name}._project_conv", f"{name}._bn2", is_limited=False)

    def _convolution(
        self, x: str, name: str, norm: str, *, stride: int = 1, depthwise: bool = False, is_limited: bool = True
    ) -> str:
        """A convolution with its batch norm, then the limits of ReLU6."""
        kernel = _checked(self._weights[f"{name}.weight"]).astype(np.float64)
        gain, shift, mean, variance = (
            _checked(self._weights[f"{norm}.{part}"]).astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        factors = gain / np.sqrt(variance + EPSILON)
        folded = self._graph.constant((kernel * factors[:, None, None, None]).astype(np.float32))
        bias = self._graph.constant((shift - mean * factors).astype(np.float32))
        side = kernel.shape[2]
        before, after = (side - stride) // 2, (side - stride + 1) // 2  # TensorFlow's "same", for sides divisible by it
        y = self._graph.add(
            "Conv",
            x,
            folded,
            bias,
            kernel_shape=(side, side),
            strides=(stride, stride),
            pads=(before, before, after, after),
            group=len(kernel) if depthwise else 1,
        )
        return self._graph.add("Clip", y, self._zero, self._six) if is_limited else y


def _checked(values: Array) -> Array:
    if values.dtype != np.float32 or not np.isfinite(values).all():
        raise ValueError("a weight is not a finite float32")
    return values


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=DIGEST_BYTES).digest()
