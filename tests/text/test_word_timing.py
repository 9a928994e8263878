"""Joining of overlapping utterances, grouping of words into sentence-like events, removal of hallucinated text."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.text.word_timing import (
    Word,
    is_hallucination,
    join_utterances,
    split_sentences,
    without_loops,
    without_overlaps,
)
from framesift.types import Event


def words(text, *, start_s=0.0, each_s=0.4, pauses=()):
    """Words of equal duration; pauses: {index of a word: seconds of silence before it}."""
    out, at = [], start_s
    for number, token in enumerate(text.split()):
        at += dict(pauses).get(number, 0.0)
        out.append(Word(at, at + each_s, f" {token}"))
        at += each_s
    return out


def texts(events):
    return [event.text for event in events]


def joined_text(*utterances):
    return ["".join(word.text for word in utterance).strip() for utterance in join_utterances(utterances)]


@st.composite
def overlapping_utterances(draw):
    """Different words 0.4 s apart, and utterances of them that share up to three words, timed up to 0.15 s off."""
    utterances, first, count = [], 0, draw(st.integers(1, 40))
    while not utterances or len(utterances[-1]) + first < count:
        first += len(utterances[-1]) - draw(st.integers(0, min(3, len(utterances[-1]) - 1))) if utterances else 0
        size = draw(st.integers(5, 12))
        shift_s = draw(st.floats(-0.15, 0.15))
        positions = range(first, min(first + size, count))
        utterances.append([Word(0.4 * k + shift_s, 0.4 * k + 0.4 + shift_s, f" word{k}") for k in positions])
    return count, utterances


@given(overlapping_utterances())
def test_every_spoken_word_remains_once_and_in_order(case):
    count, utterances = case
    remaining = [word.text for utterance in join_utterances(utterances) for word in utterance]
    assert remaining == [f" word{k}" for k in range(count)]


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=6), max_size=6))
def test_utterances_that_do_not_overlap_are_unchanged(texts_):
    utterances = [words(" ".join(text), start_s=10.0 * k) for k, text in enumerate(texts_)]
    assert list(join_utterances(utterances)) == utterances


def test_words_of_both_utterances_at_the_same_time_remain_once():
    assert joined_text(words("We learn to use it."), words("Use it, learn from it.", start_s=1.2)) == [
        "We learn to use it.",
        "learn from it.",
    ]


def test_words_cut_at_a_border_are_replaced_by_the_complete_ones():
    assert joined_text(
        words("never considering how in the world she was sitting"),
        words("Now in the world she was to get out", start_s=0.8),
    ) == ["never considering how in the world she was", "to get out"]


def test_utterance_contained_in_the_previous_one_adds_nothing():
    assert joined_text(
        words("all systems go right now"), words("systems go", start_s=0.4), words("Go!", start_s=9.0)
    ) == [
        "all systems go",
        "Go!",
    ]


def test_equal_words_at_different_times_are_kept():
    assert joined_text(words("go on and on and on to the left"), words("go on", start_s=2.4)) == [
        "go on and on and on to the left",
        "go on",
    ]


def test_overlapping_utterances_without_a_shared_word_are_kept():
    assert joined_text(words("are you ready"), words("because we are not", start_s=1.1)) == [
        "are you ready",
        "because we are not",
    ]


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 9)), max_size=12))
def test_events_do_not_overlap_and_keep_their_starts_and_texts(times):
    events = [Event(start_s, start_s + length_s, f"text {k}") for k, (start_s, length_s) in enumerate(times)]
    apart = without_overlaps(events)
    assert sorted((e.start_s, e.text) for e in apart) == sorted((e.start_s, e.text) for e in events)
    assert all(a.start_s <= a.end_s <= b.start_s for a, b in itertools.pairwise(apart))
    assert all(e.end_s <= events[int(e.text.split()[1])].end_s for e in apart)


def test_utterance_is_split_at_pauses():
    events = split_sentences(words("we have to follow our passions", pauses={3: 1.0}))
    assert texts(events) == ["we have to", "follow our passions"]
    assert events[1].start_s == pytest.approx(2.2)


def test_utterance_is_split_after_sentences():
    assert texts(split_sentences(words("This is pretty freaky. Should you be here?"))) == [
        "This is pretty freaky.",
        "Should you be here?",
    ]


def test_short_last_sentence_is_joined_to_the_one_before():
    assert texts(split_sentences(words("It is not my fault. Sorry."))) == ["It is not my fault. Sorry."]


def test_long_sentence_is_split_after_a_comma():
    text = "I am having nightmares of giant claws at night now, and they chase me through the whole town every time"
    events = split_sentences(words(text))
    assert texts(events)[0].endswith("now,")
    assert all(event.end_s - event.start_s <= 7.0 for event in events)
    assert " ".join(texts(events)) == text


def test_words_of_languages_without_spaces_are_joined_directly():
    line = [Word(0.3 * k, 0.3 * k + 0.3, letter) for k, letter in enumerate("我爱你。")]
    assert texts(split_sentences(line)) == ["我爱你。"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "…",
        "♪ ♪",
        "♪ I'm a honey ♪",
        "[Music]",
        "(wind blows)",
        "*sighs*.",
        "you",
        "Thanks for watching!",
        "go go go go go go go",
        "I am. I am. " * 20,
    ],
)
def test_typical_hallucinations_are_recognised(text):
    assert is_hallucination(Event(0.0, 5.0, text, source="speech"))


def test_text_too_long_for_its_duration_is_a_hallucination():
    text = "There is a lesson to be learned from this, could have gone worse"
    assert is_hallucination(Event(0.0, 0.5, text)) and not is_hallucination(Event(0.0, 4.0, text))


@pytest.mark.parametrize(
    "text", ["No!", "Go, go, go!", "Thank you.", "You know...", "我爱你", "It's 10 o'clock", "(Tom) Hello"]
)
def test_real_speech_is_not_taken_for_a_hallucination(text):
    assert not is_hallucination(Event(0.0, 1.5, text, source="speech"))


def test_loop_of_many_events_is_reduced_to_one():
    loop = [Event(k, k + 1, "We're only one.", source="speech") for k in range(8)]
    assert without_loops([*loop, Event(9, 10, "Go!")]) == [loop[0], Event(9, 10, "Go!")]


def test_line_spoken_three_times_is_kept():
    spoken = [Event(k, k + 1, "Sorry.", source="speech") for k in range(3)]
    assert without_loops(spoken) == spoken
