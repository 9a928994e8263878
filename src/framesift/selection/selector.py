"""The record that describes a selector: its function, its options, what it needs and where it was published.

One of this package is a function with the decorator `selector`. Those that users write, and plug-ins of other packages,
are described by `from_function` and `from_plugin`; what they return is checked. The types of the parameters are the
kinds of options at the end of this file, each with its check; every error states what was expected.
"""

import inspect
import json
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Annotated, Any, get_args

import numpy as np

from framesift._utils.credentials import check_reader_address
from framesift._utils.plugins import Plugin
from framesift._utils.records import shown
from framesift._utils.text import suggestion
from framesift.errors import BudgetError, FramesiftError, InputError, OptionError
from framesift.selection.explainer import Explainer
from framesift.selection.trace import to_json
from framesift.types import Basis, Evidence, Lookup, Selection

DEFAULT_METHOD = "sift"
EXPECTED = "a function (evidence, budget, *, option=default, …) that returns a Selection"

# Inputs a selector can need beyond the relevance of each frame, with the description `framesift selectors` prints.
NEEDS = {
    "vectors": "the frames' vectors",
    "events": "timestamped text",
    "words": "the words that the question shares with that text",
    "demand": "the question's visual demand",
    "frames": "the decoded frames",
    "detector": "an open-vocabulary detector",
    "objects": "the objects a question names",
    "model": "a model on an OpenAI-type server",
    "network": "trained weights of its own",
    "peers": "pip install 'framesift[peers]'",
}

Function = Callable[..., Selection]


@dataclass(frozen=True)
class Selector:
    """A method that selects frames: a function `(evidence, budget, *, option=default, …)` and what is known of it.

    Attributes:
        name: What to pass as `method`.
        function: A parameter `lookup` gets a `framesift.types.Lookup`.
        summary: A line of description.
        paper: Where it was published.
        needs: The inputs it uses beyond the relevance of each frame.
        parts: Of the lookup, those that can be given as options.
        config: A record whose fields are the options, passed as `config`.
        gives_text: Whether it decides which frames carry text, so that no other frame gets any.
        explainer: Gives the reasons.
        is_built_in: Whether it comes with this package.
        package: That of a plug-in.
        problem: Why it can't be used.

    Example:
        >>> import framesift as fs
        >>> fs.selectors()["topk"].name
        'topk'
    """

    name: str
    function: Function
    summary: str
    paper: str = ""
    needs: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    config: type | None = None
    gives_text: bool = False
    explainer: Callable[[Selection, Basis], Explainer] = Explainer
    is_built_in: bool = False
    package: str = ""
    problem: str = ""

    @cached_property
    def _declared(self) -> list[inspect.Parameter]:
        """The options of the function or config, and the lookup."""
        parameters = inspect.signature(self.config or self.function).parameters.values()
        return [p for p in parameters if self.config or p.kind is p.KEYWORD_ONLY]

    @cached_property
    def _kinds(self) -> dict[str, object]:
        return {option.name: option.annotation for option in self._declared}

    @property
    def takes_lookup(self) -> bool:
        return "lookup" in self._kinds

    @cached_property
    def options(self) -> dict[str, object]:
        """Each option with its default."""
        defaults = {option.name: option.default for option in self._declared if option.name != "lookup"}
        return {**dict.fromkeys(self.parts), **defaults}

    def run(self, evidence: Evidence, budget: int, *, lookup: Lookup | None = None, **options: Any) -> Selection:
        """The function's selection; its trace records the options and how many candidates there were."""
        passed = {name: check_value(name, value, self._kinds.get(name)) for name, value in options.items()}
        if self.takes_lookup:
            given = {part: value for part in self.parts if (value := passed.pop(part, None)) is not None}
            passed["lookup"] = lookup = replace(lookup or Lookup(), method=self.name, **given)
            options |= {part: getattr(lookup, part) for part in self.parts}
        if self.config is not None:
            passed = {"config": self.config(**passed)}
        selection = self.function(evidence, budget, **passed)
        if not self.is_built_in:
            selection = _check_result(selection, self.name, evidence, budget)
        count = len(evidence)
        recorded = {name: _recorded(value) for name, value in {**self.options, **options}.items()}
        trace = {"candidates": count, "duration_s": evidence.length_s, "options": recorded, "looked_at": count}
        if len(selection) == count < budget:
            candidates, verb = (f"are {count} candidates", "all are") if count > 1 else ("is one candidate", "it is")
            trace["note"] = f"there {candidates} for a budget of {budget}: {verb} selected"
        return replace(selection, method=self.name, budget=budget, trace={**trace, **to_json(selection.trace)})


