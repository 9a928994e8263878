"""Tensors of a file that `torch.save` wrote before version 1.6, read without torch and without unpickling.

Such a file is five pickles (magic number, protocol, byte order, the tensors' layout, the keys of the storages), then
the storages. The opcodes of the pickles are interpreted here: those that build numbers, texts, tuples, lists and
dictionaries, and the four names below. Anything else is an error; nothing in the file is imported or called.
"""

import math
import pickletools
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from framesift.errors import InputError
from framesift.types.vectors import Array

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
COUNT_BYTES = 8  # the number of elements before each storage, little-endian

_DICTIONARY, _TENSOR, _MARK = object(), object(), object()
_NAMES = {
    "collections OrderedDict": _DICTIONARY,
    "torch._utils _rebuild_tensor_v2": _TENSOR,
    "torch FloatStorage": np.dtype("<f4"),
    "torch LongStorage": np.dtype("<i8"),
}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_VALUES = ("BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1")
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Storage(NamedTuple):
    key: str
    dtype: np.dtype[Any]
    size: int  # in elements


class _TensorView(NamedTuple):
    """A tensor: where in its storage its elements are. strides: in elements."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_tensors(path: Path) -> dict[str, Array]:
    """The tensors of the file by name; InputError if it has anything else."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path} is not a file of tensors alone as torch writes it ({error}); install its package again"
        ) from None


def _read(file: BinaryIO) -> dict[str, Array]:
    if _interpret(file) != MAGIC or _interpret(file) != PROTOCOL or _interpret(file)["little_endian"] is not True:
        raise ValueError("its header is another one")
    layouts = _interpret(file)
    storages: dict[str, Array] = {}
    expected = {layout.storage.key: layout.storage for layout in layouts.values()}
    for key in _interpret(file):
        storage = expected[key]
        if int.from_bytes(file.read(COUNT_BYTES), "little") != storage.size:
            raise ValueError(f"the storage {key!r} has another size than its tensors")
        data = file.read(storage.size * storage.dtype.itemsize)
        storages[key] = np.frombuffer(data, storage.dtype, storage.size)
    return {name: _tensor(layout, storages[layout.storage.key]) for name, layout in layouts.items()}


def _tensor(layout: _TensorView, elements: Array) -> Array:
    shape, strides = layout.shape, layout.strides
    last = layout.offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if min(layout.offset, *shape, *strides, 0) < 0 or last >= len(elements) or math.prod(shape) > len(elements):
        raise ValueError(f"a tensor of shape {shape} is outside its storage")
    steps = tuple(stride * elements.itemsize for stride in strides)
    return np.lib.stride_tricks.as_strided(elements[layout.offset :], shape, steps, writeable=False)


def _interpret(file: BinaryIO) -> Any:
    """The value of the pickle at the current position of the file, which is left after it."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    for opcode, argument, position in pickletools.genops(file):
        name = opcode.name
        if name in _VALUES:
            stack.append(argument)
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[_integer(argument)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[_integer(argument)])
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "EMPTY_DICT":
            stack.append({})
        elif name == "EMPTY_LIST":
            stack.append([])
        elif name in _TUPLES:
            stack.append(tuple(stack.pop() for _ in range(_TUPLES[name]))[::-1])
        elif name == "TUPLE":
            stack.append(tuple(_to_mark(stack)))
        elif name == "APPENDS":
            values = _to_mark(stack)
            stack[-1].extend(values)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            stack[-1][key] = value
        elif name == "SETITEMS":
            values = _to_mark(stack)
            stack[-1].update(zip(values[::2], values[1::2], strict=True))
        elif name == "GLOBAL":
            stack.append(_NAMES[str(argument)])
        elif name == "BINPERSID":
            stack.append(_storage(*stack.pop()))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            stack.append(_call(function, arguments))
        elif name == "BUILD":
            stack.pop()  # attributes of the dictionary, such as the versions of its modules
        elif name == "STOP":
            return stack.pop()
        elif name != "PROTO":
            raise ValueError(f"opcode {name} at byte {position}")
    raise ValueError("a pickle has no end")


def _to_mark(stack: list[Any]) -> list[Any]:
    """Remove the last mark and what is above it, and return that."""
    values: list[Any] = []
    while (value := stack.pop()) is not _MARK:
        values.append(value)
    return values[::-1]


def _call(function: object, arguments: tuple[Any, ...]) -> Any:
    if function is _DICTIONARY and arguments == ():
        return {}
    if function is not _TENSOR:
        raise ValueError("a call of something other than a tensor")
    storage, offset, shape, strides = arguments[:4]  # then whether it is trained, and its hooks
    if not isinstance(storage, _Storage):
        raise ValueError("a tensor without a storage")
    return _TensorView(storage, _integer(offset), tuple(map(_integer, shape)), tuple(map(_integer, strides)))


def _storage(kind: object, dtype: object, key: object, _device: object, count: object, view: object) -> _Storage:
    if kind != "storage" or not isinstance(dtype, np.dtype) or not isinstance(key, str) or view is not None:
        raise ValueError("a reference to something other than a storage")
    return _Storage(key, dtype, _integer(count))


def _integer(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} where an integer is expected")
    return value
