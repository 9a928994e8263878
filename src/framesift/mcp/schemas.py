"""JSON schemas of the tools from the functions themselves: signature, annotations and docstring; and their arguments.

A tool's docstring has a description, then "Args:" with one line per argument, as LangChain and smolagents read it.
"""

import inspect
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from framesift._utils.records import Seconds, read_value
from framesift.errors import InputError, OptionError

ToolFormat = Literal["mcp", "openai", "anthropic"]
TOOL_FORMATS: tuple[ToolFormat, ...] = get_args(ToolFormat)
_ARGUMENT = re.compile(r"\s*(\w+): (.+)")
_JSON_TYPES: dict[Any, str] = {str: "string", int: "integer", float: "number"}


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest value of a number, or the most items of a list."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class ToolDefinition:
    """A tool: its name, what it does, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]

    def to_dict(self, form: ToolFormat = "mcp") -> dict[str, Any]:
        """The definition as the Chat Completions API, the Messages API or MCP takes it."""
        described = {"name": self.name, "description": self.description}
        if form == "openai":
            return {"type": "function", "function": {**described, "parameters": self.parameters}}
        return {**described, "input_schema" if form == "anthropic" else "inputSchema": self.parameters}


def define(
    function: Callable[..., Any], *, annotations: Mapping[str, Any], defaults: Mapping[str, Any]
) -> ToolDefinition:
    """The definition of a tool. annotations, defaults: by argument, in place of the function's own."""
    description, _, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\nArgs:\n")
    described = _read_descriptions(rest)
    hints = {**get_type_hints(function, include_extras=True), **annotations}
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        properties[name] = {**_schema(hints[name]), "description": described[name]}
        default = defaults.get(name, parameter.default)
        if default is parameter.empty:
            required.append(name)
        elif default is not None:
            properties[name]["default"] = default
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    return ToolDefinition(function.__name__, " ".join(description.split()), schema)


def read_arguments(
    function: Callable[..., Any], arguments: Mapping[str, Any], *, annotations: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call, checked against the function's annotations; times may also be text such as 2:05.

    annotations: by argument, in place of the function's own.
    """
    hints = {**get_type_hints(function, include_extras=True), **annotations}
    known = [name for name in inspect.signature(function).parameters if name != "self"]
    unknown = [name for name in arguments if name not in known]
    if unknown:
        expected = ", ".join(known) or "none"
        raise OptionError(f"{function.__name__} has no argument {str(unknown[0])[:60]!r}; expected {expected}")
    values = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self" or (arguments.get(name) is None and parameter.default is not parameter.empty):
            continue
        if name not in arguments:
            raise OptionError(f"{function.__name__} needs the argument {name}")
        values[name] = _read(hints[name], arguments[name], name)
    return values


def _read(hint: Any, value: Any, name: str) -> Any:
    kind, bounds = _kind(hint)
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)  # JavaScript has one type of number
    if get_origin(kind) is list:
        values = list(read_value(tuple[Seconds, ...], value, name))
        if bounds.most is not None and not 1 <= len(values) <= bounds.most:
            raise InputError(f"{name} has {len(values)} values; expected 1 to {bounds.most:g}")
        return values
    read = read_value(Seconds if kind is float else kind, value, name)
    least, most = bounds.least, bounds.most
    if (least is not None and read < least) or (most is not None and read > most):
        expected = f"{least:g} to {most:g}" if least is not None and most is not None else f"at least {least:g}"
        raise InputError(f"{name} is {read}; expected {expected}")
    return read


def _schema(hint: Any) -> dict[str, Any]:
    kind, bounds = _kind(hint)
    if get_origin(kind) is list:
        return {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": bounds.most}
    if get_origin(kind) is Literal:
        return {"type": "string", "enum": list(get_args(kind))}
    schema: dict[str, Any] = {"type": _JSON_TYPES[kind]}
    schema |= {"minimum": bounds.least} if bounds.least is not None else {}
    return schema | ({"maximum": bounds.most} if bounds.most is not None else {})


def _kind(hint: Any) -> tuple[Any, Bounds]:
    """The type of an argument without `| None`, and its bounds."""
    bounds = Bounds()
    if get_origin(hint) is Annotated:
        hint, bounds = get_args(hint)[:2]
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
        return _kind(hint) if bounds == Bounds() else (hint, bounds)
    return hint, bounds


def _read_descriptions(text: str) -> dict[str, str]:
    """The lines under "Args:" by argument; a deeper line continues the one before."""
    described: dict[str, str] = {}
    name = ""
    for line in text.partition("\n\n")[0].splitlines():
        is_new = line.startswith("    ") and not line.startswith("     ")
        if is_new and (match := _ARGUMENT.fullmatch(line)):
            name = match[1]
            described[name] = match[2]
        elif name:
            described[name] += f" {line.strip()}"
    return described
