"""Unit vectors and their cosines: float32 for products over all frames, float64 where the result decides.

A float32 product is off by at most `UnitRows.float32_error`. Whatever could decide a selection is computed again in
float64 and divided by the lengths, since no float32 row has a length of exactly 1. Numbers closer than `TIE_TOLERANCE`
count as equal, so that ties do not depend on the machine's BLAS.
"""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from framesift.errors import InputError

Array = NDArray[Any]

# Far above the rounding of a float64 dot product (about 2^-50), far below any meaningful difference.
TIE_TOLERANCE = 2.0**-40

# Rows this close to length 1 are kept unchanged: float32 rows that were normalised already.
UNIT_TOLERANCE = 1e-6

# Numbers beyond which float16 rows are not kept as float32, which would be 64 MiB: three hours at 1664 dimensions.
LONG_SIZE = 2**24

# Rows cast to float64 at a time: about 2 MiB at 1152 dimensions, so that a block stays in cache.
BLOCK_ROWS = 256

# The same for products with few vectors: a smaller block stays in the second-level cache.
CAST_ROWS = 64

# Multiplications in one product: OpenBLAS, the BLAS of NumPy's wheels, uses one thread up to 2^18. The number of
# columns is the best of several tried; the rows are a multiple of those that its kernels compute at once.
PRODUCT_SIZE = 2**18
PRODUCT_COLUMNS = 24
KERNEL_ROWS = 4


def unit_rows(values: ArrayLike, name: str) -> Array:
    """Validate `values` (n, D) and scale its rows to length 1.

    If all rows have length 1 ± UNIT_TOLERANCE they are returned unchanged, float32 or float64, without a copy;
    otherwise all are normalised in float64. The same numbers in either type therefore give the same rows.
    """
    return _rows_and_lengths(values, name, None)[0]


def is_long(shape: tuple[int, ...]) -> bool:
    """Whether vectors (N, D) are of a video so long that `UnitRows` keeps them in float16 if they are given so."""
    return math.prod(shape) > LONG_SIZE


def _rows_and_lengths(values: ArrayLike, name: str, dim: int | None, *, halves: bool = False) -> tuple[Array, Array]:
    """`unit_rows`, and the lengths of these rows (n,) in float64. halves: leave the rows as they are, in float16."""
    rows = np.asarray(values) if halves else _as_floats(values, name)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise InputError(f"{name} has shape {rows.shape}; expected (rows, dimensions)")
    if dim is not None and rows.shape[1] != dim:
        raise InputError(f"{name} has {rows.shape[1]} dimensions; the frames have {dim}: use the same encoder for both")
    # Dividing by the largest entry first prevents under- and overflow.
    peak = np.concatenate([np.abs(block).max(axis=1) for block in _blocks(rows)]).astype(np.float64)
    if not np.isfinite(peak).all():
        what = f"{name}[{np.isfinite(peak).argmin()}] has a value that is not finite"
        raise InputError(f"{what}; leave that row out or encode it again")
    if not peak.all():
        raise InputError(f"{name}[{peak.argmin()}] is all zeros; expected a vector with a direction")
    lengths = _norms(rows, peak)
    if rows.dtype == np.float16 or np.abs(lengths - 1.0).max(initial=0.0) <= UNIT_TOLERANCE:
        return rows, lengths
    scaled: Array = rows.astype(np.float64) / peak[:, None]
    scaled /= np.sqrt(np.einsum("nd,nd->n", scaled, scaled))[:, None]
    return _rows_and_lengths(scaled, name, dim)  # their own lengths, as of rows that were given like this


def dot_products(rows: Array, others: Array, at: Array | slice = slice(None)) -> Array:
    """(K, Q) float64: dot products of the rows (N, D) `at` these indices and `others` (Q, D), without a copy of all."""
    columns = others.astype(np.float64, copy=False)
    if rows.dtype == np.float64:
        return small_products(rows[at], columns)
    if isinstance(at, slice):
        rows = rows[at]
    count = len(rows) if isinstance(at, slice) else len(at)
    out = np.empty((count, len(columns)))
    step = CAST_ROWS - CAST_ROWS % min(_product_rows(len(columns), rows.shape[1]), CAST_ROWS)
    buffer = np.empty((min(step, count), rows.shape[1]))
    for start in range(0, count, step):
        place = slice(start, start + step)
        part = rows[place if isinstance(at, slice) else at[place]]
        block = buffer[: len(part)]
        block[...] = part
        out[start : start + step] = small_products(block, columns)
    return out


