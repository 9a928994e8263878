"""Uniform: evenly spaced frames, by each of the field's conventions."""

import numpy as np

from framesift.errors import OptionError
from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_trace
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array

CONVENTIONS = ("centres", "ends", "interior")


def uniform(evidence: Evidence, budget: int, *, convention: str = "centres") -> Selection:
    """Evenly spaced frames.

    convention: "centres", the middle of each of B equal bins; "ends", first and last frame included (lmms-eval's
    linspace); "interior", the inner points of B + 1 equal steps (VLMEvalKit).
    """
    if convention not in CONVENTIONS:
        raise OptionError(f"convention is {convention!r}; expected one of {', '.join(CONVENTIONS)}")
    chosen = evenly_spaced(len(evidence), min(budget, len(evidence)), convention)
    selection = selection_of(evidence, budget, "uniform", chosen, "context", {"convention": convention})
    return with_trace(selection, looked_at=0)


def evenly_spaced(count: int, size: int, convention: str = "centres") -> Array:
    """`size` ≤ `count` distinct indices out of `count`, ascending."""
    place = np.arange(size)
    if size == count:
        return place
    if convention == "ends":
        return np.linspace(0, count - 1, size).astype(int)
    if convention == "interior":
        return (place + 1) * count // (size + 1)
    return (2 * place + 1) * count // (2 * size)


SELECTOR = Selector("uniform", uniform, "evenly spaced frames, blind to the question", {"convention": "centres"})
