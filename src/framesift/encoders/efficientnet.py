"""EfficientNet-Lite 0 as an ONNX graph, built from its published weights without torch.

Batch norms are folded into the convolutions, and padding is theirs: the same results in fewer steps. Both file formats
are simple where no more than this is needed; reading and writing them takes a tenth of a second.
"""

import io
import pickletools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from framesift.types.vectors import Array

NAME = "efficientnet-lite0"
FEATURES = 1280  # of its last layer before the classes
CLASSES = 1000
STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)  # of the blocks; all else follows from the weights' shapes
EPSILON = 1e-3  # of the batch norms

DTYPES: dict[str, np.dtype[Any]] = {"torch FloatStorage": np.dtype("<f4"), "torch LongStorage": np.dtype("<i8")}

# The numbers of onnx.proto.
IR_VERSION, OPSET = 9, 17
FLOAT, UINT8 = 1, 2  # TensorProto.DataType
INT, INTS = 2, 7  # AttributeProto.AttributeType


def build_graph(weights: Path) -> bytes:
    """The ONNX file: pixels (n, height, width, 3) uint8 → logits (n, 1000), features (n, 1280)."""
    return _GraphBuilder(read_tensors(weights)).build()


def read_tensors(path: Path) -> dict[str, Array]:
    """The tensors by name of a file that `torch.save` wrote before version 1.6; nothing in it is unpickled.

    Such a file is five pickles (magic number, protocol, byte order, the tensors' layouts, the keys of the storages),
    then the storages, each after its length. The opcodes of a layout hold, in this order, the tensor's name, the
    function that makes it, "storage", its type, its key, its device; its offset, shape and strides; whether it is
    trained.
    """
    file = io.BytesIO(path.read_bytes())
    *_, opcodes, keys = [list(pickletools.genops(file)) for _ in range(5)]
    layouts = []
    dtypes = {}
    memo = {}
    strings = []
    integers = []
    value: Any = None
    for opcode, argument, _ in opcodes:
        if opcode.name.endswith("BINPUT"):
            memo[argument] = value
            continue
        value = memo[argument] if opcode.name.endswith("BINGET") else argument
        if isinstance(value, str):
            strings.append(value)
        elif isinstance(value, int):
            integers.append(value)
        elif opcode.name == "BINPERSID":
            integers.clear()
        elif opcode.name == "NEWFALSE":
            name, _, _, kind, key, _ = strings[-6:]
            dtypes[key] = DTYPES[kind]
            layouts.append((name, key, integers[:]))
    storages = {}
    for key in [argument for _, argument, _ in keys if isinstance(argument, str)]:
        storages[key] = file.read(int.from_bytes(file.read(8), "little") * dtypes[key].itemsize)
    tensors = {}
    for name, key, (offset, *sizes) in layouts:
        shape, strides = np.split(np.array(sizes, dtype=np.int64), 2)
        size = dtypes[key].itemsize
        tensors[name] = np.ndarray(shape, dtypes[key], storages[key], offset * size, strides * size)
    return tensors


class _GraphBuilder:
    def __init__(self, weights: dict[str, Array]) -> None:
        self._weights = weights
        self._parts: list[bytes] = []
        self._zero, self._six = (self._constant(np.array(limit)) for limit in (0, 6))

    def build(self) -> bytes:
        weights = self._weights
        mean, scale = (self._constant(np.array(value)) for value in (127, 1 / 128))
        x = self._add("Mul", self._add("Sub", self._add("Cast", "pixels", to=FLOAT), mean), scale)
        x = self._convolution(self._add("Transpose", x, perm=(0, 3, 1, 2)), "_conv_stem", "_bn0", stride=2)
        inputs = len(weights["_conv_stem.weight"])
        for block, stride in enumerate(STRIDES):
            outputs = len(weights[f"_blocks.{block}._project_conv.weight"])
            y = self._block(x, f"_blocks.{block}", stride)
            x, inputs = self._add("Add", y, x) if stride == 1 and inputs == outputs else y, outputs
        x = self._convolution(x, "_conv_head", "_bn1")
        self._add("Flatten", self._add("GlobalAveragePool", x), output="features")
        matrix, bias = (self._constant(weights[f"_fc.{part}"]) for part in ("weight", "bias"))
        self._add("Gemm", "features", matrix, bias, output="logits", transB=1)
        self._parts += [
            _field(2, NAME),
            _field(11, _value("pixels", UINT8, "n", "height", "width", 3)),
            _field(12, _value("logits", FLOAT, "n", CLASSES)),
            _field(12, _value("features", FLOAT, "n", FEATURES)),
        ]
        return _field(1, IR_VERSION) + _field(7, b"".join(self._parts)) + _field(8, _field(2, OPSET))

    def _block(self, x: str, name: str, stride: int) -> str:
        if f"{name}._expand_conv.weight" in self._weights:
            x = self._convolution(x, f"{name}._expand_conv", f"{name}._bn0")
        x = self._convolution(x, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride)
        return self._convolution(x, f"{name}._project_conv", f"{name}._bn2", is_limited=False)

    def _convolution(self, x: str, name: str, norm: str, *, stride: int = 1, is_limited: bool = True) -> str:
        """A convolution with its batch norm, then the limits of ReLU6."""
        kernel = self._weights[f"{name}.weight"].astype(np.float64)
        gain, shift, mean, variance = (
            self._weights[f"{norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        factors = gain / np.sqrt(variance + EPSILON)
        folded = self._constant(kernel * factors[:, None, None, None])
        bias = self._constant(shift - mean * factors)
        side = kernel.shape[2]
        before, after = (side - stride) // 2, (side - stride + 1) // 2  # TensorFlow's "same", for sides divisible by it
        y = self._add(
            "Conv",
            x,
            folded,
            bias,
            kernel_shape=(side, side),
            strides=(stride, stride),
            pads=(before, before, after, after),
            group=len(kernel) if kernel.shape[1] == 1 else 1,  # by depth
        )
        return self._add("Clip", y, self._zero, self._six) if is_limited else y

    def _add(self, operator: str, *inputs: str, output: str = "", **attributes: int | Sequence[int]) -> str:
        """Add an operator and return the name of its output."""
        output = output or f"value{len(self._parts)}"
        node = b"".join(_field(1, name) for name in inputs) + _field(2, output) + _field(4, operator)
        for name, value in attributes.items():
            numbers = _field(3, value) if isinstance(value, int) else b"".join(_field(8, each) for each in value)
            node += _field(5, _field(1, name) + numbers + _field(20, INT if isinstance(value, int) else INTS))
        self._parts.append(_field(1, node))
        return output

    def _constant(self, values: Array) -> str:
        """Add a float32 tensor and return its name."""
        name = f"constant{len(self._parts)}"
        dims = b"".join(_field(1, size) for size in values.shape)
        data = _field(9, values.astype("<f4").tobytes())
        self._parts.append(_field(5, dims + _field(2, FLOAT) + _field(8, name) + data))
        return name


def _value(name: str, dtype: int, *axes: int | str) -> bytes:
    """An input or output; axes are sizes, or names of those that vary."""
    shape = b"".join(_field(1, _field(2 if isinstance(axis, str) else 1, axis)) for axis in axes)
    return _field(1, name) + _field(2, _field(1, _field(1, dtype) + _field(2, shape)))


def _field(number: int, content: int | str | bytes) -> bytes:
    """A field of a Protocol Buffers message: a number, or a length and as many bytes."""
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    data = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Seven bits per byte, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
