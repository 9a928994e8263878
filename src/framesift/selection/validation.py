"""The values of options: each checked where a selector takes it, with an error that says what was expected."""

import math
from collections.abc import Sequence

from framesift.errors import OptionError


def check_number(name: str, value: object, *, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number from `low` to `high`, both allowed."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and low <= value <= high:
        return float(value)
    if math.isinf(low):
        span = "a finite number"
    elif math.isinf(high):
        span = f"a number of at least {low:g}"
    else:
        span = f"a number from {low:g} to {high:g}"
    raise OptionError(f"{name} is {value!r}; expected {span}")


def check_positive(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise OptionError(f"{name} is {value!r}; expected a number above 0")


def check_whole(name: str, value: object, *, low: int = 0) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= low:
        return value
    raise OptionError(f"{name} is {value!r}; expected a whole number of at least {low}")


def check_choice(name: str, value: object, known: Sequence[str]) -> str:
    if isinstance(value, str) and value in known:
        return value
    raise OptionError(f"{name} is {value!r}; expected one of {', '.join(known)}")
