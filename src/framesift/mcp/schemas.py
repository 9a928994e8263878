"""JSON schemas of the tools from the functions themselves: signature, annotations and docstring; and their arguments.

A tool's docstring has a description, then "Args:" with one line per argument, as LangChain and smolagents read it.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, create_model

from framesift._utils.records import Seconds, read_value
from framesift.errors import InputError, OptionError

ToolFormat = Literal["mcp", "openai", "anthropic"]
_ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n     .+)*)", re.MULTILINE)


def _read_seconds(value: object, info: ValidationInfo) -> object:
    return read_value(Seconds, value, info.field_name or "time")


MOMENT = BeforeValidator(_read_seconds)  # seconds, also as text such as 2:05


@dataclass(frozen=True)
class ToolDefinition:
    """A tool: its name, what it does, and the JSON schemas of its arguments and of its structured output, if any."""

    name: str
    description: str
    parameters: dict[str, Any]
    output: dict[str, Any] | None

    def to_dict(self, form: ToolFormat = "mcp") -> dict[str, Any]:
        """The definition as the Chat Completions API, the Messages API or MCP takes it."""
        described = {"name": self.name, "description": self.description}
        if form == "openai":
            return {"type": "function", "function": {**described, "parameters": self.parameters}}
        if form == "anthropic":
            return {**described, "input_schema": self.parameters}
        return {**described, "inputSchema": self.parameters} | ({"outputSchema": self.output} if self.output else {})


@cache
def arguments_model(function: Callable[..., Any]) -> type[BaseModel]:
    """The arguments of a tool as a model."""
    hints = get_type_hints(function, include_extras=True)
    described = dict(_ARGUMENT.findall(inspect.cleandoc(function.__doc__ or "").partition("\n\nReturns:")[0]))
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name != "self":
            default = ... if parameter.default is parameter.empty else parameter.default
            # None is only a default: an argument is left out, or has a value.
            hint = next((kind for kind in get_args(hints[name]) if type(None) in get_args(hints[name])), hints[name])
            description = " ".join(described[name].split())
            fields[name] = (hint, Field(default, description=description))
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def define(function: Callable[..., Any], result: type | None) -> ToolDefinition:
    """The definition of a tool. result: the dataclass of what `Reply.structured` lists."""
    schema = {name: entry for name, entry in arguments_model(function).model_json_schema().items() if name != "title"}
    for entry in schema["properties"].values():
        del entry["title"]
        if entry.get("default", "") is None:
            del entry["default"]
    description = inspect.cleandoc(function.__doc__ or "").partition("\n\nArgs:\n")[0]
    fields: dict[str, Any] = {"message": (str, ...), "results": (list[result], ...)}  # type: ignore[valid-type]
    output = create_model(function.__name__, **fields).model_json_schema() if result else None
    return ToolDefinition(function.__name__, " ".join(description.split()), schema, output)


def read_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, checked; with defaults."""
    model = arguments_model(function)
    try:
        return dict(model.model_validate({name: value for name, value in arguments.items() if value is not None}))
    except ValidationError as errors:
        error = errors.errors(include_url=False)[0]
        tool, name = model.__name__, str(error["loc"][0])[:60]
        if error["type"] == "missing":
            raise OptionError(f"{tool} needs the argument {name}") from None
        if error["type"] == "extra_forbidden":
            known = ", ".join(model.model_fields) or "none"
            raise OptionError(f"{tool} has no argument {name!r}; expected {known}") from None
        if error["type"] == "value_error":
            raise InputError(str(error["ctx"]["error"])) from None
        raise InputError(
            f"{name} is {arguments[name]!r:.60}; {error['msg'].replace('Input should be', 'expected')}"
        ) from None
