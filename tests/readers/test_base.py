"""One call for every reader, by name, address or object."""

import sys
from dataclasses import replace
from types import ModuleType

import pytest

import framesift as fs
from framesift.errors import InputError, OptionError, UnknownName
from framesift.readers import base
from framesift.readers.base import ask, ask_many, get_reader, readers, settle


class Parrot:
    """Always says the same."""

    def __init__(self, *, words="B"):
        self.words = words

    def answer(self, exhibit, question, text_mode="aligned"):
        return settle(question, self.words, text_mode=text_mode)


def test_any_object_that_answers_is_a_reader(exhibit, question):
    assert ask(exhibit, question, reader=Parrot()).text == "The wind"


def test_a_question_may_be_plain_words(exhibit):
    assert ask(exhibit, "What is it?", reader=Parrot(words="A van.")).text == "A van."


def test_the_selections_own_question_is_asked(exhibit, question):
    from framesift.types import Basis

    basis = Basis([0.0, 1.0], [0.0, 0.0], 2.0, question=question)
    with_question = replace(exhibit, selection=replace(exhibit.selection, basis=basis))
    assert ask(with_question, reader=Parrot()).letter == "B"


def test_without_any_question_one_is_asked_for(exhibit):
    with pytest.raises(InputError, match="no question was given"):
        ask(exhibit, reader=Parrot())


def test_an_unknown_way_of_showing_text_is_refused(exhibit, question):
    with pytest.raises(OptionError, match="text_mode is 'loud'"):
        ask(exhibit, question, reader=Parrot(), text_mode="loud")


def test_another_packages_reader_is_found_by_name(exhibit, question, monkeypatch):
    from importlib.metadata import EntryPoint

    module = ModuleType("parrots")
    module.Parrot = Parrot
    monkeypatch.setitem(sys.modules, "parrots", module)
    entry = EntryPoint("parrot", "parrots:Parrot", base.ENTRY_POINTS)
    monkeypatch.setattr(base, "entry_points", lambda group: [entry])
    assert ask(exhibit, question, reader="parrot", words="C").letter == "C"
    assert readers()["parrot"] == "from parrots:Parrot"
    with pytest.raises(OptionError, match="parrot has no option 'volume'; it knows words = 'B'"):
        get_reader("parrot", volume=3)


def test_an_unknown_reader_lists_the_known_ones():
    with pytest.raises(UnknownName, match="local:MODEL, similarity"):
        get_reader("oracle")


def test_an_object_that_cannot_answer_is_refused():
    with pytest.raises(InputError, match="of type int"):
        get_reader(3)


def test_options_for_a_ready_reader_are_refused():
    with pytest.raises(OptionError, match="volume"):
        get_reader(Parrot(), volume=3)


def test_a_reader_is_made_once():
    assert get_reader("similarity", best=2) is get_reader("similarity", best=2)
    assert get_reader("similarity", best=2) is not get_reader("similarity", best=3)


def test_readers_are_listed():
    assert {"local:qwen2.5-vl-7b", "local:llava-video-7b", "similarity"} <= readers().keys()


def test_many_questions_are_read_only_a_little_ahead(exhibit, question):
    taken = []

    def pairs():
        for k in range(100):
            taken.append(k)
            yield exhibit, question

    answers = ask_many(pairs(), reader=Parrot(), concurrency=2)
    next(answers)
    answers.close()
    assert len(taken) <= 5


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"concurrency": True}, {"on_error": "hope"}])
def test_options_of_many_are_checked(exhibit, question, options):
    with pytest.raises(OptionError, match="expected"):
        list(ask_many([(exhibit, question)], reader=Parrot(), **options))


def test_an_answer_is_json_values(exhibit, question):
    import json

    told = json.loads(json.dumps(ask(exhibit, question, reader=Parrot()).to_dict()))
    assert told["letter"] == "B" and told["choice"] == 1 and told["parsed"] is True


def test_a_free_answer_comes_without_the_thinking():
    answer = settle(fs.Question("What?"), "<think>Hm.</think>\nA van.")
    assert (answer.text, answer.raw) == ("A van.", "<think>Hm.</think>\nA van.")


def test_a_letter_is_that_of_the_options_own_place():
    question = fs.Question("Which?", ["red", "N/A", "blue"])
    assert (settle(question, "C").letter, settle(question, "C").text) == ("C", "blue")
