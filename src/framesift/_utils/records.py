"""Records read from files, checked against the types of their fields.

`read_record(Slot, value, "selection.json")` builds a dataclass from JSON values, `read_value(tuple[Seconds, ...], …)` a
value, `read_field` one field of a row. What does not fit is an InputError that names the field, what was got and what
was expected. Unknown keys are ignored. Numbers are finite, texts have no lone surrogates; `Any` is any JSON value of
such numbers and texts.
"""

import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from framesift._utils.text import has_lone_surrogates, printable, shortened
from framesift.errors import InputError

RecordClass = TypeVar("RecordClass")
ValueParser = Callable[[Any, str], Any]
REQUIRED: Any = object()
NONE = "nothing"
MAX_DEPTH = 64  # of nested JSON values: a tenth of what Python's own functions can take
_LARGEST_WHOLE = 2**63 - 1  # of NumPy's and Parquet's integers
_LARGEST_SECONDS = 1e12  # above, adding an offset loses the fraction
_CLOCK = re.compile(r"(?:(?:([0-9]+):)?([0-9]+):)?([0-9]+(?:[.,][0-9]+)?)")

# Kinds of fields that Python has no type for.
Seconds = Annotated[float, "seconds"]  # a number, "12.5", "1:02" or "1:02:03.5"
Name = Annotated[str, "name"]  # a text, a number, true or false, as a text
FilePath = Annotated[str, "path"]  # may hold the escaped bytes of a file name that is not UTF-8


def read_value(kind: Any, value: Any, location: str) -> Any:
    """Check a value against a type and return it; lists become tuples. location: starts the message."""
    try:
        return _parser(kind)(value, "")
    except _Mismatch as mismatch:
        separator = ": " if mismatch.path.startswith(".") else ""
        got = "is missing" if mismatch.value is REQUIRED else f"is {shown(mismatch.value)}"
        place = f"{location}{separator}{mismatch.path.removeprefix('.')}"
        raise InputError(f"{place} {got}; expected {mismatch.expected}") from None
    except InputError as error:  # of the record itself: its fields contradict each other
        raise InputError(f"{location}: {error}") from None


def read_record(kind: type[RecordClass], value: Any, location: str) -> RecordClass:
    """Build a dataclass from a mapping with its fields, each checked against its type."""
    record: RecordClass = read_value(kind, value, location)
    return record


def read_field(row: Mapping[str, Any], name: str, kind: Any, location: str, default: Any = REQUIRED) -> Any:
    """Read one field of a row. Without it, or if it is None or empty text, the default; an error if there is none."""
    value = row.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        if default is REQUIRED:
            raise InputError(f"{location} has no {name!r}; it has {listed(row)}")
        return default
    return read_value(kind, value, f"{location}: {name}")


def first_value(row: Mapping[Any, Any], names: Iterable[str]) -> Any:
    """The value under the first of these names that a row has, in capitals or not; None without any."""
    lowered = {key.strip().lower(): key for key in row if isinstance(key, str)}
    return next((row[lowered[name]] for name in names if name in lowered), None)


def shown(value: Any) -> str:
    """A value as a message quotes it: on one line, at most 60 characters."""
    if isinstance(value, Mapping | list | tuple):
        noun = "an object" if isinstance(value, Mapping) else "a list"
        return f"{noun} of {len(value)}" if value else f"an empty {noun.split()[1]}"
    if isinstance(value, int) and value.bit_length() > 256:  # Python rejects printing the longest
        return f"a number of {value.bit_length()} bits"
    text = ascii(value) if isinstance(value, str) and has_lone_surrogates(value) else printable(repr(value))
    return shortened(text, 60)


def listed(names: Iterable[Any]) -> str:
    """Names from a file as a message lists them: at most 20, each shortened."""
    short = [printable(str(name))[:40] for name in islice(names, 21)]
    return ", ".join([*short[:20], *["…"] * (len(short) > 20)]) or "nothing"


class _Mismatch(Exception):
    """A value that does not fit, what was expected, and the path to it from where reading began."""

    def __init__(self, path: str, value: Any, expected: str) -> None:
        self.path, self.value, self.expected = path, value, expected


