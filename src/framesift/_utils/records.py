"""Records read from files, checked against the types of their fields.

`read_record(Slot, value, "selection.json")` builds a dataclass from JSON values, `read_value(tuple[Seconds, ...], …)` a
value, `read_field` one field of a row. What does not fit is an InputError that names the field, what was got and what
was expected. Unknown keys are ignored. Numbers are finite, texts have no lone surrogates; `Any` is any JSON value of
such numbers and texts.
"""

import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from framesift._utils.text import has_lone_surrogates, printable
from framesift.errors import InputError

RecordClass = TypeVar("RecordClass")
REQUIRED: Any = object()
MAX_DEPTH = 64  # of nested JSON values: a tenth of what Python's own functions can take
_LARGEST_WHOLE = 2**63 - 1  # of NumPy's and Parquet's integers
_LARGEST_SECONDS = 1e12  # above, adding an offset loses the fraction
_CLOCK = re.compile(r"(?:(?:([0-9]+):)?([0-9]+):)?([0-9]+(?:[.,][0-9]+)?)")

# Kinds of fields that Python has no type for.
Seconds = Annotated[float, "seconds"]  # a number, "12.5", "1:02" or "1:02:03.5"
Name = Annotated[str, "name"]  # a text or a whole number, as a text
Label = Annotated[str, "label"]  # a text, a number, true or false, as a text
FilePath = Annotated[str, "path"]  # may hold the escaped bytes of a file name that is not UTF-8


