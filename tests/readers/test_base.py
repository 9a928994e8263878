"""Readers by name, address or object, and the calls that ask them."""

import threading

import numpy as np
import pytest

import framesift as fs
from framesift.errors import InputError, OptionError, ReaderError, UnknownName
from framesift.pipeline.video import ask
from framesift.readers.answers import answer_from_reply
from framesift.readers.base import get_reader, readers


def opened(reader, **settings):
    index = fs.VideoIndex(fs.VideoInfo("v.mp4", 1.0), np.zeros(1), np.eye(1), "none")
    return fs.open(index, reader=reader, **settings)


class Parrot:
    """Always gives the same reply."""

    def __init__(self, *, words="B"):
        self.words = words

    def answer(self, exhibit, question, text_mode="aligned"):
        return answer_from_reply(question, self.words, text_mode=text_mode)


def test_error_of_a_reader_that_is_not_ours_is_a_sentence(exhibit, question):
    class Fragile:
        def answer(self, exhibit, question, text_mode):
            return {}["answer"] if question.options else "B"

    with pytest.raises(ReaderError, match=r"the reader Fragile failed \(KeyError: 'answer'\)"):
        ask(exhibit, question, reader=Fragile())
    with pytest.raises(InputError, match="no question was given"):
        ask(exhibit, reader=Fragile())
    with pytest.raises(ReaderError, match="the reader Fragile returned a str; expected an Answer"):
        ask(exhibit, "Why?", reader=Fragile())


ADDRESS = "http://localhost:8000/v1"
NAMES = ("timeout_s", "quality", "longest_side", "max_tokens", "preset", "times")


@pytest.mark.parametrize(
    ("reader", "options", "error", "message"),
    [
        *[(ADDRESS, {name: {"a": 1}}, InputError, rf"{name} is an object of 1; expected") for name in NAMES],
        ("oracle", {}, UnknownName, "local:MODEL, similarity"),
        (3, {}, InputError, "of type int"),
        (Parrot(), {"volume": 3}, OptionError, "volume"),
    ],
)
def test_reader_that_can_not_be_used_is_an_error(reader, options, error, message):
    with pytest.raises(error, match=message):
        get_reader(reader, **options)


def test_reader_is_created_once_per_set_of_options():
    assert get_reader(ADDRESS, quality=80) is get_reader(ADDRESS, quality=80)
    assert get_reader(ADDRESS, quality=80) is not get_reader(ADDRESS, quality=81)
    assert {"local:qwen2.5-vl-7b", "local:llava-video-7b", "similarity"} <= readers().keys()


def test_many_questions_are_read_only_slightly_ahead(exhibit, question):
    taken = []

    def pairs():
        for k in range(100):
            taken.append(k)
            yield exhibit, question

    answers = opened(Parrot(), concurrency=2).answer_many(pairs())
    next(answers)
    answers.close()
    assert len(taken) <= 5


def test_many_questions_are_asked_at_once_within_the_limit_and_ordered(server, exhibit, question):
    server.hold = threading.Barrier(3)
    pairs = ((exhibit, fs.Question(f"Number {k}?", ["x", "y"])) for k in range(6))
    answers = list(opened(server.url, concurrency=3).answer_many(pairs))
    assert [answer.letter for answer in answers] == ["B"] * 6
    assert server.most_at_once == 3


def test_failure_of_one_of_many_questions_is_kept_on_request_and_else_an_error(server, exhibit, question):
    one_by_one = opened(server.url, concurrency=1)
    server.refuse(400, "odd")
    failed, answered = one_by_one.answer_many([(exhibit, question)] * 2, keep_failures=True)
    assert (failed.parsed, answered.parsed) == (False, True) and "returned 400: odd" in failed.note
    server.refuse(400, "odd")
    with pytest.raises(ReaderError, match="odd"):
        list(one_by_one.answer_many([(exhibit, question)] * 2))
