"""MDP3: relevant and diverse frames by a determinantal point process, segment after segment.

Sun et al., "MDP3: A Training-free Approach for List-wise Frame Selection in Video-LLMs", ICCV 2025.
"""

from collections.abc import Callable

import numpy as np

from framesift.selection.selector import Positive, Whole, selector
from framesift.types import Evidence, Selection
from framesift.types.vectors import Array, UnitRows

BANDWIDTHS = tuple(2.0**k for k in range(-3, 2))  # α of the Gaussian kernels that are summed
SEGMENT, LONG_SEGMENT, SMALL_BUDGET = 32, 128, 32

# A frame's conditional variance shrinks by subtraction, so its logarithm is only accurate to about this much; gains
# that differ by less are a tie, and a variance below the floor counts as that of a duplicate.
GAIN_TIE = 2.0**-24
VARIANCE_FLOOR = 2.0**-20


@selector("relevant and diverse by a determinantal point process", paper="Sun et al., ICCV 2025", needs=("vectors",))
def mdp3(
    evidence: Evidence, budget: int, *, relevance_weight: Positive = 0.2, segment_frames: Whole | None = None
) -> Selection:
    """Select the list of frames with the largest (2/λ)·Σ log k(query, frame) + log det K, greedily in each segment.

    Input: frame vectors and the query's. k(x, y) sums exp(−‖x − y‖² / 2α) over α = 2⁻³ … 2¹. Dynamic programming over
    (segment, frames used) finds the best total. A segment's greedy picks are conditioned on the last frame, in time,
    of those picked before it; the value of the picks includes that frame's own terms again. Cost: O(N·(D + B)·segment).
    relevance_weight: λ; the smaller, the more relevance counts. segment_frames: the length of a segment, 32 by default
    and 128 for budgets above 32; 0 is the whole video in one segment, as in VLMEvalKit.

    Differs: the last segment may be shorter, where the original needs a multiple; a duplicate's determinant has a
    floor, so that any budget can be filled; ties go to the earlier frame and to the list with fewer frames in the later
    segment; the query is one unit vector, also for a text beyond the encoder's limit.
    """
    length = SEGMENT if budget <= SMALL_BUDGET else LONG_SEGMENT
    if segment_frames is not None:
        length = segment_frames or len(evidence)
    size = min(budget, len(evidence))
    vectors = evidence.vectors
    log_relevance = 2.0 / relevance_weight * np.log(kernel(vectors.products(evidence.query_row)[:, 0]))
    table = FrameCountTable(size)
    if size < len(vectors):
        for start in range(0, len(vectors), length):
            segment = vectors[start : start + length]
            last = np.unique(table.last[table.last >= 0]).tolist()
            across = kernel(segment.products(vectors.exact(np.array(last, dtype=int)))).T
            of_segment = log_relevance[start : start + length]
            greedy = GreedyPicks(kernel_rows(segment), of_segment, across, log_relevance[last], most=size)
            table.extend(greedy, [-1, *last], start)
    indices = table.best() if size < len(vectors) else list(range(len(vectors)))
    value = float(table.value[size]) if size < len(vectors) else None
    return Selection.of(evidence, indices, "context", value=value)


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


def kernel_rows(segment: UnitRows) -> Callable[[Array], Array]:
    """A function from frame numbers (K,) to the kernel (K, S) of those frames with all of the segment."""
    if len(segment) > LONG_SEGMENT:  # the matrix of all pairs would be large, and few of its rows are needed
        return lambda picks: kernel(segment.products(segment.exact(picks))).T
    matrix = kernel(segment.products(segment.exact()))
    return lambda picks: matrix[picks]


