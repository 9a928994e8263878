"""Unit rows: validation, and the error bounds the selectors rely on."""

import tracemalloc
from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import framesift as fs
from framesift.types import vectors
from framesift.types.vectors import TIE_TOLERANCE, UnitRows, merge_ties, small_products, unit_rows
from helpers.examples import examples

seeds = st.integers(0, 2**32 - 1)


def test_unit_float32_rows_are_not_copied():
    rows = np.eye(3, dtype=np.float32)
    assert unit_rows(rows, "frames") is rows


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_rows_of_any_magnitude_are_normalised(scale):
    assert unit_rows(np.array([[3.0, 4.0]]) * scale, "frames") == pytest.approx(np.array([[0.6, 0.8]]))


def test_float16_and_integers_are_accepted():
    for dtype in (np.float16, np.int32, np.uint8):
        assert unit_rows(np.array([[3, 4]], dtype=dtype), "frames") == pytest.approx(np.array([[0.6, 0.8]]))


def test_invalid_rows_are_rejected():
    for rows, message in (
        ([[1.0, 0.0], [0.0, 0.0]], r"frames\[1\] is all zeros"),
        ([[1.0, 0.0], [np.nan, 1.0]], r"frames\[1\] has a value that is not finite"),
        ([1.0, 2.0], r"shape \(2,\); expected \(rows, dimensions\)"),
        (np.zeros((2, 0)), r"shape \(2, 0\)"),
        ([["a", "b"]], "can't be read as an array of numbers"),
        ([[1j, 2.0]], "can't be read as an array of numbers"),
        ([[1.0], [1.0, 2.0]], "can't be read as an array of numbers"),
    ):
        with pytest.raises(fs.InputError, match=message):
            unit_rows(rows, "frames")


@settings(max_examples=examples(200), deadline=None)
@given(seeds, st.integers(1, 300), st.integers(1, 40))
def test_float32_products_are_within_the_error_bound(seed, dim, count):
    rng = np.random.default_rng(seed)
    rows = UnitRows(rng.standard_normal((count, dim)) * rng.choice([1e-3, 1.0, 1e3], (count, dim)))
    exact = rows.rows.astype(np.float64) @ rows.rows.astype(np.float64).T
    assert np.abs(rows.float32() @ rows.float32().T - exact).max() <= rows.float32_error


def test_products_of_repeated_rows_equal_those_of_each_row():
    rng = np.random.default_rng(0)
    for count, distinct in product((1, 60, 64, 65, 600), (1, 3, 8, 600)):  # blocks have 64 rows
        some, other = rng.standard_normal((distinct, 12)), rng.standard_normal((3, 12))
        some /= np.linalg.norm(some, axis=1, keepdims=True)  # else the rows would be kept in float64
        rows = UnitRows(some[np.sort(rng.integers(0, distinct, count))].astype(np.float32))
        exact = rows.rows.astype(np.float64)
        expected = exact / np.linalg.norm(exact, axis=1, keepdims=True) @ other.T
        indices = rng.integers(0, count, 5)
        assert rows.products(other) == pytest.approx(expected, abs=1e-12)
        assert rows.products(other, indices) == pytest.approx(expected[indices], abs=1e-12)
        assert rows.float32_products(other.astype(np.float32)) == pytest.approx(expected, abs=1e-4)


class RecordedRows(np.ndarray):
    """An array that records the shape of every matrix product it takes part in: rows, columns, dimensions."""

    shapes: ClassVar[list[tuple[int, int, int]]] = []

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        arrays = [np.asarray(array) for array in inputs]
        if ufunc is np.matmul:
            self.shapes.append((arrays[0].shape[-2], arrays[1].shape[-1], arrays[0].shape[-1]))
        return getattr(ufunc, method)(*arrays, **options)


@settings(max_examples=examples(200), deadline=None)
@given(seeds, st.integers(0, 300), st.integers(0, 40), st.sampled_from([1, 3, 64, 1152, 4096]))
def test_small_products_are_right_and_each_small_enough_for_one_thread(seed, count, columns, dim):
    rng = np.random.default_rng(seed)
    rows, others = rng.standard_normal((count, dim)), rng.standard_normal((columns, dim))
    RecordedRows.shapes.clear()
    products = small_products(rows.view(RecordedRows), others.view(RecordedRows))
    assert products == pytest.approx(rows @ others.T, abs=1e-9)
    for height, width, depth in RecordedRows.shapes:
        is_dot = height == width == 1
        assert is_dot or (min(height, width) > 1 and height * width * depth <= 2**18)


@pytest.mark.parametrize("count", [1, 2, 256, 257, 258, 513])
def test_step_distance_is_one_minus_the_cosine_with_the_next_row(count):
    rows = UnitRows(np.random.default_rng(0).standard_normal((count, 7)))
    expected = [1.0 - float(rows.rows[k] @ rows.rows[k + 1]) for k in range(count - 1)]
    assert rows.step_distances == pytest.approx(np.array(expected), abs=1e-12)


def test_merge_ties_merges_only_numbers_within_the_tolerance():
    values = np.array([0.5, 0.5 + TIE_TOLERANCE / 4, 0.25, 0.5 + 1e-9, 0.5 - TIE_TOLERANCE / 4])
    merged = merge_ties(values)
    assert len({merged[0], merged[1], merged[4]}) == 1
    assert merged[2] == 0.25
    assert merged[3] > merged[0]


@given(st.lists(st.floats(-1, 1), max_size=30))
def test_merge_ties_preserves_values_and_order(values):
    merged = merge_ties(values)
    assert np.abs(merged - np.array(values)).max(initial=0.0) <= TIE_TOLERANCE * max(len(values), 1)
    order = np.argsort(values, kind="stable")
    assert (np.diff(merged[order]) >= 0).all()


@pytest.fixture(params=["float32", "float16"])
def whole(request, monkeypatch):
    """Vectors as of a short video, and as of a long one, which stay in half precision."""
    monkeypatch.setattr(vectors, "LONG_SIZE", 0)
    rows = np.random.default_rng(0).standard_normal((2000, 96)).astype(np.float16)
    return UnitRows(rows if request.param == "float16" else unit_rows(rows, "frames").astype(np.float32))


def test_part_of_most_rows_gives_what_a_copy_gives(whole):
    kept = np.flatnonzero(np.arange(len(whole)) % 7)
    part, copy, some = whole[kept], UnitRows(whole.rows[kept]), np.array([3, 9, 700])
    others = copy.exact(some)
    for of in (
        lambda rows: rows.rows,
        lambda rows: rows.float32(some),
        lambda rows: rows.exact(some),
        lambda rows: rows.products(others),
        lambda rows: rows.products(others, some),
        lambda rows: rows.pair_products(some, some + 1),
        lambda rows: rows.step_distances,
        lambda rows: rows.mean_cosine,
        lambda rows: rows.float32_products(others.astype(np.float32)),
        lambda rows: rows[some].exact(),
    ):
        assert of(part) == pytest.approx(of(copy), abs=1e-6)


def test_comparing_vectors_takes_no_copy_of_them(whole):
    kept = np.flatnonzero(np.arange(len(whole)) % 7)
    queries = whole.exact(kept[:3])
    tracemalloc.start()
    for rows in (whole, whole[kept], whole[1:]):
        rows.products(queries)
        rows.mean(0, len(rows))
    assert tracemalloc.get_traced_memory()[1] < 4 * len(whole) * whole.dim
    tracemalloc.stop()
