"""JSON for people and programs alike."""

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from framesift._utils.text import readable


def json_text(value: Any) -> str:
    """JSON for people and programs: indented, but a list of plain values stays on one line."""
    return readable(_written(value, "\n")) + "\n"


def _written(value: Any, newline: str) -> str:
    if isinstance(value, Mapping) and value:
        inner = newline + "  "
        rows = (f"{json.dumps(str(k), ensure_ascii=False)}: {_written(v, inner)}" for k, v in value.items())
        return "{" + inner + ("," + inner).join(rows) + newline + "}"
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping | list | tuple) for item in value):
        inner = newline + "  "
        return "[" + inner + ("," + inner).join(_written(item, inner) for item in value) + newline + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def value_of(text: str) -> Any:
    """A number, a fraction such as 1/8, true, false, null, or the text itself."""
    if re.fullmatch(r"\d+/[1-9]\d*", text):
        return float(Fraction(text))
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, int | float | bool | str | None) else text
