"""Answers on the terminal as they arrive."""

import pytest

from framesift.cli.ask import print_stream
from framesift.types import Answer


def test_pieces_are_printed_as_they_arrive(capsys):
    answer = Answer("At [0:07].")
    assert print_stream(["\nAt [0:", "07].", answer]) is answer
    assert capsys.readouterr().out == "Answer: At [0:07].\n"


def test_answer_that_was_not_streamed_is_printed(capsys):
    print_stream([Answer("At seven.")])
    print_stream([Answer("", parsed=False)])
    assert capsys.readouterr().out == "Answer: At seven.\nAnswer: no answer: the reply is empty\n"


def test_line_is_ended_when_the_stream_is_stopped(capsys):
    def pieces():
        yield "He lea"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        print_stream(pieces())
    assert capsys.readouterr().out == "Answer: He lea\n"
