"""JSON input and output, and values given as text."""

import hashlib
import json
import re
from fractions import Fraction
from typing import Any

from framesift._utils.text import readable
from framesift.errors import InputError

DIGEST = "digest"


def dump_json(value: Any) -> str:
    """Indented JSON that ends with a newline. NaN and infinities raise ValueError; lone surrogates become \ufffd."""
    return readable(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def load_json(content: str | bytes, name: str, expected: str) -> Any:
    """Parse JSON of any origin; InputError, with the name of the source and what was expected, if it is not."""
    try:
        return json.loads(content if isinstance(content, str) else content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except RecursionError:
        reason = "is nested too deeply"
    except ValueError as error:  # also a whole number of more than 4300 digits
        reason = f"is not JSON ({str(error).partition(';')[0]})"
    raise InputError(f"{name} {reason}; expected {expected}")


def with_digest(record: dict[str, Any]) -> dict[str, Any]:
    """The record and a digest of it, so that damage to it is noticed."""
    return {**record, DIGEST: _digest(record)}


def check_digest(record: dict[str, Any], name: str) -> None:
    """Raise InputError if a record is not the one that was written."""
    if record.get(DIGEST) != _digest(record):
        raise InputError(f"{name} does not match its digest; expected it as it was written")


def _digest(record: dict[str, Any]) -> str:
    rest = {key: value for key, value in record.items() if key != DIGEST}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def parse_scalar(text: str) -> Any:
    """Parse a number, a fraction such as 1/8, true, false or null; anything else stays text."""
    if re.fullmatch(r"\d+/[1-9]\d*", text):
        return float(Fraction(text))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float | bool | str | None) else text
