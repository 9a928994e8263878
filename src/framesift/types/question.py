"""What is asked, and how much it asks of the pictures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from framesift.errors import InputError

# "(a)(c)(b)" is an order of events, not option A.
_LETTER = re.compile(r"^\s*[(\[]?([A-Za-z])[)\].:、](?![(\[])\s*")
_NOT_AN_OPTION = {"", "n/a", "na", "none given"}


@dataclass(frozen=True)
class Question:
    """A question's stem and, where there are any, its answer options."""

    text: str
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.options, str):
            raise InputError(f"options is the text {self.options[:40]!r}; expected a list of options")
        object.__setattr__(self, "options", tuple(self.options))
        if not self.text.strip():
            raise InputError("the question is empty; say what you want to know")

    @property
    def choices(self) -> dict[int, str]:
        """The options by their position, without their letters; empty ones and "N/A" left out.

        Letters go only when every option has the one of its own place, so "U.S. Navy" keeps its U.
        """
        kept = {k: o.strip() for k, o in enumerate(self.options) if o.strip().lower() not in _NOT_AN_OPTION}
        marks = {k: _LETTER.match(text) for k, text in kept.items()}
        if all(mark and ord(mark.group(1).upper()) == ord("A") + k for k, mark in marks.items()):
            kept = {k: _LETTER.sub("", text) for k, text in kept.items()}
        return {k: text for k, text in kept.items() if text.lower() not in _NOT_AN_OPTION}

    @property
    def valid_options(self) -> tuple[str, ...]:
        """The options that can be chosen, in their order."""
        return tuple(self.choices.values())

    @property
    def query_text(self) -> str:
        """What the text encoder reads: the stem, then all valid options."""
        return " ".join((self.text.strip(), *self.valid_options))


class VisualDemand(float):
    """d_q in [0, 1], with the words of the question that decided it. A float wherever a float is wanted."""

    kind: str
    cues: tuple[str, ...]

    def __new__(cls, value: float, kind: str = "given", cues: Sequence[str] = ()) -> "VisualDemand":
        demand = super().__new__(cls, value)
        demand.kind = kind
        demand.cues = tuple(cues)
        return demand

    def __reduce__(self) -> tuple[type["VisualDemand"], tuple[float, str, tuple[str, ...]]]:
        return type(self), (float(self), self.kind, self.cues)