def read_value(kind: Any, value: Any, location: str) -> Any:
    """Check a value against a type and return it; lists become tuples. location: starts the message."""
    try:
        return _parser(kind)(value)
    except _Mismatch as mismatch:
        raise mismatch.error(location) from None
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
    text = ascii(value) if isinstance(value, str) and has_lone_surrogates(value) else _quoted(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def listed(names: Iterable[Any]) -> str:
    """Names from a file as a message lists them: at most 20, each shortened."""
    short = [printable(str(name))[:40] for name in islice(names, 21)]
    return ", ".join([*short[:20], *["…"] * (len(short) > 20)]) or "nothing"


def _quoted(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 256:  # Python rejects printing the longest
        return f"a number of {value.bit_length()} bits"
    return printable(repr(value))


class _Mismatch(Exception):
    """A value that does not fit, and the path to it from where reading began."""

    def __init__(self, value: Any, expected: str) -> None:
        self.value, self.expected, self.path = value, expected, ""

    def below(self, step: str) -> "_Mismatch":
        self.path = step + self.path
        return self

    def error(self, location: str) -> InputError:
        separator = ": " if self.path and not self.path.startswith("[") else ""
        place = f"{location}{separator}{self.path.removeprefix('.')}"
        got = "is missing" if self.value is REQUIRED else f"is {shown(self.value)}"
        return InputError(f"{place} {got}; expected {self.expected}")


@cache
def _parser(kind: Any) -> Callable[[Any], Any]:
    """The function that checks values of a type."""
    if kind in _PARSERS:
        return _PARSERS[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple and arguments[-1] is Ellipsis:
        return partial(_parse_list, _parser(arguments[0]))
    if origin is tuple:
        return partial(_parse_tuple, tuple(_parser(argument) for argument in arguments))
    if origin is list:
        return lambda value: list(_parse_list(_parser(arguments[0]), value))
    if origin in (dict, Mapping):
        return partial(_parse_mapping, _parser(arguments[1]))
    if origin is Literal:
        return partial(_parse_literal, arguments)
    if origin in (Union, types.UnionType):
        return partial(
            _parse_union, tuple(_parser(a) for a in arguments if a is not type(None)), type(None) in arguments
        )
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        known = [f for f in fields(kind) if f.init]
        required = {f.name for f in known if f.default is MISSING and f.default_factory is MISSING}
        return partial(_parse_record, kind, {f.name: _parser(hints[f.name]) for f in known}, required)
    raise TypeError(f"values of {kind} can't be read from a file")


def _parse_record(kind: Any, parsers: Mapping[str, Callable[[Any], Any]], required: set[str], value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _Mismatch(value, f"an object with {', '.join(parsers)}")
    values = {}
    for name, parse in parsers.items():
        if name in value:
            try:
                values[name] = parse(value[name])
            except _Mismatch as mismatch:
                raise mismatch.below(f".{name}") from None
        elif name in required:
            raise _Mismatch(REQUIRED, "a value for it").below(f".{name}")
    return kind(**values)


def _parse_list(parse: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _Mismatch(value, "a list")
    return _parse_items((parse,) * len(value), value)


def _parse_tuple(parsers: tuple[Callable[[Any], Any], ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or len(value) != len(parsers):
        raise _Mismatch(value, f"a list of {len(parsers)}")
    return _parse_items(parsers, value)


def _parse_items(parsers: Iterable[Callable[[Any], Any]], values: Iterable[Any]) -> tuple[Any, ...]:
    items: list[Any] = []
    try:
        for parse, value in zip(parsers, values, strict=True):
            items.append(parse(value))
    except _Mismatch as mismatch:
        raise mismatch.below(f"[{len(items)}]") from None
    return tuple(items)


def _parse_mapping(parse: Callable[[Any], Any], value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise _Mismatch(value, "an object")
    items = {}
    for key, item in value.items():
        try:
            items[_parse_text(key)] = parse(item)
        except _Mismatch as mismatch:
            raise mismatch.below(f".{printable(ascii(key))[1:41]}".rstrip("'")) from None
    return items


def _parse_union(parsers: Iterable[Callable[[Any], Any]], has_none: bool, value: Any) -> Any:
    if value is None and has_none:
        return None
    mismatches = []
    for parse in parsers:
        try:
            return parse(value)
        except _Mismatch as mismatch:
            mismatches.append(mismatch)
    if len(mismatches) == 1:
        raise mismatches[0]
    raise _Mismatch(value, " or ".join(mismatch.expected for mismatch in mismatches))


def _parse_literal(choices: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, str | int) or value not in choices:
        raise _Mismatch(value, f"one of {', '.join(map(str, choices))}")
    return value


def _parse_text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Mismatch(value, "a text")
    if has_lone_surrogates(value):
        raise _Mismatch(value, "a text without lone surrogates (half of a character)")
    return value


def _parse_name(value: Any) -> str:
    if isinstance(value, str):
        return _parse_text(value)
    try:
        return str(_parse_whole(value))
    except _Mismatch:
        raise _Mismatch(value, "a text or a whole number") from None


def _parse_label(value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise _Mismatch(value, "a text or a number")
    return str(_parse_json(value))


def _parse_path(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Mismatch(value, "a path")
    if "\0" in value:
        raise _Mismatch(value, "a path without NUL characters")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _Mismatch(value, "a path without lone surrogates (half of a character)") from None
    return value


def _parse_number(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:
            pass
    raise _Mismatch(value, "a finite number")


def _parse_whole(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST_WHOLE:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:  # as JavaScript may write it
        return int(value)
    raise _Mismatch(value, "a whole number")


def _parse_seconds(value: Any) -> float:
    expected = "seconds, or a time such as 1:02 or 1:02:03.5"
    seconds: float | None = None
    if isinstance(value, str):
        if clock := _CLOCK.fullmatch(value.strip()):
            hours, minutes, rest = clock.groups()
            if max(len(hours or ""), len(minutes or ""), len(rest)) <= 20:
                seconds = 3600.0 * int(hours or 0) + 60.0 * int(minutes or 0) + float(rest.replace(",", "."))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    if seconds is None or not abs(seconds) <= _LARGEST_SECONDS:  # also rejects NaN
        raise _Mismatch(value, expected)
    return float(seconds)


def _parse_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Mismatch(value, "true or false")
    return value


def _parse_json(value: Any, depth: int = MAX_DEPTH) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, int | float):
        return value if isinstance(value, int) and abs(value) <= _LARGEST_WHOLE else _parse_number(value)
    if depth == 0:
        raise _Mismatch(value, f"at most {MAX_DEPTH} levels of lists and objects")
    parse = partial(_parse_json, depth=depth - 1)
    if isinstance(value, Mapping):
        return _parse_mapping(parse, value)
    if isinstance(value, list | tuple):
        return list(_parse_list(parse, value))
    raise _Mismatch(value, "a JSON value")


_PARSERS: dict[Any, Callable[[Any], Any]] = {
    str: _parse_text,
    float: _parse_number,
    int: _parse_whole,
    bool: _parse_flag,
    Any: _parse_json,
    Seconds: _parse_seconds,
    Name: _parse_name,
    Label: _parse_label,
    FilePath: _parse_path,
}
