"""Index lists that the published code of each selector gave for the same input."""

import numpy as np
import pytest

import framesift as fs


def curve(count):
    """(count,) scores of two decimals; some are equal."""
    at = np.arange(count)
    return np.round(0.5 + 0.3 * np.sin(at / 7) + 0.15 * np.sin(at**2 / 50), 2)


def evidence(count, scores=None):
    waves = np.sin(np.outer(np.arange(1, count + 1), [0.03, 0.11, 0.23, 0.41, 0.67, 0.97]))
    rows = waves + np.array([1, 0, 1, 0, 0, 0])
    return fs.Evidence(np.arange(float(count)), count, rows, [1.0, 0.5, 0.2, 0.0, 0.0, 0.3], scores=scores)


def select(method, count, budget, scores=None, **options):
    scored = evidence(count, curve(count) if scores is None else scores)
    return fs.select_frames(scored, budget=budget, method=method, **options).indices


def test_aks():
    expected = [5, 9, 12, 19, 26, 32, 41, 48, 54, 57, 62, 69, 80, 84, 91, 99]
    expected += [102, 108, 114, 118, 128, 134, 141, 143, 150, 156, 162, 173, 180, 186, 187, 196]
    assert select("aks", 200, 32) == expected


def test_bolt():
    assert select("bolt", 200, 8) == [11, 44, 57, 91, 102, 138, 146, 185]
    expected = [9, 18, 49, 57, 84, 98, 106, 139, 145, 180, 187, 199, 228, 236, 268, 276]
    assert select("bolt", 300, 16, alpha=2.5) == expected


def test_bolt_where_a_quantile_equals_a_cumulative_sum():
    for pattern, size, expected in (
        ([0, 1, 1, 0, 1] * 4, 5, [4, 7, 11, 12, 16]),
        ([0, 3, 1, 2, 2] * 6, 6, [4, 9, 13, 17, 21, 26]),
        ([0, 1, 1, 1, 1] * 5, 5, [4, 9, 13, 17, 19]),
    ):
        assert select("bolt", len(pattern), size, pattern, alpha=1.0) == expected


def test_bin_max():
    assert select("bin-max", 200, 8) == [9, 19, 54, 99, 102, 141, 181, 187]
    expected = [2, 7, 9, 13, 19, 26, 32, 37, 41, 44, 51, 54, 57, 62, 67, 74]
    assert select("bin-max", 75, 16) == expected


class Recorded(np.random.Generator):
    """A generator that repeats recorded uniform draws."""

    def __init__(self, draws):
        super().__init__(np.random.PCG64(0))
        self.draws = draws

    def random(self, size):
        assert size == len(self.draws)
        return self.draws


def test_q_frame_with_the_same_draws():
    draws = (np.arange(1, 61) * 0.6180339887) % 1
    assert select("q-frame", 60, 8, seed=Recorded(draws)) == [7, 15, 20, 28, 41, 49, 54, 57]


def test_focus_with_the_same_generator():
    expected = [4, 10, 92, 137, 139, 180, 185, 187, 232, 277, 282, 404, 405, 407, 489, 497]
    for seed in (42, np.random.default_rng(42)):
        assert select("focus", 600, 16, seed=seed) == expected


def test_mdp3_in_segments():
    assert select("mdp3", 96, 8) == [13, 14, 21, 22, 60, 73, 77, 78]
    assert select("mdp3", 160, 16) == [13, 14, 15, 21, 22, 60, 66, 67, 70, 73, 74, 77, 78, 79, 122, 130]


def test_mdp3_in_one_segment():
    assert select("mdp3", 128, 8, segment_frames=0) == [13, 14, 15, 21, 22, 66, 73, 78]
    expected = [12, 13, 14, 15, 19, 21, 22, 27, 60, 66, 67, 70, 73, 74, 78, 79]
    assert select("mdp3", 200, 16, segment_frames=0) == expected


def test_wfs_sb():
    pytest.importorskip("pywt", reason="pywt comes with framesift[peers]")
    assert select("wfs-sb", 200, 8) == [9, 54, 94, 99, 133, 141, 143, 187]
    assert select("wfs-sb", 12, 8) == [0, 5, 6, 7, 8, 9, 10, 11]
    expected = [7, 9, 54, 57, 96, 99, 102, 141, 149, 181, 187, 225, 232, 273, 277, 281]
    assert select("wfs-sb", 300, 16) == expected


def test_wfs_sb_on_siglips_probabilities():
    pytest.importorskip("pywt", reason="pywt comes with framesift[peers]")
    indices = select("wfs-sb", 200, 8, 0.2 * curve(200), logit_scale=110, logit_bias=-16)
    assert indices == [6, 9, 54, 94, 99, 141, 143, 187]
