"""Naming of a question's objects, by rule and with a language model."""

import pytest

import framesift as fs
from framesift.selection.looking.object_names import LanguageModelNamer, RuleBasedNamer
from framesift.types.lookup import Objects, Relation


@pytest.mark.parametrize(
    ("stem", "targets"),
    [
        ("What is the woman in the red coat holding?", ("woman", "red coat")),
        ("How many yellow taxis are there next to the old fountain?", ("yellow taxis", "old fountain")),
        ("What does the man say after the line 'the cat is gone'?", ("man", "line")),
        ("Why?", ()),
    ],
)
def test_noun_phrases_of_the_stem_are_targets(stem, targets):
    assert RuleBasedNamer().name_objects(fs.Question(stem)).targets == targets


def test_noun_phrases_of_the_options_are_cues():
    question = fs.Question("What stands on the launch pad?", ("A. A rocket", "B. A launch pad", "C. A steel crane"))
    named = RuleBasedNamer().name_objects(question)
    assert named.targets == ("launch pad",) and named.cues == ("rocket", "steel crane")


@pytest.mark.parametrize(
    ("stem", "relation"),
    [
        ("Is the dog behind the blue fence?", ("dog", "spatial", "blue fence")),
        ("Is the man wearing a straw hat?", ("man", "attribute", "straw hat")),
        ("Does the rocket start before the rain?", ("rocket", "temporal", "rain")),
        ("Is the game off because of the storm?", ("game", "causal", "storm")),
    ],
)
def test_words_between_two_phrases_give_their_relation(stem, relation):
    assert RuleBasedNamer().name_objects(fs.Question(stem)).relations == (relation,)


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
