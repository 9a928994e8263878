"""Cover's optimisations: bounds and pools change the time, never the selection."""

import itertools
import os
import subprocess
import sys
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.selection.gcr import cover
from framesift.selection.gcr.cover import fill_by_mmr
from framesift.selection.similarity_cache import SimilarityCache
from framesift.types.vectors import UnitRows, merge_ties
from helpers.examples import examples
from helpers.selection_cases import assert_same, cases
from helpers.selector_references import by_mmr


@settings(max_examples=examples(300), deadline=None)
@given(cases(max_frames=60), st.integers(1, 5), st.integers(1, 4), st.integers(0, 60))
def test_pool_sizes_do_not_change_the_selection(case, pool_size, leaders, max_close):
    expected = case.select()
    with patch.multiple(cover, POOL_SIZE=pool_size, LEADERS=leaders, MAX_CLOSE=max_close):
        assert_same(case.select(), expected)


VECTORS = {
    "noise": lambda rng, count, dim: rng.standard_normal((count, dim)),
    "shots": lambda rng, count, dim: (
        1.0
        + rng.standard_normal((99, dim))[np.sort(rng.integers(0, 99, count))]
        + rng.choice([0.02, 0.3]) * rng.standard_normal((count, dim))
    ),
    "walk": lambda rng, count, dim: np.cumsum(rng.standard_normal((count, dim)), axis=0),
    "static": lambda rng, count, dim: 1.0 + 1e-6 * rng.standard_normal((count, dim)),
    "slides": lambda rng, count, dim: rng.standard_normal((9, dim))[np.sort(rng.integers(0, 9, count))],
    "constant": lambda rng, count, dim: np.ones((count, dim)),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_mmr_matches_the_reference_where_scores_are_close(kind):
    for seed, weight in itertools.product(range(3), (0.0, 0.5, 0.9, 1.0)):
        rng = np.random.default_rng(seed)
        vectors = UnitRows(VECTORS[kind](rng, 1100, 48).astype(np.float32))
        relevance = merge_ties(vectors.products(rng.standard_normal((1, 48)))[:, 0])
        core = rng.choice(1100, 5, replace=False).tolist()
        expected = by_mmr(relevance, vectors.rows, range(1100), core, 40, weight)
        assert fill_by_mmr(relevance, vectors, core, size=40, weight=weight).selected == expected, (seed, weight)


OTHER_THREADS = """
import time
import numpy as np
import framesift as fs

def other_threads_cpu_s(call):
    before = time.process_time() - time.thread_time()
    call()
    return time.process_time() - time.thread_time() - before

def select(method):
    evidence = fs.Evidence(times, 1500.0, rows, rows[7], events, event_rows)
    fs.select_frames(evidence, budget=64, method=method)

rng = np.random.default_rng(0)
rows = rng.standard_normal((1500, 384)).astype(np.float32)
times, events, event_rows = np.arange(1500.0), [fs.Event(k, k + 2.0, "text") for k in range(0, 1500, 5)], rows[::5]
# The threads of a BLAS stay active for a while after they are started, so one of many tries counts.
print([any(other_threads_cpu_s(lambda: select(method)) < 1e-4 for _ in range(100)) for method in ("gcr", "mmr")])
"""


def test_selection_leaves_the_threads_of_the_blas_idle():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    command = [sys.executable, "-c", OTHER_THREADS]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert found.stdout == "[True, True]\n"


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(41, 300), st.floats(0.0, 1.0))
def test_closest_earlier_frames_equal_those_of_all_pairs(seed, count, noise):
    rng = np.random.default_rng(seed)
    shot = np.sort(rng.integers(0, count // 8, count))
    vectors = UnitRows(rng.standard_normal((count, 9))[shot] + noise * rng.standard_normal((count, 9)))
    core = rng.choice(count, 5, replace=False).tolist()
    with patch.multiple(cover, POOL_SIZE=20):
        cache = fill_by_mmr(merge_ties(rng.random(count)), vectors, core, size=40, weight=0.5)
    closest, largest = cache.closest_before(len(core))
    cosines = vectors.rows[cache.selected] @ vectors.rows[cache.selected].T
    assert largest == pytest.approx([cosines[k, :k].max() for k in range(5, 40)], abs=1e-12)
    assert [cosines[k, closest[k - 5]] for k in range(5, 40)] == pytest.approx(largest, abs=1e-12)


def test_closest_of_frames_that_tie_is_the_first_selected():
    cache = SimilarityCache(UnitRows([[1.0, 0.0], [1.0, 1e-13], [0.6, 0.8]]), [0, 1, 2])
    cache.update()
    assert cache.closest_before(2)[0].tolist() == [0]
