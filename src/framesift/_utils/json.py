"""JSON output, and values given as text."""

import json
import re
from fractions import Fraction
from typing import Any

from framesift._utils.text import readable


def dump_json(value: Any) -> str:
    """Indented JSON that ends with a newline. NaN and infinities raise ValueError; lone surrogates become \ufffd."""
    return readable(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def parse_scalar(text: str) -> Any:
    """Parse a number, a fraction such as 1/8, true, false or null; anything else stays text."""
    if re.fullmatch(r"\d+/[1-9]\d*", text):
        return float(Fraction(text))
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return value if isinstance(value, int | float | bool | str | None) else text
