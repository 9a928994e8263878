"""Answers on the terminal as they arrive."""

import pytest

from framesift.cli.ask import link_citations, print_stream
from framesift.types import Answer

TIMES_S = (1.0, 7.0, 67.0)
REPORT = "file:///tmp/report.html"


def linked(number, text):
    return f"\033]8;;{REPORT}#frame-{number}\033\\{text}\033]8;;\033\\"


def test_citations_become_links_however_the_text_is_cut():
    text = "He leaves [0:00:07.000] and is back [1:07]; [sic] [9:59] and [Frame 1], a[0]"
    shown = text.replace("[0:00:07.000]", linked(2, "[0:00:07.000]")).replace("[1:07]", linked(3, "[1:07]"))
    shown = shown.replace("[Frame 1]", linked(1, "[Frame 1]"))
    for size in (1, 2, 3, 5, 100):
        pieces = [text[k : k + size] for k in range(0, len(text), size)]
        assert "".join(link_citations(pieces, TIMES_S, report=REPORT)) == shown


def test_without_a_terminal_the_text_is_printed_as_it_is(capsys):
    answer = Answer("At [0:07].")
    assert print_stream(["\nAt [0:", "07].", answer], TIMES_S, report=REPORT) is answer
    assert capsys.readouterr().out == "Answer: At [0:07].\n"


def test_answer_that_was_not_streamed_is_printed(capsys):
    print_stream([Answer("At seven.")], TIMES_S, report="")
    print_stream([Answer("", parsed=False)], TIMES_S, report="")
    assert capsys.readouterr().out == "Answer: At seven.\nAnswer: no answer: the reply is empty\n"


def test_line_is_ended_when_the_stream_is_stopped(capsys):
    def pieces():
        yield "He lea"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        print_stream(pieces(), TIMES_S, report="")
    assert capsys.readouterr().out == "Answer: He lea\n"
