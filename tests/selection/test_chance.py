"""Whether a question stands out from unrelated ones."""

import numpy as np

from framesift.selection.chance import ChanceLevels, chance_levels, compare_with_chance
from framesift.types import Basis
from framesift.types.selection import NOTHING_MATCHES, Chance


def test_levels_are_percentiles_of_the_best_scores_of_unrelated_questions():
    frames = np.tile(np.linspace(0, 1, 21), (3, 1))
    frames[0] -= 1
    levels = chance_levels(frames, np.zeros((0, 21)))
    assert np.isclose(levels.high, 0.95) and levels.low < 0 and levels.words == -np.inf
    assert np.isclose(chance_levels(frames, frames).words, 0.95)


def test_question_stands_out_by_frames_or_by_words():
    levels = ChanceLevels(0.0, 0.2, 0.4)
    low, none = np.array([0.1]), np.zeros(0)
    assert compare_with_chance(levels, np.array([0.1, 0.3]), low).stands_out
    assert compare_with_chance(levels, low, np.array([0.5])).stands_out
    assert compare_with_chance(levels, low, np.array([0.3]), [0]).stands_out  # an event with all of its words
    assert compare_with_chance(levels, low, low).note == NOTHING_MATCHES
    assert not compare_with_chance(levels, np.array([0.2]), none).stands_out


def test_chance_survives_json():
    basis = Basis(np.array([0.0, 1.0]), np.array([0.1, 0.2]), 2.0, chance=Chance(0.0, 0.3, stands_out=False))
    assert Basis.from_dict(basis.to_dict()).chance == basis.chance
