"""Shared words of a question and the events."""

import math

import numpy as np
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


def test_a_speakers_name_counts_less_than_the_name_in_a_sentence():
    scores = EventWords(["Tom: Run!", "Anna: There is Tom!", "Anna: Run!"]).scores("What does Tom do?")
    assert scores[1] > scores[0] > scores[2] == 0


def test_inflected_forms_match():
    assert EventWords(["she was painting"]).scores("Who paints?")[0] == 0  # shorter than the stem
    assert EventWords(["both engineers left"]).scores("Which engineer?")[0] > 0


def test_scripts_without_spaces_match_by_pairs_of_characters():
    scores = EventWords(["猫が窓のそばにいる", "犬が走る"]).scores("窓のそばの猫は?")
    assert scores[0] > scores[1]


def test_no_events_and_no_words_give_zeros():
    assert EventWords([]).scores("anything").shape == (0,)
    assert EventWords(["", "…"]).scores("anything").tolist() == [0.0, 0.0]
    assert EventWords(["a text"]).scores("?").tolist() == [0.0]


@given(st.lists(st.text(max_size=40), max_size=8), st.text(max_size=40))
def test_scores_are_finite_and_not_negative(texts, question):
    scores = EventWords(texts).scores(question)
    assert scores.shape == (len(texts),) and np.isfinite(scores).all() and (scores >= 0).all()


def test_quoting_texts_contain_every_word_of_the_question():
    texts = ["The captain said so.", "Captains walk the bridge.", "bridge", ""]
    assert quoting(texts, "Is the captain on a bridge?") == [1]
    assert quoting(texts, "Who is it?") == quoting(texts, "") == []
