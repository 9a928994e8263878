"""MDP3: relevant and diverse frames by a determinantal point process, segment after segment.

Sun et al., "MDP3: A Training-free Approach for List-wise Frame Selection in Video-LLMs", ICCV 2025.
"""

from dataclasses import dataclass

import numpy as np

from framesift.selection.result_builders import add_to_trace, build_selection
from framesift.selection.selector import Selector
from framesift.selection.validation import check_positive
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array, dot_products

BANDWIDTHS = tuple(2.0**k for k in range(-3, 2))  # α of the Gaussian kernels that are summed
SEGMENT, LONG_SEGMENT, SMALL_BUDGET = 32, 128, 32

# A frame's conditional variance shrinks by subtraction, so its logarithm is only accurate to about this much; gains
# that differ by less are a tie, and a variance below the floor counts as that of a duplicate.
GAIN_TIE = 2.0**-24
VARIANCE_FLOOR = 2.0**-20


def mdp3(evidence: Evidence, budget: int, *, relevance_weight: float = 0.2) -> Selection:
    """Select the list of frames with the largest (2/λ)·Σ log k(query, frame) + log det K, greedily in each segment.

    Input: frame vectors and the query's. k(x, y) sums exp(−‖x − y‖² / 2α) over α = 2⁻³ … 2¹. Segments hold 32 frames,
    128 for budgets above 32; dynamic programming over (segment, frames used) finds the best total; a segment's greedy
    picks are conditioned on the last frame picked before it. Cost: O(N·(D + B)·segment).
    relevance_weight: λ; the smaller, the more relevance counts.

    Differs: not in the value; a segment without a pick passes on the last frame picked before it; ties go to the list
    with fewer frames in the later segment; a duplicate's determinant has a floor, so that any budget can be filled.
    """
    weight = check_positive("relevance_weight", relevance_weight)
    size = min(budget, len(evidence))
    rows = evidence.vectors.rows
    log_relevance = 2.0 / weight * np.log(kernel(dot_products(rows, evidence.query[None])[:, 0]))
    length = SEGMENT if budget <= SMALL_BUDGET else LONG_SEGMENT
    table = FrameCountTable(size)
    if size < len(rows):
        for start in range(0, len(rows), length):
            segment = rows[start : start + length].astype(np.float64)
            last = [int(k) for k in np.unique(table.last[table.last >= 0])]
            before = rows[last].astype(np.float64)
            inside, across = kernel(segment @ segment.T), kernel(before @ segment.T)
            table.extend(GreedyPicks(inside, across, log_relevance[start : start + length]), [-1, *last], start)
    indices = table.best() if size < len(rows) else list(range(len(rows)))
    selection = build_selection(evidence, budget, "mdp3", indices, "context", {"relevance_weight": weight})
    return add_to_trace(selection, value=float(table.value[size]) if size < len(rows) else None)


def kernel(cosines: Array) -> Array:
    """k of unit vectors from their cosines: ‖x − y‖² = 2 − 2·cosine."""
    distance = 1.0 - np.minimum(cosines, 1.0)
    # Each bandwidth is half the one above it, so its Gaussian is the square of that one's.
    power = np.exp(-distance / BANDWIDTHS[-1])
    total: Array = power.copy()
    for _ in BANDWIDTHS[1:]:
        power *= power
        total += power
    return total


