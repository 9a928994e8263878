"""Records of settings: each setting is declared once, with its default, its help, its flag and its check."""

from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from typing import Any, TypeVar

from framesift._utils.records import read_value, shown
from framesift._utils.text import suggestion
from framesift.errors import InputError, OptionError

Default = TypeVar("Default")

_SIMPLE = (str, bool, int, str | None, int | None)


def setting(default: Default, description: str, **argument: Any) -> Default:
    """Declare a setting: its default, what it is, and what argparse needs to read it from a flag."""
    value = field(default=default, metadata={"help": description, "argument": argument})
    return value


def check_names(given: Iterable[str], *records: type) -> None:
    """Reject the name of a setting that none of these records has, and suggest one that they have."""
    known = [declared.name for record in records for declared in fields(record)]
    for name in given:
        if name not in known:
            raise OptionError(f"there is no setting {shown(name)}; {suggestion(name, known)}")


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Reject what is not a whole number of at least `least`; None stands for no number."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise OptionError(f"{name} is {shown(value)}; expected a whole number of at least {least}")


def check_settings(record: Any) -> None:
    """Reject a value of a record that is not of its setting's type, or not among its choices."""
    for declared in fields(record):
        name, value = declared.name, getattr(record, declared.name)
        choices = declared.metadata.get("argument", {}).get("choices")
        if choices is not None and value not in choices:
            raise OptionError(f"{name} is {shown(value)}; {suggestion(str(value), choices)}")
        try:
            if declared.type in _SIMPLE:
                read_value(declared.type, value, name)
        except InputError as error:
            raise OptionError(str(error)) from None
        if declared.type == Mapping[str, Any]:
            if not isinstance(value, Mapping):
                raise OptionError(f"{name} is {shown(value)}; expected names and values")
            object.__setattr__(record, name, dict(value))
