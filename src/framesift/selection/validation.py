"""The kinds of options, and checks of budgets, option names and values; every error states what was expected."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Annotated, Any, get_args

import numpy as np

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


def check_value(name: str, value: Any, kind: Any) -> Any:
    """Return the value of an option, checked as its annotated type says; None where that is allowed."""
    if value is not None or type(None) not in get_args(kind):
        for part in (kind, *get_args(kind)):
            for check in getattr(part, "__metadata__", ()):
                return check(name, value)
    return value


def check_fields(record: Any) -> None:
    """Check the fields of a record whose types are kinds of options."""
    for field in fields(record):
        check_value(field.name, getattr(record, field.name), field.type)


def check_number(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a finite number in the closed range from `low` to `high`."""
    if _is_number(value) and math.isfinite(value) and low <= value <= high:
        return float(value)
    if math.isinf(low):
        expected = "a finite number"
    elif math.isinf(high):
        expected = f"a number of at least {low:g}"
    else:
        expected = f"a number from {low:g} to {high:g}"
    raise OptionError(f"{name} is {value!r}; expected {expected}")


def check_whole(name: str, value: Any, *, low: int = 0) -> int:
    """Return an int of at least `low`."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= low:
        return value
    raise OptionError(f"{name} is {value!r}; expected a whole number of at least {low}")


def check_choice(name: str, value: Any, *, choices: Sequence[str]) -> str:
    """Return one of the given strings."""
    if isinstance(value, str) and value in choices:
        return value
    raise OptionError(f"{name} is {value!r}; expected one of {', '.join(choice or 'nothing' for choice in choices)}")


def _check_positive(name: str, value: Any) -> float:
    if _is_number(value) and 0 < value < math.inf:
        return float(value)
    raise OptionError(f"{name} is {value!r}; expected a number above 0")


def _check_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise OptionError(f"{name} is {value!r}; expected True or False")


def _check_seed(name: str, value: Any) -> int | np.random.Generator:
    return value if isinstance(value, np.random.Generator) else check_whole(name, value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Kinds of options, each with its check: a selector's parameters have these types.
Finite = Annotated[float, check_number]
Amount = Annotated[float, partial(check_number, low=0)]
Share = Annotated[float, partial(check_number, low=0, high=1)]
Positive = Annotated[float, _check_positive]
Whole = Annotated[int, check_whole]
Count = Annotated[int, partial(check_whole, low=1)]
Flag = Annotated[bool, _check_flag]
Seed = Annotated[int | np.random.Generator, _check_seed]  # or the generator to draw from
