"""Naming of a question's objects, by rule and with a language model."""

import pytest

import framesift as fs
from framesift.selection.looking.object_names import LanguageModelNamer, RuleBasedNamer
from framesift.types.lookup import Objects, Relation

NAMED = [
    ("What is the woman in the red coat holding?", {"targets": ("woman", "red coat")}),
    ("How many yellow taxis are there next to the old fountain?", {"targets": ("yellow taxis", "old fountain")}),
    ("What does the man say after the line 'the cat is gone'?", {"targets": ("man", "line")}),
    ("Why?", {"targets": ()}),
    ("What stands on the launch pad? A. A rocket B. A launch pad", {"targets": ("launch pad",), "cues": ("rocket",)}),
    ("Is the dog behind the blue fence?", {"relations": (("dog", "spatial", "blue fence"),)}),
    ("Is the man wearing a straw hat?", {"relations": (("man", "attribute", "straw hat"),)}),
    ("Does the rocket start before the rain?", {"relations": (("rocket", "temporal", "rain"),)}),
    ("Is the game off because of the storm?", {"relations": (("game", "causal", "storm"),)}),
]


@pytest.mark.parametrize(("question", "expected"), NAMED)
def test_noun_phrases_are_targets_those_of_options_cues_and_words_between_them_relations(question, expected):
    named = RuleBasedNamer().name_objects(fs.Question(question))
    assert {part: getattr(named, part) for part in expected} == expected


def test_reply_of_a_language_model_is_parsed():
    prompts = []

    def complete(prompt):
        prompts.append(prompt)
        relations = '[["red car", "spatial", "road"], ["x", "y", "z"]]'
        return f'Sure: {{"targets": ["Red Car"], "cues": ["road"], "relations": {relations}}}'

    named = LanguageModelNamer(complete).name_objects(fs.Question("Where does it park?", ("A. On the road",)))
    assert named == Objects(("red car",), ("road",), (Relation("red car", "spatial", "road"),))
    assert "Where does it park? On the road" in prompts[0]


@pytest.mark.parametrize("reply", ["I don't know", "{broken", '{"targets": "car"}', "[1]"])
def test_unparsable_reply_falls_back_to_the_rules(reply):
    question = fs.Question("Where is the car?")
    assert LanguageModelNamer(lambda _: reply).name_objects(question) == RuleBasedNamer().name_objects(question)


def test_texts_and_unknown_relations_are_rejected():
    with pytest.raises(fs.InputError, match="expected a list of phrases"):
        Objects("red car")
    with pytest.raises(fs.InputError, match="'beside'; expected one of spatial, attribute, temporal, causal"):
        Objects(("a",), relations=(("a", "beside", "b"),))
