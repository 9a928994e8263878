"""Grouping of words into sentence-like events, removal of hallucinated text."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.text.word_timing import Word, is_hallucination, split_sentences, without_loops, without_overlaps
from framesift.types import Event


def split(text, *, pauses=()):
    """The events of words of equal duration; pauses: {index of a word: seconds of silence before it}."""
    words, at = [], 0.0
    for number, token in enumerate(text.split()):
        at += dict(pauses).get(number, 0.0)
        words.append(Word(at, at + 0.4, f" {token}"))
        at += 0.4
    return split_sentences(words)


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 9)), max_size=12))
def test_events_do_not_overlap_and_keep_their_starts_and_texts(times):
    events = [Event(start_s, start_s + length_s, f"text {k}") for k, (start_s, length_s) in enumerate(times)]
    apart = without_overlaps(events)
    assert sorted((e.start_s, e.text) for e in apart) == sorted((e.start_s, e.text) for e in events)
    assert all(a.start_s <= a.end_s <= b.start_s for a, b in itertools.pairwise(apart))
    assert all(e.end_s <= events[int(e.text.split()[1])].end_s for e in apart)


def test_utterance_is_split_at_pauses():
    first, second = split("we have to follow our passions", pauses={3: 1.0})
    assert (first.text, second.text) == ("we have to", "follow our passions")
    assert second.start_s == pytest.approx(2.2)


@pytest.mark.parametrize(
    "texts",
    [
        ["This is pretty freaky.", "Should you be here?"],
        ["It is not my fault. Sorry."],  # a short last sentence is joined to the one before
        [
            "I am having nightmares of giant claws at night now,",  # too long: split after a comma
            "and they chase me through the whole town every time",
        ],
    ],
)
def test_utterance_is_split_into_sentences_of_seven_seconds_at_most(texts):
    events = split(" ".join(texts))
    assert [event.text for event in events] == texts
    assert all(event.end_s - event.start_s <= 7.0 for event in events)


def test_words_of_languages_without_spaces_are_joined_directly():
    line = [Word(0.3 * k, 0.3 * k + 0.3, letter) for k, letter in enumerate("我爱你。")]
    assert [event.text for event in split_sentences(line)] == ["我爱你。"]


NO_SPEECH = ["", "…", "♪ ♪", "♪ I'm a honey ♪", "[Music]", "(wind blows)", "*sighs*.", "you", "Thanks for watching!"]
LOOPS = ["go go go go go go go", "I am. I am. " * 20]
REAL = ["No!", "Go, go, go!", "Thank you.", "You know...", "我爱你", "It's 10 o'clock", "(Tom) Hello"]


@pytest.mark.parametrize("text", NO_SPEECH + LOOPS + REAL)
def test_typical_hallucinations_are_recognised_and_real_speech_is_not_one(text):
    assert is_hallucination(Event(0.0, 1.5 if text in REAL else 5.0, text, source="speech")) == (text not in REAL)


def test_text_too_long_for_its_duration_is_a_hallucination():
    text = "There is a lesson to be learned from this, could have gone worse"
    assert is_hallucination(Event(0.0, 0.5, text)) and not is_hallucination(Event(0.0, 4.0, text))


def test_loop_of_many_equal_events_is_reduced_to_one():
    loop = [Event(k, k + 1, "Sorry.", source="speech") for k in range(8)]
    assert without_loops([*loop, Event(9, 10, "Go!")]) == [loop[0], Event(9, 10, "Go!")]
    assert without_loops(loop[:3]) == loop[:3]  # a line spoken three times
