"""Shared words of a question and the events."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.selection.lexical import EventWords, quoting


def test_scores_are_bm25_without_a_discount_of_long_texts():
    texts = ["red boat", "red red car in the rain", "a house"]
    score = EventWords(texts).scores("Is the boat red?")

    def part(count, weight):
        return weight * count * 2.2 / (count + 1.2)

    boat, red = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    expected = [part(1, boat) + part(1, red), part(2, red), 0.0]
    np.testing.assert_allclose(score, np.array(expected) / (boat + red))


@pytest.mark.parametrize(
    ("texts", "question", "order"),
    [
        # A speaker's name counts less than the name in a sentence.
        (["Anna: There is Tom!", "Tom: Run!", "Anna: Run!"], "What does Tom do?", [1, 1, 0]),
        # Inflected forms match, if they are longer than the stem.
        (["both engineers left", "she was painting"], "Which engineer paints?", [1, 0]),
        # Scripts without spaces match by pairs of characters.
        (["猫が窓のそばにいる", "犬が走る"], "窓のそばの猫は?", [1, 0]),
        (["", "…"], "anything", [0, 0]),
        (["a text"], "?", [0]),
    ],
)
def test_scores_fall_with_the_words_that_are_shared(texts, question, order):
    scores = EventWords(texts).scores(question)
    assert (scores > 0).astype(int).tolist() == order
    assert all(a > b or b == 0 for a, b in pairwise(scores))


@given(st.lists(st.text(max_size=40), max_size=8), st.text(max_size=40))
def test_scores_are_finite_and_not_negative(texts, question):
    scores = EventWords(texts).scores(question)
    assert scores.shape == (len(texts),) and np.isfinite(scores).all() and (scores >= 0).all()


def test_quoting_texts_contain_every_word_of_the_question():
    texts = ["The captain said so.", "Captains walk the bridge.", "bridge", ""]
    assert quoting(texts, "Is the captain on a bridge?") == [1]
    assert quoting(texts, "Who is it?") == quoting(texts, "") == []
