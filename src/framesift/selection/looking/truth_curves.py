"""HiMu's logic on curves over time: a tree of conditions becomes the degree to which each frame satisfies them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from framesift._utils.optional import require
from framesift.types.vectors import Array

OPERATORS = ("AND", "OR", "SEQ", "RIGHT_AFTER")
MAX_LEAVES, MAX_DEPTH = 64, 12
LOW, HIGH = 0.5, 1.0  # range of each operand, so that depth does not suppress a branch
DECAY_PER_S = 2.0  # of RIGHT_AFTER
STEEPNESS, SMALL = 3.0, 1e-6  # of the sigmoid in `normalise`; added to the deviation
SMALLEST_RANGE = 1e-8
SMALL_BUDGET = 8  # below it, the largest values alone are selected
PROMINENCE, LEAST_PROMINENCE, HALVINGS = 0.01, 1e-6, 5


@dataclass(frozen=True)
class Leaf:
    """One condition: which stream is searched for what."""

    expert: str
    query: str


@dataclass(frozen=True)
class Branch:
    """Conditions joined by an operator."""

    operator: str
    children: "tuple[Leaf | Branch, ...]"


Tree = Leaf | Branch


def read_tree(value: object, experts: Sequence[str], depth: int = 0) -> Tree | None:
    """The tree of a JSON value {"op", "children"} or {"op": "LEAF", "expert", "query"}; None if it is none.

    Leaves of other experts are left out, with the branches that become empty; a branch of one child is that child.
    RIGHT_AFTER with more than two children is nested from the right.
    """
    if not isinstance(value, Mapping) or depth > MAX_DEPTH:
        return None
    if value.get("op") == "LEAF":
        expert, query = value.get("expert"), value.get("query")
        if expert in experts and isinstance(query, str) and query.strip():
            return Leaf(str(expert), query.strip())
        return None
    rows = value.get("children")
    if value.get("op") not in OPERATORS or not isinstance(rows, list):
        return None
    children = [child for row in rows[:MAX_LEAVES] if (child := read_tree(row, experts, depth + 1)) is not None]
    if not children:
        return None
    if value["op"] == "RIGHT_AFTER" and len(children) > 2:
        pairs = reduce(
            lambda later, earlier: Branch("RIGHT_AFTER", (earlier, later)), reversed(children[:-1]), children[-1]
        )
        return pairs
    return children[0] if len(children) == 1 else Branch(value["op"], tuple(children))


def leaves_of(tree: Tree) -> Iterator[Leaf]:
    """Yield the leaves from left to right."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for child in tree.children:
            yield from leaves_of(child)


def show_tree(tree: Tree) -> str:
    """The tree on one line, for a trace."""
    if isinstance(tree, Leaf):
        return f"{tree.expert}({tree.query})"
    return f"{tree.operator}({', '.join(map(show_tree, tree.children))})"


def evaluate(tree: Tree, curves: Mapping[Leaf, Array], rate: float) -> Array:
    """(N,) the degree to which each frame satisfies the tree. rate: frames per second."""
    if isinstance(tree, Leaf):
        return curves[tree]
    operands = [_rescale(evaluate(child, curves, rate)) for child in tree.children]
    if tree.operator == "AND":
        return reduce(np.multiply, operands)
    if tree.operator == "OR":
        return reduce(lambda a, b: a + b - a * b, operands)
    return in_order(operands) if tree.operator == "SEQ" else right_after(operands[0], operands[1], rate)


def _rescale(curve: Array) -> Array:
    low, high = float(curve.min()), float(curve.max())
    if high - low <= SMALLEST_RANGE:
        return np.full(len(curve), (LOW + HIGH) / 2)
    return LOW + (HIGH - LOW) * (curve - low) / (high - low)


def in_order(curves: Sequence[Array]) -> Array:
    """Each curve where all before it were high earlier and all after it will be later; the largest of these counts."""
    earlier = [np.concatenate(([0.0], np.maximum.accumulate(c)[:-1])) for c in curves]
    later = [np.concatenate((np.maximum.accumulate(c[::-1])[::-1][1:], [0.0])) for c in curves]
    gated = [reduce(np.multiply, [*earlier[:k], *later[k + 1 :]], curve) for k, curve in enumerate(curves)]
    largest: Array = np.max([*gated, np.zeros(len(curves[0]))], axis=0)
    return largest


def right_after(cause: Array, effect: Array, rate: float) -> Array:
    """The effect where the cause was high shortly before, or the cause where the effect will be shortly after."""
    step = math.exp(-DECAY_PER_S / rate)
    before = _decayed_sum(cause, step)
    after = _decayed_sum(effect[::-1], step)[::-1]
    either: Array = np.maximum(effect * before, cause * after)
    return either


def _decayed_sum(curve: Array, step: float) -> Array:
    """(N,) the sum over earlier positions of their value × step^distance."""
    sums = np.zeros(len(curve))
    for k in range(1, len(curve)):
        sums[k] = step * (sums[k - 1] + curve[k - 1])
    return sums


def normalise(curves: Sequence[Array]) -> list[Array]:
    """Each curve as sigmoid(3 × (value − median) / median deviation), with the median of all of them together."""
    together = np.concatenate(curves)
    median = np.median(together)
    deviation = np.median(np.abs(together - median)) + SMALL
    return [1 / (1 + np.exp(-np.clip(STEEPNESS * (curve - median) / deviation, -50, 50))) for curve in curves]


def smooth(curve: Array, sigma: float) -> Array:
    """A Gaussian of `sigma` frames, cut off at 4 sigma; the ends are continued."""
    radius = int(4 * sigma + 0.5)
    if radius < 1:
        return curve
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    smoothed: Array = np.convolve(np.pad(curve, radius, mode="edge"), kernel / kernel.sum(), mode="valid")
    return smoothed


def peaks_and_neighbours(curve: Array, size: int, rate: float) -> list[int]:
    """√size peaks at least √size s apart, the best frames around each, then the largest of the rest."""
    largest: list[int] = np.argsort(-curve, kind="stable").tolist()
    if size < SMALL_BUDGET:
        return largest[:size]
    root = math.sqrt(size)
    peaks = _find_peaks(curve, distance=max(1, int(root * rate)))
    ranked = sorted(peaks, key=lambda i: -curve[i]) or largest
    picked = ranked[: int(root)]
    reach, extra = max(1, int(root / 2 * rate)), max(0, int(root / 2) - 1)
    for peak in tuple(picked):
        around = [i for i in range(max(0, peak - reach), min(len(curve), peak + reach + 1)) if i not in picked]
        picked += sorted(around, key=lambda i: -curve[i])[: min(extra, size - len(picked))]
    taken = set(picked)
    return picked + [i for i in largest if i not in taken][: size - len(picked)]


def _find_peaks(curve: Array, distance: int) -> list[int]:
    """Peaks of a hundredth of the range, or of half that, …; none of a flat curve."""
    find = require("scipy.signal", "peers").find_peaks
    prominence = max(LEAST_PROMINENCE, PROMINENCE * float(curve.max() - curve.min()))
    for _ in range(HALVINGS):
        peaks: list[int] = find(curve, distance=distance, prominence=prominence)[0].tolist()
        if peaks:
            return peaks
        prominence /= 2
    return []
