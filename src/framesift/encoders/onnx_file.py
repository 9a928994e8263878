"""ONNX files without the onnx package: a graph of a few operators is written, tensors are read.

The format is Protocol Buffers: fields of (number, kind), where kind 0 is a varint, 1 and 5 are 8 and 4 bytes, and 2 is
a length and as many bytes. The numbers below are those of onnx.proto.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from framesift.errors import InputError
from framesift.types.vectors import Array

IR_VERSION, OPSET = 9, 17
TYPES: dict[int, np.dtype[Any]] = {  # TensorProto.DataType
    1: np.dtype("<f4"),
    2: np.dtype("u1"),
    3: np.dtype("i1"),
    7: np.dtype("<i8"),
    9: np.dtype("bool"),
}
CODES = {dtype: code for code, dtype in TYPES.items()}
INT, INTS = 2, 7  # AttributeProto.AttributeType

Attribute: TypeAlias = int | Sequence[int]
Axis: TypeAlias = int | str  # a size, or the name of one that varies


class Graph:
    """A graph under construction: operators in the order in which they are computed, and their constants."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._parts: list[bytes] = []
        self._values = 0

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Attribute) -> str:
        """Add an operator and return the name of its output."""
        self._values += 1
        output = output or f"value{self._values}"
        node = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, operator)
        self._parts.append(_field(1, node + b"".join(_attribute(*item) for item in attributes.items())))
        return output

    def constant(self, values: Array) -> str:
        """Add a tensor and return its name."""
        self._values += 1
        name = f"constant{self._values}"
        dims = b"".join(_number(1, size) for size in values.shape)
        dtype = values.dtype.newbyteorder("<")
        data = values.astype(dtype, order="C", copy=False).tobytes()
        tensor = dims + _number(2, CODES[dtype]) + _text(8, name) + _field(9, data)
        self._parts.append(_field(5, tensor))
        return name

    def input(self, name: str, dtype: type, *axes: Axis) -> str:
        self._parts.append(_field(11, _value(name, dtype, axes)))
        return name

    def output(self, name: str, dtype: type, *axes: Axis) -> None:
        self._parts.append(_field(12, _value(name, dtype, axes)))

    def to_bytes(self) -> bytes:
        """The content of the file."""
        graph = b"".join(self._parts) + _text(2, self.name)
        return _number(1, IR_VERSION) + _text(2, "framesift") + _field(7, graph) + _field(8, _number(2, OPSET))


def read_tensors(path: Path) -> dict[str, Array]:
    """The constants of a graph by name, in the file's order, read from the disk as they are used.

    InputError if it is another kind of file.
    """
    try:
        model = np.memmap(path, np.uint8, mode="r").data
        graph = next(content for number, content in _fields(model) if number == 7)
        return dict(_tensor(content) for number, content in _fields(graph) if number == 5)
    except (ValueError, KeyError, IndexError, TypeError, StopIteration):
        raise InputError(f"{path} is not an ONNX file with its tensors inside; install its package again") from None


def _tensor(data: memoryview) -> tuple[str, Array]:
    dims: list[int] = []
    fields: dict[int, Any] = {}
    for number, content in _fields(data):
        if number != 1:
            fields[number] = content
        elif isinstance(content, int):
            dims.append(content)
        else:  # packed
            start = 0
            while start < len(content):
                size, start = _varint(content, start)
                dims.append(size)
    return bytes(fields[8]).decode(), np.frombuffer(fields[9], TYPES[fields[2]]).reshape(dims)


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield the number of each field of a message, and its content: an integer or a view."""
    start = 0
    while start < len(data):
        key, start = _varint(data, start)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, start = _varint(data, start)
            yield number, value
            continue
        length = {1: 8, 5: 4}.get(kind)
        if length is None:
            if kind != 2:
                raise ValueError(f"a field of kind {kind}")
            length, start = _varint(data, start)
        if start + length > len(data):
            raise ValueError("a field is longer than its message")
        yield number, data[start : start + length]
        start += length


def _varint(data: memoryview, start: int) -> tuple[int, int]:
    """The number at `start`, and the position after it."""
    value = 0
    for count in range(10):
        byte = data[start + count]
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, start + count + 1
    raise ValueError("a number is too long")


def _value(name: str, dtype: type, axes: Sequence[Axis]) -> bytes:
    shape = b"".join(_field(1, _text(2, axis) if isinstance(axis, str) else _number(1, axis)) for axis in axes)
    tensor = _number(1, CODES[np.dtype(dtype)]) + _field(2, shape)
    return _text(1, name) + _field(2, _field(1, tensor))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return _field(5, _text(1, name) + _number(3, value) + _number(20, INT))
    return _field(5, _text(1, name) + b"".join(_number(8, each) for each in value) + _number(20, INTS))


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    return _encode(number << 3 | 2) + _encode(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _encode(number << 3) + _encode(value)


def _encode(value: int) -> bytes:
    """A varint: seven bits per byte, the lowest first."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
