"""Answers as lines of text."""

import framesift as fs
from framesift.readers.answers import answer_from_reply, answer_lines

QUESTION = fs.Question("Why?", ["The rain", "The wind"])
FACTS = {"times_s": (1.0, 7.0), "tokens": 1234, "seconds": 0.52, "reader": "parrot", "text_mode": "aligned"}


def test_option_is_shown_with_letter_and_text():
    lines = answer_lines(answer_from_reply(QUESTION, "B", **FACTS), QUESTION)
    assert lines == ["B. The wind", "(parrot: 2 frames, text aligned, 1,234 tokens, 0.5 s)"]


def test_reply_without_an_option_is_quoted():
    lines = answer_lines(answer_from_reply(QUESTION, "A or\n\x1bB", **FACTS), QUESTION)
    assert lines[0] == "no answer: the reply names no single option ('A or B')"


def test_cited_frames_are_linked():
    free = fs.Question("When?")
    answer = answer_from_reply(free, "At [0:00:07.000].", note="weak", **FACTS)
    lines = answer_lines(answer, free, report="report.html")
    assert lines[:3] == ["At [0:00:07.000].", "  0:00:07.000  report.html#frame-2", "note: weak"]


def test_empty_free_answer_is_reported():
    free = fs.Question("When?")
    assert answer_lines(answer_from_reply(free, "", **FACTS), free)[0] == "no answer: the reply is empty"