def small_products(rows: Array, others: Array) -> Array:
    """(N, Q): dot products of `rows` (N, D) and `others` (Q, D) of the same type, on the calling thread alone.

    A BLAS distributes larger products over threads of its own. On a busy machine, waiting for all of them takes many
    times longer than the product. So NumPy is given a stack of products that are each too small for that. A product
    with a single vector is a stack of dot products, since the limit of a matrix–vector product is lower.
    """
    count, dim = rows.shape
    columns = len(others)
    if count < columns:
        return small_products(others, rows).T
    if columns == 0:
        return np.empty((count, 0), dtype=rows.dtype)
    if columns == 1:
        single: Array = (rows[:, None, :] @ others[0][:, None])[:, :, 0]
        return single
    out = np.empty((count, columns), dtype=rows.dtype)
    if columns > PRODUCT_COLUMNS:
        for start in range(0, columns, PRODUCT_COLUMNS):
            part = slice(start, start + PRODUCT_COLUMNS)
            out[:, part] = small_products(rows, others[part])
        return out
    height = min(_product_rows(columns, dim), count)
    whole = count - count % height
    out[:whole] = (rows[:whole].reshape(-1, height, dim) @ others.T).reshape(whole, columns)
    if whole < count:
        out[whole:] = small_products(rows[whole:], others)
    return out


def _product_rows(columns: int, dim: int) -> int:
    """The rows of one of the small products with that many columns."""
    height = PRODUCT_SIZE // (max(min(columns, PRODUCT_COLUMNS), 1) * dim)
    return max(height - height % KERNEL_ROWS, 2)


def merge_ties(values: ArrayLike) -> Array:
    """Replace numbers within TIE_TOLERANCE of each other, in each column, by one number (float64, same order)."""
    values = np.asarray(values, dtype=np.float64)
    ascending = np.sort(values, axis=0)
    steps = ascending[1:] - ascending[:-1]
    if not ((steps > 0) & (steps <= TIE_TOLERANCE)).any():
        return values
    if values.ndim > 1:
        return np.stack([merge_ties(column) for column in values.T], axis=1)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    first_of_run = np.concatenate(([True], np.diff(ascending) > TIE_TOLERANCE))
    merged = np.empty_like(values)
    merged[order] = ascending[first_of_run][np.cumsum(first_of_run) - 1]
    return merged


class RowsOfVectors:
    """What the field `frames` of a record with `vectors` is after validation: their rows, made when they are used."""

    def __get__(self, record: Any, owner: type) -> Array | None:
        return None if record is None or "vectors" not in record.__dict__ else record.vectors.rows


