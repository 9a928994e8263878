"""MDP3: diverse and relevant frames by a determinantal point process, segment after segment.

Sun et al., "MDP3: A Training-free Approach for List-wise Frame Selection in Video-LLMs", ICCV 2025.
"""

from dataclasses import dataclass

import numpy as np

from framesift.selection.registry import Selector
from framesift.selection.result_builders import selection_of, with_trace
from framesift.selection.validation import check_positive
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array, row_products

BANDWIDTHS = tuple(2.0**k for k in range(-3, 2))  # α of the Gaussian kernels that are summed
SEGMENT, LONG_SEGMENT, SMALL_BUDGET = 32, 128, 32

# What is left of a frame once others are known shrinks by subtraction, so its logarithm is only known to about
# this much; frames that differ by less are a tie, and a remainder below the floor is taken for a duplicate.
GAIN_TIE = 2.0**-24
FLOOR = 2.0**-20


def mdp3(evidence: Evidence, budget: int, *, relevance_weight: float = 0.2) -> Selection:
    """The list of frames with the largest (2/λ)·Σ log k(query, frame) + log det K, found greedily in each segment.

    Input: frame vectors and the query's. k(x, y) sums exp(−‖x − y‖² / 2α) over α = 2⁻³ … 2¹. Segments hold 32 frames,
    128 for budgets above 32; dynamic programming over (segment, frames used) finds the best total; a segment's greedy
    choice is conditioned on the last frame picked before it. Cost: O(N·(D + B)·segment).
    relevance_weight: λ; the smaller, the more relevance counts.

    Differs: nothing in the value; a segment that gives no frame passes on the last one picked before it; ties go to the
    choice with fewer frames in the later segment; a duplicate's determinant has a floor, so that any budget can be met.
    """
    weight = check_positive("relevance_weight", relevance_weight)
    size = min(budget, len(evidence))
    rows = evidence.vectors.rows
    appeal = 2.0 / weight * np.log(kernel(row_products(rows, evidence.query[None])[:, 0]))
    length = SEGMENT if budget <= SMALL_BUDGET else LONG_SEGMENT
    table = Table(size)
    if size < len(rows):
        for start in range(0, len(rows), length):
            block = rows[start : start + length].astype(np.float64)
            last = [int(k) for k in np.unique(table.last[table.last >= 0])]
            before = rows[last].astype(np.float64)
            inside, across = kernel(block @ block.T), kernel(before @ block.T)
            table.extend(Greedy(inside, across, appeal[start : start + length]), [-1, *last], start)
    chosen = table.best() if size < len(rows) else list(range(len(rows)))
    selection = selection_of(evidence, budget, "mdp3", chosen, "context", {"relevance_weight": weight})
    return with_trace(selection, value=float(table.value[size]) if size < len(rows) else None)


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


class Greedy:
    """Greedy picks in one segment, for several frames that may stand before it at once.

    One row per such frame; the first row stands for none. picks (U, K) and totals (U, K): the frame picked at each step
    and the value gained up to it. The gain of a step never exceeds that of the step before.
    """

    def __init__(self, inside: Array, across: Array, appeal: Array) -> None:
        """inside (S, S) and across (U − 1, S): the kernel among the segment's frames, and with those before it."""
        self.inside, self.appeal = inside, appeal
        most = len(appeal)
        rows = len(across) + 1
        # Column k of the Cholesky factor for every candidate; the frame before the segment is column 0.
        self._factor = np.zeros((rows, most + 1, most))
        self._factor[1:, 0] = across / np.sqrt(len(BANDWIDTHS))
        self._left = len(BANDWIDTHS) - self._factor[:, 0] ** 2
        self.picks = np.empty((rows, most), dtype=np.int64)
        self.gains = np.empty((rows, most))
        self.totals = np.zeros((rows, most + 1))
        self.steps = 0

    def step(self) -> None:
        """Pick one more frame in every row: the largest gain, the earlier of equals."""
        k, rows = self.steps, np.arange(len(self.picks))
        gain = self.appeal + np.log(np.maximum(self._left, FLOOR))
        np.put_along_axis(gain, self.picks[:, :k], -np.inf, axis=1)
        top = gain.max(axis=1)
        pick = (gain >= top[:, None] - GAIN_TIE).argmax(axis=1)
        self.picks[:, k], self.gains[:, k] = pick, gain[rows, pick]
        self.totals[:, k + 1] = self.totals[:, k] + self.gains[:, k]
        pivot = self._left[rows, pick]
        known = self._factor[:, : k + 1]
        overlap = (known[rows, :, pick][:, None, :] @ known)[:, 0]
        # A duplicate of what is chosen explains nothing more of the others.
        scale = np.where(pivot > FLOOR, 1.0 / np.sqrt(np.maximum(pivot, FLOOR)), 0.0)
        column = (self.inside[pick] - overlap) * scale[:, None]
        self._factor[:, k + 1] = column
        self._left -= column**2
        self.steps += 1