class GreedyPicks:
    """Greedy picks in one segment, conditioned on each of several previous frames in parallel.

    One row per previous frame; the first row is for none. picks (U, K) and totals (U, K): the frame picked at each step
    and the value gained up to it. The gain of a step never exceeds that of the step before.
    """

    def __init__(self, inside: Array, across: Array, log_relevance: Array) -> None:
        """inside (S, S) and across (U − 1, S): the kernel within the segment, and with the previous frames."""
        self.inside, self.log_relevance = inside, log_relevance
        length = len(log_relevance)
        rows = len(across) + 1
        # Column k of the Cholesky factor for every candidate; the previous frame is column 0.
        self._factor = np.zeros((rows, length + 1, length))
        self._factor[1:, 0] = across / np.sqrt(len(BANDWIDTHS))
        self._variance = len(BANDWIDTHS) - self._factor[:, 0] ** 2
        self.picks = np.empty((rows, length), dtype=np.int64)
        self.gains = np.empty((rows, length))
        self.totals = np.zeros((rows, length + 1))
        self.steps = 0

    def step(self) -> None:
        """Pick one more frame in every row: the largest gain, the earlier of equal ones."""
        k, rows = self.steps, np.arange(len(self.picks))
        gain = self.log_relevance + np.log(np.maximum(self._variance, VARIANCE_FLOOR))
        np.put_along_axis(gain, self.picks[:, :k], -np.inf, axis=1)
        top = gain.max(axis=1)
        pick = (gain >= top[:, None] - GAIN_TIE).argmax(axis=1)
        self.picks[:, k], self.gains[:, k] = pick, gain[rows, pick]
        self.totals[:, k + 1] = self.totals[:, k] + self.gains[:, k]
        pivot = self._variance[rows, pick]
        columns = self._factor[:, : k + 1]
        overlap = (columns[rows, :, pick][:, None, :] @ columns)[:, 0]
        # A duplicate of a picked frame explains no further variance of the others.
        scale = np.where(pivot > VARIANCE_FLOOR, 1.0 / np.sqrt(np.maximum(pivot, VARIANCE_FLOOR)), 0.0)
        column = (self.inside[pick] - overlap) * scale[:, None]
        self._factor[:, k + 1] = column
        self._variance -= column**2
        self.steps += 1


@dataclass(frozen=True)
class BackPointer:
    """How a state of the table was reached: the pointer of the previous state and the frames picked since."""

    previous: "BackPointer | None"
    picks: tuple[int, ...]


class FrameCountTable:
    """Dynamic programming over segments: for each number of frames used, the best value and the frames that give it.

    value (size + 1,), last (size + 1,): the last frame picked, −1 for none.
    """

    def __init__(self, size: int) -> None:
        self.value = np.full(size + 1, -np.inf)
        self.value[0] = 0.0
        self.last = np.full(size + 1, -1)
        self._pointers: list[BackPointer | None] = [None] * (size + 1)

    def extend(self, greedy: GreedyPicks, conditions: list[int], start: int) -> None:
        """Add 0, 1, 2, … frames of the next segment, whose first frame is `start`, to every state."""
        row = np.searchsorted(conditions, self.last)
        value, came_from = self.value.copy(), np.arange(len(self.value))
        states = np.flatnonzero(np.isfinite(self.value))
        states = states[states < len(value) - 1]
        while greedy.steps < len(greedy.log_relevance) and len(states):
            greedy.step()
            step = greedy.steps
            sources = states[states + step < len(value)]
            reached = self.value[sources] + greedy.totals[row[sources], step]
            better = reached > value[sources + step] + GAIN_TIE
            improved = sources[better]
            value[improved + step], came_from[improved + step] = reached[better], improved
            states = self._promising(greedy, row, states, value)
        self._record(greedy, row, value, came_from, start)

    def _promising(self, greedy: GreedyPicks, row: Array, states: Array, value: Array) -> Array:
        """The states from which further steps could still improve a value, if each gained as much as the last one."""
        step = greedy.steps
        more = np.arange(1, len(greedy.log_relevance) - step + 1)
        target = states[:, None] + step + more
        gained = self.value[states] + greedy.totals[row[states], step]
        # A tie may go to a frame that gains slightly less than the best, so the next step may gain that much more.
        upper_bound = gained[:, None] + more * (greedy.gains[row[states], step - 1][:, None] + GAIN_TIE)
        inside = target < len(value)
        current = value[np.minimum(target, len(value) - 1)]
        promising: Array = states[(inside & (upper_bound > current)).any(axis=1)]
        return promising

    def _record(self, greedy: GreedyPicks, row: Array, value: Array, came_from: Array, start: int) -> None:
        pointers, last = list(self._pointers), self.last.copy()
        for used in np.flatnonzero(came_from != np.arange(len(value))).tolist():
            state = int(came_from[used])
            picks = tuple((start + greedy.picks[row[state], : used - state]).tolist())
            pointers[used], last[used] = BackPointer(self._pointers[state], picks), picks[-1]
        self.value, self.last, self._pointers = value, last, pointers

    def best(self) -> list[int]:
        """The frames of the best list of full size, in the order of the segments, within each as picked."""
        parts = []
        pointer = self._pointers[-1]
        while pointer is not None:
            parts.append(pointer.picks)
            pointer = pointer.previous
        return [index for picks in reversed(parts) for index in picks]


SELECTOR = Selector.of(
    "mdp3",
    mdp3,
    "relevant and diverse by a determinantal point process",
    paper="Sun et al., ICCV 2025",
    needs=("vectors",),
)