class UnitRows:
    """N unit vectors of one embedding space, with cached derived arrays.

    rows (N, D): float32 or float64, read-only; of a long video they are kept in float16, and made when they are used.
    lengths (N,) float64: theirs, which rounding may leave beside 1; every float64 result here is that of the rows
    divided by them. Pass the same UnitRows to several Evidence records to share the derived arrays between questions
    on one video.
    """

    def __init__(self, values: ArrayLike, name: str = "frames", *, dim: int | None = None) -> None:
        halves = isinstance(values, np.ndarray) and values.dtype == np.float16 and is_long(values.shape)
        rows, self.lengths = _rows_and_lengths(values, name, dim, halves=halves)
        self._all: Array = rows.view()
        self._all.flags.writeable = False
        self._kept: Array | None = None  # the indices of the rows among _all, unless they are all of them

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        return f"UnitRows({len(self)} × {self.dim}, {self._all.dtype})"

    @property
    def dim(self) -> int:
        return int(self._all.shape[1])

    def __getitem__(self, indices: slice | Array) -> "UnitRows":
        """The rows at `indices` as UnitRows, without validating them. Most of them are not copied until `rows` is."""
        part = object.__new__(type(self))
        part.lengths, place = self.lengths[indices], self._place(indices)
        if isinstance(place, np.ndarray) and 2 * len(place) > len(self._all):
            part._all, part._kept = self._all, place
        else:
            part._all, part._kept = self._all[place], None
        return part

    def _place(self, indices: Array | slice) -> Array | slice:
        """Where the rows at `indices` are among _all."""
        return indices if self._kept is None else self._kept[indices]

    @cached_property
    def rows(self) -> Array:
        if self._all.dtype != np.float16:
            return self._all[self._place(slice(None))]
        rows = np.concatenate(list(self.float32_blocks()))
        rows.flags.writeable = False
        return rows

    @cached_property
    def _all_float32(self) -> Array:
        return np.ascontiguousarray(self._all, dtype=np.float32)

    def float32(self, indices: Array | slice = slice(None)) -> Array:
        """(K, D) float32: the rows at `indices`, of all by default."""
        if self._all.dtype == np.float16:
            return self.exact(indices).astype(np.float32)
        return self._all_float32[self._place(indices)]

    def float32_blocks(self) -> Iterator[Array]:
        """All rows in float32, a block at a time."""
        return (self.float32(slice(k, k + BLOCK_ROWS)) for k in range(0, len(self), BLOCK_ROWS))

    @property
    def float32_error(self) -> float:
        """The largest error of a float32 product of two rows as their cosine, in any order of summation.

        The standard bound D·u/(1 − D·u) with u = 2^-24, plus margins for the rounding and the lengths of the rows.
        """
        return 1.01 * ((self.dim + 4) * 2.0**-24 + 2 * UNIT_TOLERANCE)

    def exact(self, indices: Array | slice = slice(None)) -> Array:
        """(K, D) float64: the rows at `indices`, of all by default, divided by their lengths."""
        return self._all[self._place(indices)] / self.lengths[indices, None]

    @cached_property
    def step_distances(self) -> Array:
        """(N − 1,) float64: 1 − cosine between each row and the next."""
        distances = np.empty(max(len(self) - 1, 0))
        for start in range(0, len(distances), BLOCK_ROWS):
            block = self._all[self._place(slice(start, start + BLOCK_ROWS + 1))].astype(np.float64)
            distances[start : start + len(block) - 1] = np.einsum("nd,nd->n", block[:-1], block[1:])
        distances /= self.lengths[:-1] * self.lengths[1:]
        return 1.0 - distances

    @cached_property
    def mean_cosine(self) -> float:
        """The mean cosine of all pairs of rows, a row with itself included."""
        return float(np.square(self.mean(0, len(self))).sum())

    def mean(self, start: int, stop: int) -> Array:
        """(D,) float64: the mean of the rows start ≤ index < stop."""
        total = np.zeros(self.dim)
        for first in range(start, stop, BLOCK_ROWS):
            total += self.exact(slice(first, min(first + BLOCK_ROWS, stop))).sum(axis=0)
        return total / (stop - start)

    @cached_property
    def _runs(self) -> tuple[Array, Array] | None:
        """The first row of each run of equal consecutive rows (R,), and the run of every row (N,).

        None when fewer than half of the rows repeat the row before.
        """
        heads = self._all[:, :8][self._place(slice(None))]
        same = (heads[1:] == heads[:-1]).all(axis=1)
        for row in np.flatnonzero(same):
            same[row] = np.array_equal(*self._all[self._place(slice(row, row + 2))])
        if 2 * np.count_nonzero(same) < len(self):
            return None
        is_first = np.concatenate(([True], ~same))
        return np.flatnonzero(is_first), np.cumsum(is_first) - 1

    @property
    def repeats(self) -> bool:
        """Whether at least half of the rows repeat the row before."""
        return self._runs is not None

    def products(self, others: Array, indices: Array | slice = slice(None)) -> Array:
        """(K, Q) float64: dot products of the rows at `indices`, of all by default, with each of `others` (Q, D).

        The cosines, if the others have length 1 as those of `exact` have.
        """
        if self._runs is None:
            products: Array = dot_products(self._all, others, self._place(indices)) / self.lengths[indices, None]
            return products
        first, run = self._runs
        runs, row = np.unique(run[indices], return_inverse=True)
        products = (dot_products(self._all, others, self._place(first[runs])) / self.lengths[first[runs], None])[row]
        return products

    def pair_products(self, first: Array, second: Array) -> Array:
        """(K,) float64: the cosine of the rows at the indices first[k] and second[k]."""
        pairs = (self._all[self._place(rows)] for rows in (first, second))
        products: Array = np.einsum("nd,nd->n", *pairs, dtype=np.float64)
        products /= self.lengths[first] * self.lengths[second]
        return products

    def float32_products(self, others: Array) -> Array:
        """(N, Q) float32: dot products of every row with each of `others` (Q, D), within `float32_error`."""
        if self._runs is None and self._all.dtype == np.float16:
            return np.concatenate([small_products(block, others) for block in self.float32_blocks()])
        if self._runs is None:
            return small_products(self._all_float32, others)[self._place(slice(None))]
        first, run = self._runs
        return small_products(self.float32(first), others)[run]


