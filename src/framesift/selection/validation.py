"""Validation of budgets, option names and option values; every error states what was expected."""

import math
import operator
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from framesift._utils.credentials import check_reader_address
from framesift._utils.records import shown
from framesift._utils.text import suggestion
from framesift.errors import BudgetError, OptionError


def check_budget(budget: int) -> int:
    """Return the budget as an int: anything integral of at least 1, NumPy integers included."""
    try:
        whole = operator.index(budget)
    except TypeError:
        whole = 0
    if whole < 1 or isinstance(budget, bool):
        raise BudgetError(f"budget is {budget!r}; expected a whole number of at least 1")
    return whole


def check_options(method: str, given: Mapping[str, object], known: Mapping[str, object]) -> None:
    """Reject option names a selector does not have, and addresses with credentials. known: names with defaults."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        listing = ", ".join(f"{name} = {default!r}" for name, default in known.items())
        expected = f"its options are {listing}" if listing else "it has none"
        raise OptionError(f"{method} has no option {shown(unknown[0])}; {suggestion(unknown[0], known, expected)}")
    for value in given.values():
        if isinstance(value, str) and "://" in value:
            check_reader_address(value)


def check_number(name: str, value: object, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number in the closed range from `low` to `high`."""
    if is_number(value) and math.isfinite(value) and low <= value <= high:
        return float(value)
    if math.isinf(low):
        expected = "a finite number"
    elif math.isinf(high):
        expected = f"a number of at least {low:g}"
    else:
        expected = f"a number from {low:g} to {high:g}"
    raise OptionError(f"{name} is {value!r}; expected {expected}")


def check_positive(name: str, value: object) -> float:
    """Return a finite number above 0."""
    if is_number(value) and 0 < value < math.inf:
        return float(value)
    raise OptionError(f"{name} is {value!r}; expected a number above 0")


def check_whole(name: str, value: object, *, low: int = 0) -> int:
    """Return an int of at least `low`."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= low:
        return value
    raise OptionError(f"{name} is {value!r}; expected a whole number of at least {low}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return one of the given strings."""
    if isinstance(value, str) and value in choices:
        return value
    raise OptionError(f"{name} is {value!r}; expected one of {', '.join(choices)}")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether the value is an int or a float, bool excluded."""
    return isinstance(value, int | float) and not isinstance(value, bool)
