"""Grouping of words into sentence-like events, removal of hallucinated text."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.text.word_timing import (
    Word,
    is_hallucination,
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