def _blocks(rows: Array) -> list[Array]:
    """Consecutive rows, few at a time, at least one block: what is computed from them needs no copy of all rows."""
    return [rows[start : start + BLOCK_ROWS] for start in range(0, max(len(rows), 1), BLOCK_ROWS)]


def _as_floats(values: ArrayLike, name: str) -> Array:
    try:
        rows = np.asarray(values)
        if rows.dtype in (np.float32, np.float64):
            return rows
        return rows.astype(np.float32 if rows.dtype == np.float16 else np.float64, casting="same_kind")
    except (TypeError, ValueError):
        raise InputError(f"{name} can't be read as an array of numbers; expected float32 or float64") from None


def _norms(rows: Array, peak: Array) -> Array:
    """(n,) float64 norms, in blocks to avoid a float64 copy of all rows."""
    scaled = (block.astype(np.float64) / top[:, None] for block, top in zip(_blocks(rows), _blocks(peak), strict=True))
    norms: Array = peak * np.sqrt(np.concatenate([np.einsum("nd,nd->n", block, block) for block in scaled]))
    return norms


def validate_times(values: ArrayLike, duration_s: float, count: int) -> Array:
    """Return times (N,) as float64, ascending in [0, duration]; the last may overrun by one step and is clipped."""
    try:
        times = np.array(values, dtype=np.float64)
        duration_s = float(duration_s)
    except (TypeError, ValueError):
        raise InputError("times_s and duration_s can't be read as numbers; expected seconds") from None
    if count == 0:
        raise InputError("there is no candidate frame; expected at least one")
    if times.shape != (count,):
        raise InputError(f"times_s has shape {times.shape} for {count} frames; expected ({count},)")
    if not np.isfinite(times).all():
        raise InputError(f"times_s[{np.isfinite(times).argmin()}] is not finite; expected seconds")
    step = np.diff(times)
    if (step <= 0).any():
        k = int((step <= 0).argmax())
        raise InputError(f"times_s[{k + 1}] = {times[k + 1]} is not after {times[k]}; expected ascending times")
    if not (math.isfinite(duration_s) and duration_s > 0):
        raise InputError(f"duration_s is {duration_s}; expected a positive number of seconds")
    if times[-1] > duration_s:
        allowed = float(np.median(step)) if len(step) else 1.0
        if times[-1] - duration_s <= allowed and (count == 1 or duration_s > times[-2]):
            times[-1] = duration_s
    for k in (0, count - 1):
        if not 0 <= times[k] <= duration_s:
            raise InputError(f"times_s[{k}] = {times[k]} is outside the video; expected 0 to {duration_s} s")
    times.flags.writeable = False
    return times


def validate_query(values: ArrayLike, dim: int) -> Array:
    unit: Array = UnitRows(np.asarray(values)[None], "query", dim=dim).exact()[0]
    return unit


def validate_scores(values: ArrayLike, count: int, name: str) -> Array:
    try:
        scores = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} can't be read as numbers; expected {count} scores") from None
    if scores.shape != (count,):
        raise InputError(f"{name} has shape {scores.shape}; expected ({count},)")
    if not np.isfinite(scores).all():
        raise InputError(f"{name}[{np.isfinite(scores).argmin()}] is not finite")
    return scores
