"""Rows of unit length, and their cosines: rough and quick over everything, exact where it decides.

Products over all frames run in float32 and are off by at most `UnitRows.rough_error`. Whatever
could decide a selection is computed again in float64. Numbers closer than `TIE` count as equal,
so that ties are ties on every machine, whatever order its BLAS adds in.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from framesift.errors import InputError

Array = NDArray[Any]

# Far above the rounding of a float64 dot product (about 2^-50), far below any difference that means something.
TIE = 2.0**-40

# Rows this close to length one are taken as they are: float32 rows normalised by anybody.
UNIT_TOLERANCE = 1e-6

# Rows cast to float64 at a time: about 2 MiB at 1152 dimensions, so that a block stays in cache.
BLOCK_ROWS = 256


def unit_rows(values: ArrayLike, name: str, *, dim: int | None = None) -> Array:
    """Check `values` (n, D) and scale its rows to length one.

    Rows that already have it come back as they are, float32 or float64, without a copy; otherwise
    all are normalised in float64. The same numbers in either type therefore give the same rows.
    """
    rows = _as_floats(values, name)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise InputError(f"{name} has shape {rows.shape}; expected (rows, dimensions)")
    if dim is not None and rows.shape[1] != dim:
        raise InputError(f"{name} has {rows.shape[1]} dimensions; the frames have {dim}: use the same encoder for both")
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise InputError(f"{name}[{bad}] holds a value that is not finite; leave that row out or encode it again")
    # Dividing by the largest entry first keeps very small and very large rows from under- or overflowing.
    peak = np.abs(rows).max(axis=1).astype(np.float64)
    if not peak.all():
        raise InputError(f"{name}[{int(np.flatnonzero(peak == 0)[0])}] is all zeros; a direction was expected")
    length = _lengths(rows, peak)
    if np.abs(length - 1.0).max(initial=0.0) <= UNIT_TOLERANCE:
        return rows
    scaled: Array = rows.astype(np.float64) / peak[:, None]
    scaled /= np.sqrt(np.einsum("nd,nd->n", scaled, scaled))[:, None]
    return scaled


def row_products(rows: Array, others: Array) -> Array:
    """(N, Q) float64: each of `rows` (N, D) times each of `others` (Q, D), without a float64 copy of all rows."""
    columns = others.astype(np.float64).T
    if rows.dtype == np.float64:
        return rows @ columns
    out = np.empty((len(rows), columns.shape[1]))
    buffer = np.empty((min(BLOCK_ROWS, len(rows)), rows.shape[1]))
    for start in range(0, len(rows), BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS]
        block = buffer[: len(part)]
        block[...] = part
        np.matmul(block, columns, out=out[start : start + BLOCK_ROWS])
    return out


def settle(values: ArrayLike) -> Array:
    """Make numbers that lie within TIE of each other one and the same number (float64, same order)."""
    values = np.asarray(values, dtype=np.float64)
    if values.size < 2:
        return values
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    first_of_run = np.concatenate(([True], np.diff(ascending) > TIE))
    settled = np.empty_like(values)
    settled[order] = ascending[first_of_run][np.cumsum(first_of_run) - 1]
    return settled


class UnitRows:
    """N unit vectors of one space. What depends on them alone is computed once and kept.

    rows (N, D): float32 or float64, read-only. Pass the same UnitRows to several Evidence records to share
    that work between questions on one video.
    """

    def __init__(self, values: ArrayLike, name: str = "frames") -> None:
        rows = unit_rows(values, name).view()
        rows.flags.writeable = False
        self.rows: Array = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"UnitRows({len(self)} × {self.dim}, {self.rows.dtype})"

    @property
    def dim(self) -> int:
        return int(self.rows.shape[1])

    def part(self, start: int, stop: int) -> "UnitRows":
        """Some consecutive rows as UnitRows of their own: nothing is copied, nothing is checked again."""
        part = object.__new__(type(self))
        part.rows = self.rows[start:stop]
        part.__dict__["rough"] = self.rough[start:stop]
        return part

    @cached_property
    def rough(self) -> Array:
        """The rows in float32, for products over everything."""
        return np.ascontiguousarray(self.rows, dtype=np.float32)

    @property
    def rough_error(self) -> float:
        """How far a float32 product of two rows can be from the true one, in any order of summation.

        The textbook bound D·u/(1 − D·u) with u = 2^-24, and room for the rounding of the rows themselves.
        """
        return 1.01 * (self.dim + 4) * 2.0**-24

    @cached_property
    def steps(self) -> Array:
        """(N − 1,) float64: 1 − cosine between each row and the next."""
        out = np.empty(max(len(self) - 1, 0))
        for start in range(0, len(out), BLOCK_ROWS):
            block = self.rows[start : start + BLOCK_ROWS + 1].astype(np.float64)
            out[start : start + len(block) - 1] = 1.0 - np.einsum("nd,nd->n", block[:-1], block[1:])
        return out

    @cached_property
    def shots(self) -> "Shots":
        """The rows in runs of look-alikes, for ruling out whole runs at once."""
        return Shots(self)

    def products(self, others: Array) -> Array:
        """(N, Q) float64: every row times each of `others` (Q, D)."""
        return row_products(self.rows, others)


class Shots:
    """Consecutive rows that look alike, each run with its centre and how far its rows lie from it.

    centres (M, D) float32 unit rows; reach (M,) the largest angle between a centre and a row of its run; of_row (N,)
    the run of each row. By the triangle inequality no row of a run comes closer to a vector than the angle
    between that vector and the centre, less the reach.
    """

    LONGEST = 16

    def __init__(self, vectors: UnitRows) -> None:
        steps = vectors.steps
        cut = np.concatenate(([True], steps > steps.mean())) if len(steps) else np.ones(1, dtype=bool)
        first = np.flatnonzero(cut)[np.cumsum(cut) - 1]
        cut |= (np.arange(len(cut)) - first) % self.LONGEST == 0
        self.of_row: Array = np.cumsum(cut) - 1
        starts = np.flatnonzero(cut)
        sums = np.add.reduceat(vectors.rough, starts, axis=0)
        lengths = np.sqrt(np.einsum("md,md->m", sums, sums))
        # Rows that cancel out have no middle; their first row serves as well.
        sums = np.where(lengths[:, None] > 1e-3, sums, vectors.rough[starts])
        self.centres: Array = sums / np.sqrt(np.einsum("md,md->m", sums, sums))[:, None]
        cosines = np.einsum("nd,nd->n", vectors.rough, self.centres[self.of_row]) - vectors.rough_error
        self.reach: Array = np.arccos(np.minimum.reduceat(cosines, starts).astype(np.float64).clip(-1.0, 1.0))

    def limits(self, cosines: Array) -> Array:
        """(M,) the largest cosine any row of a run can have with a vector, from that of its centre (M,)."""
        angles = np.arccos(cosines.astype(np.float64).clip(-1.0, 1.0))
        limits: Array = np.cos(np.maximum(angles - self.reach, 0.0))
        return limits


def _as_floats(values: ArrayLike, name: str) -> Array:
    try:
        rows = np.asarray(values)
        if rows.dtype == np.float16:
            return rows.astype(np.float32)
        if rows.dtype in (np.float32, np.float64):
            return rows
        if rows.dtype == np.complex128 or rows.dtype == np.complex64:
            raise TypeError
        return rows.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} can't be read as an array of numbers; expected float32 or float64") from None


def _lengths(rows: Array, peak: Array) -> Array:
    """(n,) float64 lengths, in blocks so that no float64 copy of everything is made."""
    out = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK_ROWS):
        part = slice(start, start + BLOCK_ROWS)
        block = rows[part].astype(np.float64) / peak[part, None]
        out[part] = peak[part] * np.sqrt(np.einsum("nd,nd->n", block, block))
    return out


def checked_times(values: ArrayLike, duration_s: float, count: int) -> Array:
    """(N,) float64, ascending, inside [0, duration]; the last may overrun by one step and is clipped."""
    try:
        times = np.array(values, dtype=np.float64)
        duration_s = float(duration_s)
    except (TypeError, ValueError):
        raise InputError("times_s and duration_s can't be read as numbers; expected seconds") from None
    if count == 0:
        raise InputError("there is no frame to choose from; expected at least one candidate")
    if times.shape != (count,):
        raise InputError(f"times_s has shape {times.shape} for {count} frames; expected ({count},)")
    if not (math.isfinite(duration_s) and duration_s > 0):
        raise InputError(f"duration_s is {duration_s}; expected a positive number of seconds")
    if not np.isfinite(times).all():
        raise InputError(f"times_s[{int(np.flatnonzero(~np.isfinite(times))[0])}] is not finite; expected seconds")
    step = np.diff(times)
    if (step <= 0).any():
        k = int(np.flatnonzero(step <= 0)[0])
        raise InputError(f"times_s[{k + 1}] = {times[k + 1]} does not come after {times[k]}; expected ascending times")
    if times[-1] > duration_s:
        allowed = float(np.median(step)) if len(step) else 1.0
        if times[-1] - duration_s <= allowed and (count == 1 or duration_s > times[-2]):
            times[-1] = duration_s
    for k in (0, count - 1):
        if not 0 <= times[k] <= duration_s:
            raise InputError(f"times_s[{k}] = {times[k]} lies outside the video; expected 0 to {duration_s} s")
    times.flags.writeable = False
    return times


def checked_query(values: ArrayLike, dim: int) -> Array:
    query = np.asarray(values)
    if query.ndim != 1:
        raise InputError(f"query has shape {query.shape}; expected ({dim},): one text vector")
    unit: Array = unit_rows(query[None], "query", dim=dim)[0].astype(np.float64)
    return unit


def checked_scores(values: ArrayLike, count: int, name: str) -> Array:
    try:
        scores = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} can't be read as numbers; expected {count} scores") from None
    if scores.shape != (count,):
        raise InputError(f"{name} has shape {scores.shape}; expected ({count},)")
    if not np.isfinite(scores).all():
        raise InputError(f"{name}[{int(np.flatnonzero(~np.isfinite(scores))[0])}] is not finite")
    return scores
