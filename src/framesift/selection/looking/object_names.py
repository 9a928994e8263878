"""Naming of the objects in a question: noun phrases by rule, or with a language model.

A namer is anything with `name_objects(question) → Objects`. Selectors that search for objects (`t-star`, `vsi`, …)
use them.
"""

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Protocol

from framesift.selection.looking.access import field_of, parse_json
from framesift.types import Question
from framesift.types.lookup import RELATION_KINDS, Objects, Relation, RelationKind

MAX_PHRASES = 8  # of each kind: more make a detector slower and less certain
MAX_PHRASE_WORDS = 4

# Words that end a noun phrase: what remains between them is mostly things and their attributes.
FUNCTION_WORDS = """
a an the this that these those his her its their my your our some any each every all both no another other such same
which what who whom whose when where why how i you he she it we they me him us them there here one ones
is are was were be been being am do does did done doing has have had having will would can could shall should may might
must and or but nor so if than then as at by for from in into of off on onto out over to toward towards under up down
with without within about above across after against along among around before behind below beneath beside besides
between beyond during except inside near next outside since through throughout until upon while because due not only
also just very more most much many few first second third last finally later video clip scene film movie frame screen
picture image shown following according question answer option true false correct happens happen happened happening
appears appear appeared seen see sees looks look looking says say said saying mentions mention mentioned called named
wearing wears wear worn holding holds hold held doing makes make made making uses use used using goes go going went
gone comes come came coming gets get got getting takes take took taken taking gives give gave given puts put putting
stands stand standing stood sits sit sitting sat walks walk walking walked runs run running ran turns turn turning
turned leaves leave leaving starts start starting begins begin ends end ending tells tell told talks talk talking talked
explains explain asks ask asked shows show showing describes describe described believes believe thinks think feels feel
color colour colors colours kind type number time times way reason purpose thing things left right front back side
"""
RELATION_WORDS: dict[RelationKind, str] = {  # the most specific kind first
    "causal": r"because|because of|so that|causes|caused|leads to|due to|makes|made",
    "temporal": r"before|after|then|while|when|during|until|later",
    "attribute": r"wearing|wears|in an?|with an?|with the|holding|holds|carrying|carries|dressed in",
    "spatial": r"next to|beside|near|behind|in front of|under|above|below|on top of|on|in|inside|between|at|against",
}

_FUNCTION = frozenset(FUNCTION_WORDS.split())
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\n]{2,400}'|\"[^\"\n]{2,400}\"|“[^”\n]{2,400}”|‘[^’\n]{2,400}’)(?!\w)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*|\d+|[^\w\s]")


class ObjectNamer(Protocol):
    """Names the objects to look for."""

    def name_objects(self, question: Question) -> Objects:
        """Return targets, cues and relations."""


class RuleBasedNamer:
    """Names noun phrases: runs of words that are neither function words, common verbs nor quotations.

    Those of the stem are targets, those of the options cues. Two phrases of the stem with only a relation's words
    between them are related.
    """

    def name_objects(self, question: Question) -> Objects:
        stem = _QUOTED.sub(" , ", question.text)
        phrases = list(noun_phrases(stem))
        targets = tuple(dict.fromkeys(phrase for phrase, _, _ in phrases))[:MAX_PHRASES]
        options = (phrase for option in question.valid_options for phrase, _, _ in noun_phrases(option))
        cues = tuple(phrase for phrase in dict.fromkeys(options) if phrase not in targets)[:MAX_PHRASES]
        relations = []
        for (first, _, end), (second, start, _) in pairwise(phrases):
            words = stem[end:start].lower()
            kinds = (kind for kind, names in RELATION_WORDS.items() if re.search(rf"\b(?:{names})\b", words))
            kind = next(kinds, None)
            if kind and first != second and {first, second} <= set(targets):
                relations.append(Relation(first, kind, second))
        return Objects(targets, cues, tuple(dict.fromkeys(relations)))


class LanguageModelNamer:
    """Names objects with a language model; `complete` is any function from a prompt to the model's reply.

    A reply that can't be parsed falls back to the rules.
    """

    PROMPT = (
        "Which objects should be looked for in a video to answer this question? Reply with JSON only: "
        '{{"targets": [...], "cues": [...], "relations": [["object", "spatial|attribute|temporal|causal", "object"]]}}.'
        " Targets are the visible things that answer it, cues are things likely to be near them; at most {limit} each, "
        "two or three words each.\nQuestion: {question}"
    )

    def __init__(self, complete: Callable[[str], str]) -> None:
        self._complete = complete

    def name_objects(self, question: Question) -> Objects:
        prompt = self.PROMPT.format(limit=MAX_PHRASES, question=question.query_text)
        reply = parse_json(self._complete(prompt), dict)
        targets, cues = (_phrases(field_of(reply, name, list)) for name in ("targets", "cues"))
        if not targets:
            return RuleBasedNamer().name_objects(question)
        related = filter(_is_relation, field_of(reply, "relations", list))
        return Objects(targets, cues, tuple(related)[:MAX_PHRASES])


def noun_phrases(text: str) -> Iterable[tuple[str, int, int]]:
    """Yield each phrase in lower case with its start and end; a longer run gives its last words."""
    run = []
    for word in [*_WORD.finditer(text), None]:
        if word is not None and word.group()[0].isalnum() and not _ends_phrase(word.group()):
            run.append(word)
            continue
        phrase = run[-MAX_PHRASE_WORDS:]
        if phrase and not all(part.group().isdigit() for part in phrase):
            yield " ".join(part.group().lower() for part in phrase), phrase[0].start(), phrase[-1].end()
        run = []


def _ends_phrase(word: str) -> bool:
    bare = word.lower().replace("’", "'").removesuffix("'s")
    return bare in _FUNCTION or len(bare) == 1


def _phrases(values: list[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v.strip().lower() for v in values if isinstance(v, str) and v.strip()))[:MAX_PHRASES]


def _is_relation(value: Any) -> bool:
    is_triple = isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) for part in value)
    return is_triple and value[1] in RELATION_KINDS