class GreedyPicks:
    """Greedy picks in one segment, conditioned on each of several previous frames in parallel.

    One row per previous frame; the first row is for none. picks (U, K) and totals (U, K + 1): the frame picked at each
    step and the value up to it, the previous frame's terms included. The gain of a step never exceeds that of the step
    before.
    """

    def __init__(
        self, inside: Callable[[Array], Array], log_relevance: Array, across: Array, previous: Array, *, most: int
    ) -> None:
        """inside: see `kernel_rows`; log_relevance (S,) of the segment. across (U − 1, S): the kernel of the previous
        frames with the segment; previous (U − 1,): their log relevance. most: the largest number of steps.
        """
        self.inside, self.log_relevance = inside, log_relevance
        self.max_steps = min(most, len(log_relevance))
        self.steps = 0
        rows = len(across) + 1
        # Column k of the Cholesky factor for every candidate; the previous frame is column 0.
        self._factor = np.zeros((rows, self.max_steps + 1, len(log_relevance)))
        self._factor[1:, 0] = across / np.sqrt(len(BANDWIDTHS))
        self._variance = len(BANDWIDTHS) - self._factor[:, 0] ** 2
        self._previous_value = np.concatenate(([0.0], previous + np.log(len(BANDWIDTHS))))
        self.picks = np.empty((rows, self.max_steps), dtype=np.int64)
        self.gains = np.empty((rows, self.max_steps))
        self.totals = np.zeros((rows, self.max_steps + 1))

    def step(self) -> None:
        """Pick one more frame in every row: the largest gain, the earlier of equal ones."""
        k, rows = self.steps, np.arange(len(self.picks))
        gain = self.log_relevance + np.log(np.maximum(self._variance, VARIANCE_FLOOR))
        np.put_along_axis(gain, self.picks[:, :k], -np.inf, axis=1)
        top = gain.max(axis=1)
        pick = (gain >= top[:, None] - GAIN_TIE).argmax(axis=1)
        self.picks[:, k], self.gains[:, k] = pick, gain[rows, pick]
        self.totals[:, k + 1] = (self.totals[:, k] if k else self._previous_value) + self.gains[:, k]
        pivot = self._variance[rows, pick]
        columns = self._factor[:, : k + 1]
        overlap = (columns[rows, :, pick][:, None, :] @ columns)[:, 0]
        # A duplicate of a picked frame explains no further variance of the others.
        scale = np.where(pivot > VARIANCE_FLOOR, 1.0 / np.sqrt(np.maximum(pivot, VARIANCE_FLOOR)), 0.0)
        column = (self.inside(pick) - overlap) * scale[:, None]
        self._factor[:, k + 1] = column
        self._variance -= column**2
        self.steps += 1


class FrameCountTable:
    """Dynamic programming over segments: for each number of frames used, the best value and the frames that give it.

    value (size + 1,), last (size + 1,): the last frame, in time, of those picked, −1 for none.
    """

    def __init__(self, size: int) -> None:
        self.value = np.full(size + 1, -np.inf)
        self.value[0] = 0.0
        self.last = np.full(size + 1, -1)
        self._frames: list[list[int]] = [[]] * (size + 1)

    def extend(self, greedy: GreedyPicks, conditions: list[int], start: int) -> None:
        """Add 0, 1, 2, … frames of the next segment, whose first frame is `start`, to every state."""
        row = np.searchsorted(conditions, self.last)
        value, came_from = self.value.copy(), np.arange(len(self.value))
        states = np.flatnonzero(np.isfinite(self.value))
        states = states[states < len(value) - 1]
        while greedy.steps < greedy.max_steps and len(states):
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
        more = np.arange(1, greedy.max_steps - step + 1)
        target = states[:, None] + step + more
        gained = self.value[states] + greedy.totals[row[states], step]
        # A tie may go to a frame that gains slightly less than the best, so the next step may gain that much more.
        upper_bound = gained[:, None] + more * (greedy.gains[row[states], step - 1][:, None] + GAIN_TIE)
        inside = target < len(value)
        current = value[np.minimum(target, len(value) - 1)]
        promising: Array = states[(inside & (upper_bound > current)).any(axis=1)]
        return promising

    def _record(self, greedy: GreedyPicks, row: Array, value: Array, came_from: Array, start: int) -> None:
        frames, last = list(self._frames), self.last.copy()
        for used in np.flatnonzero(came_from != np.arange(len(value))).tolist():
            state = int(came_from[used])
            picks = (start + greedy.picks[row[state], : used - state]).tolist()
            frames[used], last[used] = self._frames[state] + picks, max(picks)
        self.value, self.last, self._frames = value, last, frames

    def best(self) -> list[int]:
        """The frames of the best list of full size, in the order of the segments, within each as picked."""
        return self._frames[-1]