@cache
def _parser(kind: Any) -> ValueParser:
    """The function that checks a value of a type, given the path to it."""
    if kind in _PARSERS:
        return _PARSERS[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:  # of one type
        return partial(_parse_tuple, _parser(arguments[0]), None if arguments[-1] is Ellipsis else len(arguments))
    if origin is list:
        return lambda value, path: list(_parse_tuple(_parser(arguments[0]), None, value, path))
    if origin in (dict, Mapping):
        return partial(_parse_mapping, _parser(arguments[1]))
    if origin is Literal:
        return partial(_parse_literal, arguments)
    if origin in (Union, types.UnionType):
        return partial(_parse_union, tuple(map(_parser, arguments)))
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        known = [f for f in fields(kind) if f.init]
        required = [f.name for f in known if f.default is MISSING and f.default_factory is MISSING]
        return partial(_parse_record, kind, {f.name: _parser(hints[f.name]) for f in known}, required)
    raise TypeError(f"values of {kind} can't be read from a file")


def _parse_record(kind: Any, parsers: Mapping[str, ValueParser], required: list[str], value: Any, path: str) -> Any:
    if not isinstance(value, Mapping):
        raise _Mismatch(path, value, f"an object with {', '.join(parsers)}")
    for name in required:
        if name not in value:
            raise _Mismatch(f"{path}.{name}", REQUIRED, "a value for it")
    return kind(**{name: parse(value[name], f"{path}.{name}") for name, parse in parsers.items() if name in value})


def _parse_tuple(parse: ValueParser, count: int | None, value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or count not in (None, len(value)):
        raise _Mismatch(path, value, "a list" if count is None else f"a list of {count}")
    return tuple(parse(item, f"{path}[{k}]") for k, item in enumerate(value))


def _parse_mapping(parse: ValueParser, value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _Mismatch(path, value, "an object")
    return {_parse_text(key, path): parse(item, f"{path}.{printable(key)[:40]}") for key, item in value.items()}


def _parse_union(parsers: Sequence[ValueParser], value: Any, path: str) -> Any:
    mismatches = []
    for parse in parsers:
        try:
            return parse(value, path)
        except _Mismatch as mismatch:
            mismatches.append(mismatch)
    expected = [mismatch.expected for mismatch in mismatches if mismatch.expected != NONE]
    raise mismatches[0] if len(expected) == 1 else _Mismatch(path, value, " or ".join(expected))


def _parse_literal(choices: tuple[Any, ...], value: Any, path: str) -> Any:
    if not isinstance(value, str | int) or value not in choices:
        raise _Mismatch(path, value, f"one of {', '.join(map(str, choices))}")
    return value


def _parse_none(value: Any, path: str) -> None:
    if value is not None:
        raise _Mismatch(path, value, NONE)


def _parse_text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _Mismatch(path, value, "a text")
    if has_lone_surrogates(value):
        raise _Mismatch(path, value, "a text without lone surrogates (half of a character)")
    return value


def _parse_name(value: Any, path: str) -> str:
    if isinstance(value, float) and value.is_integer():  # as JavaScript may write a whole number
        value = int(value)
    if not isinstance(value, str | int | float):
        raise _Mismatch(path, value, "a text or a number")
    return str(_parse_json(value, path))


def _parse_path(value: Any, path: str) -> str:
    try:
        if isinstance(value, str) and value.strip() and "\0" not in value and os.fsencode(value):
            return value
    except UnicodeEncodeError:  # half of a character, not an escaped byte of a file name
        pass
    raise _Mismatch(path, value, "a path")


def _parse_number(value: Any, path: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return float(value)
    raise _Mismatch(path, value, "a finite number")


def _parse_whole(value: Any, path: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST_WHOLE:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:  # as JavaScript may write it
        return int(value)
    raise _Mismatch(path, value, "a whole number")


def _parse_seconds(value: Any, path: str) -> float:
    seconds = value
    if isinstance(value, str) and (clock := _CLOCK.fullmatch(value.strip())):
        hours, minutes, rest = clock.groups("0")
        seconds = 3600.0 * float(hours) + 60.0 * float(minutes) + float(rest.replace(",", "."))
    if isinstance(seconds, int | float) and not isinstance(value, bool) and abs(seconds) <= _LARGEST_SECONDS:
        return float(seconds)
    raise _Mismatch(path, value, "seconds, or a time such as 1:02 or 1:02:03.5")


def _parse_flag(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise _Mismatch(path, value, "true or false")
    return value


def _parse_json(value: Any, path: str, depth: int = MAX_DEPTH) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _parse_text(value, path)
    if isinstance(value, int | float):
        return value if isinstance(value, int) and abs(value) <= _LARGEST_WHOLE else _parse_number(value, path)
    if depth == 0:
        raise _Mismatch(path, value, f"at most {MAX_DEPTH} levels of lists and objects")
    parse = partial(_parse_json, depth=depth - 1)
    if isinstance(value, Mapping):
        return _parse_mapping(parse, value, path)
    if isinstance(value, list | tuple):
        return list(_parse_tuple(parse, None, value, path))
    raise _Mismatch(path, value, "a JSON value")


_PARSERS: dict[Any, ValueParser] = {
    str: _parse_text,
    float: _parse_number,
    int: _parse_whole,
    bool: _parse_flag,
    type(None): _parse_none,
    Any: _parse_json,
    Seconds: _parse_seconds,
    Name: _parse_name,
    FilePath: _parse_path,
}
