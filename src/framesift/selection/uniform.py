"""Uniform: evenly spaced frames, by each of the common conventions."""

import numpy as np

from framesift.selection.result_builders import build_selection
from framesift.selection.selector import Selector
from framesift.selection.validation import check_choice
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array

CONVENTIONS = ("centres", "ends", "interior")


def uniform(evidence: Evidence, budget: int, *, convention: str = "centres") -> Selection:
    """Select evenly spaced frames.

    convention: "centres", the middle of each of B equal bins; "ends", first and last frame included (lmms-eval's
    linspace); "interior", the inner points of B + 1 equal steps (VLMEvalKit).
    """
    convention = check_choice("convention", convention, CONVENTIONS)
    indices = evenly_spaced(len(evidence), min(budget, len(evidence)), convention)
    return build_selection(evidence, indices, "context", looked_at=0)


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


SELECTOR = Selector("uniform", uniform, "evenly spaced frames, independent of the question", {"convention": "centres"})