Method = str | Selector | Function  # a name of `selectors()`, or the selector itself


def selector(summary: str, **described: Any) -> Callable[[Function], Selector]:
    """Make a function of this package the selector of its name, with hyphens. described: fields of `Selector`."""
    return lambda function: Selector(
        function.__name__.replace("_", "-"), function, summary, is_built_in=True, **described
    )


def from_function(function: Function, name: str = "") -> Selector:
    """Describe a function as a selector, by its own name unless another is given."""
    inner = function.func if isinstance(function, partial) else function
    name = name or str(getattr(inner, "__name__", type(inner).__name__)).strip("<>")
    try:
        inspect.signature(function).bind(None, None)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} can't be called with an evidence and a budget ({error}); expected {EXPECTED}"
        ) from None
    return Selector(name, function, (inspect.getdoc(inner) or name).splitlines()[0])


def from_plugin(plugin: Plugin) -> Selector:
    """The selector of another package; one that can't be used has a `problem`."""
    try:
        return replace(from_function(plugin.load(EXPECTED), plugin.name), package=plugin.package)
    except FramesiftError as error:
        return Selector(plugin.name, lambda *_: Selection((), "", 0), f"can't be used: {error}", problem=str(error))


def _check_result(selection: Any, name: str, evidence: Evidence, budget: int) -> Selection:
    """Return the selection with plain numbers; raise InputError if it does not fit this evidence."""
    if not isinstance(selection, Selection):
        raise InputError(f"{name} returned a {type(selection).__name__}; expected a Selection")
    indices = [int(index) for index in selection.indices]
    most = min(budget, len(evidence))
    valid = set(indices).intersection(range(len(evidence)))
    if not 1 <= len(indices) == len(valid) <= most:
        expected = f"expected 1 to {most} different indices from 0 to {len(evidence) - 1}"
        raise InputError(f"{name} selected the frames {indices[:20]}; {expected}")
    try:
        json.dumps(dict(selection.trace), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"the trace of {name} can't be written ({error}); expected JSON values") from None
    slots = tuple(
        replace(slot, index=index, time_s=float(evidence.times_s[index]), relevance=float(slot.relevance))
        for slot, index in zip(selection.slots, indices, strict=True)
    )
    return replace(selection, slots=slots)


def _recorded(value: object) -> object:
    """An option in a trace; an object by its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): _recorded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_recorded(item) for item in value]
    return str(getattr(value, "name", getattr(value, "__name__", type(value).__name__)))


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


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    expected: str = "a number of at least {:g}",
) -> float:
    """Return a finite number in the closed range from `low` to `high`."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and low <= value <= high:
        return float(value)
    raise OptionError(f"{name} is {value!r}; expected {expected.format(low)}")


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


def _check_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise OptionError(f"{name} is {value!r}; expected True or False")


def _check_seed(name: str, value: Any) -> int | np.random.Generator:
    return value if isinstance(value, np.random.Generator) else check_whole(name, value)


# Kinds of options, each with its check: a selector's parameters have these types.
Finite = Annotated[float, partial(check_number, expected="a finite number")]
Amount = Annotated[float, partial(check_number, low=0)]
Share = Annotated[float, partial(check_number, low=0, high=1, expected="a number from 0 to 1")]
Positive = Annotated[float, partial(check_number, low=math.ulp(0), expected="a number above 0")]
Whole = Annotated[int, check_whole]
Count = Annotated[int, partial(check_whole, low=1)]
Flag = Annotated[bool, _check_flag]
Seed = Annotated[int | np.random.Generator, _check_seed]  # or the generator to draw from
