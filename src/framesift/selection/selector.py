"""The record that describes a selector: its function, its options, what it needs and where it was published."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from framesift.selection.explainer import Explainer
from framesift.types import Basis, Evidence, Selection
from framesift.types.lookup import GIVEN_PARTS, Lookup

DEFAULT_METHOD = "sift"

# Inputs a selector can need beyond the relevance of each frame, with the description `framesift selectors` prints.
NEEDS = {
    "vectors": "the frames' vectors",
    "events": "timestamped text",
    "words": "the words that the question shares with that text",
    "demand": "the question's visual demand",
    "pictures": "the decoded frames",
    "detector": "an open-vocabulary detector",
    "objects": "the objects a question names",
    "model": "a model on an OpenAI-type server",
    "network": "trained weights of its own",
    "peers": "pip install 'framesift[peers]'",
}


@dataclass(frozen=True)
class Selector:
    """A registered selector: `run` calls its function with the options, whose defaults are listed.

    paper: where it was published. needs: keys of NEEDS, the inputs it uses beyond the relevance of each frame.
    gives_text: it decides which frames carry text, so that no other frame gets any. explainer: gives the reasons.
    problem: why it can't be used; only a selector of another package may have one.
    """

    name: str
    function: Callable[..., Selection]
    summary: str
    options: Mapping[str, object]
    paper: str = ""
    needs: tuple[str, ...] = ()
    takes_lookup: bool = False
    gives_text: bool = False
    explainer: Callable[[Selection, Basis], Explainer] = Explainer
    problem: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        function: Callable[..., Selection],
        summary: str,
        *,
        paper: str = "",
        needs: tuple[str, ...] = (),
        parts: tuple[str, ...] = (),
    ) -> "Selector":
        """Describe a function `(evidence, budget, *, option=default, …) → Selection`; its signature has the options.

        A parameter `lookup` gets a Lookup; parts: those of it that can be given as options.
        """
        parameters = inspect.signature(function).parameters.values()
        options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        takes_lookup = "lookup" in options
        options.pop("lookup", None)
        return cls(name, function, summary, dict.fromkeys(parts) | options, paper, needs, takes_lookup)

    def run(self, evidence: Evidence, budget: int, *, lookup: Lookup | None = None, **options: Any) -> Selection:
        """The function's selection; its trace records the options and how many candidates there were."""
        passed = dict(options)
        if self.takes_lookup:
            parts = {part: passed.pop(part) for part in GIVEN_PARTS if part in passed}
            given = {part: value for part, value in parts.items() if value is not None}
            passed["lookup"] = replace(lookup or Lookup(), method=self.name, **given)
            options |= {part: getattr(passed["lookup"], part) for part in GIVEN_PARTS if part in self.options}
        selection = self.function(evidence, budget, **passed)
        count = len(evidence)
        recorded = {name: _recorded(value) for name, value in {**self.options, **options}.items()}
        trace = {"candidates": count, "duration_s": evidence.length_s, "options": recorded, "looked_at": count}
        if len(selection) == count < budget:
            trace["note"] = (
                f"there are {count} candidates for a budget of {budget}: all are selected"
                if count > 1
                else f"there is one candidate for a budget of {budget}: it is selected"
            )
        return replace(selection, method=self.name, budget=budget, trace={**trace, **selection.trace})


def _recorded(value: object) -> object:
    """An option in a trace; an object by its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): _recorded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_recorded(item) for item in value]
    return str(getattr(value, "name", getattr(value, "__name__", type(value).__name__)))


Method = str | Selector | Callable[..., Selection]  # a name of `selectors()`, or the selector itself