@dataclass(frozen=True)
class Move:
    """How a state of the table was reached: the state it came from and the frames picked on the way."""

    before: "Move | None"
    picks: tuple[int, ...]


class Table:
    """Dynamic programming over segments: for each number of frames used, the best value and how it was reached.

    value (size + 1,), last (size + 1,): the last frame picked, −1 for none.
    """

    def __init__(self, size: int) -> None:
        self.value = np.full(size + 1, -np.inf)
        self.value[0] = 0.0
        self.last = np.full(size + 1, -1)
        self._moves: list[Move | None] = [None] * (size + 1)

    def extend(self, greedy: Greedy, conditions: list[int], start: int) -> None:
        """Let the next segment, whose first frame is `start`, give 0, 1, 2, … frames to every state."""
        row = np.searchsorted(conditions, self.last)
        value, came_from = self.value.copy(), np.arange(len(self.value))
        states = np.flatnonzero(np.isfinite(self.value))
        states = states[states < len(value) - 1]
        while greedy.steps < len(greedy.appeal) and len(states):
            greedy.step()
            step = greedy.steps
            reach = states[states + step < len(value)]
            reached = self.value[reach] + greedy.totals[row[reach], step]
            better = reached > value[reach + step] + GAIN_TIE
            value[reach[better] + step], came_from[reach[better] + step] = reached[better], reach[better]
            states = self._promising(greedy, row, states, value)
        self._keep(greedy, row, value, came_from, start)

    def _promising(self, greedy: Greedy, row: Array, states: Array, value: Array) -> Array:
        """The states from which more steps could still beat what is known, were each to gain as much as the last."""
        step = greedy.steps
        more = np.arange(1, len(greedy.appeal) - step + 1)
        target = states[:, None] + step + more
        gained = self.value[states] + greedy.totals[row[states], step]
        # A tie may go to a frame that gains a little less than the best, so the next step may gain as much more.
        hope = gained[:, None] + more * (greedy.gains[row[states], step - 1][:, None] + GAIN_TIE)
        inside = target < len(value)
        known = value[np.minimum(target, len(value) - 1)]
        promising: Array = states[(inside & (hope > known)).any(axis=1)]
        return promising

    def _keep(self, greedy: Greedy, row: Array, value: Array, came_from: Array, start: int) -> None:
        moves, last = list(self._moves), self.last.copy()
        for used in np.flatnonzero(came_from != np.arange(len(value))).tolist():
            state = int(came_from[used])
            picks = tuple((start + greedy.picks[row[state], : used - state]).tolist())
            moves[used], last[used] = Move(self._moves[state], picks), picks[-1]
        self.value, self.last, self._moves = value, last, moves

    def best(self) -> list[int]:
        """The frames of the best list of full size, in the order of the segments, each segment's as picked."""
        parts = []
        move = self._moves[-1]
        while move is not None:
            parts.append(move.picks)
            move = move.before
        return [index for picks in reversed(parts) for index in picks]


SELECTOR = Selector.of(
    "mdp3",
    mdp3,
    "relevant and diverse by a determinantal point process",
    paper="Sun et al., ICCV 2025",
    needs=("vectors",),
)
