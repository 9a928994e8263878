"""Words that a question and the events share: BM25 (Robertson and Zaragoza, 2009) over a video's events."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from framesift.types import Array

# How soon repeated words stop counting. Long events are not discounted: in speech they are those that say something.
SATURATION = 1.2

# What a word of a speaker's label counts: in "Tom: Run!", Tom is not what is said.
LABEL_WEIGHT = 0.5

# Inflected forms mostly share their first letters, in many languages.
STEM_LENGTH = 6

_FUNCTION_WORDS = (
    "a about also am an and are as at be been being but by can could d did do does doing for from had has have he her "
    "here him his how i if in into is it its just ll m may me might must my no not of on or our out re s shall she "
    "should so t than that the their them then there these they this those to up us ve was we were what when where "
    "which who whom whose why will with would you your"
)
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())

WORD = re.compile(r"[^\W_]+")
_LABEL = re.compile(r"[^:\n]{1,40}:\s|")
# Scripts written without spaces between words.
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


class EventWords:
    """The words of a video's events, counted once for any number of questions."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts: list[dict[str, float]] = []
        for text in texts:
            counts: dict[str, float] = {}
            label = _LABEL.match(text)
            start = label.end() if label else 0
            for part, weight in ((text[:start], LABEL_WEIGHT), (text[start:], 1.0)):
                for term in content_terms(part):
                    counts[term] = counts.get(term, 0.0) + weight
            self._counts.append(counts)

    def scores(self, question: str) -> Array:
        """(E,) BM25 of each event for the question, from 0 to about 1: as a share of the question's total weight."""
        terms = list(dict.fromkeys(content_terms(question)))
        events = len(self._counts)
        if not terms or not any(self._counts):
            return np.zeros(events)
        counts = np.array([[found.get(term, 0) for term in terms] for found in self._counts], dtype=np.float64)
        containing = (counts > 0).sum(axis=0)
        weights = np.log1p((events - containing + 0.5) / (containing + 0.5))
        shares: Array = (counts / (counts + SATURATION) * weights).sum(axis=1) * (SATURATION + 1.0) / weights.sum()
        return shares


def quoting(texts: Sequence[str], question: str) -> list[int]:
    """The indices of the texts that contain every word of the question; none if it has function words only."""
    terms = set(content_terms(question))
    # A shortened word is part of a text that contains the word: most texts need not be split.
    return [
        k
        for k, text in enumerate(texts)
        if terms and all(term in text.lower() for term in terms) and terms.issubset(content_terms(text))
    ]


def is_quote(text: str, question: str) -> bool:
    """Whether the text contains every word of the question, and these are at least two or all of the text's own.

    A single word may be meant as a picture. Function words do not count.
    """
    terms, own = set(content_terms(question)), set(content_terms(text))
    return bool(terms) and terms <= own and (len(terms) > 1 or terms == own)


def content_terms(text: str) -> list[str]:
    """A text's words as they are compared: lower case, shortened, without function words."""
    return [term for word in WORD.findall(text.lower()) for term in _stems(word)]


@lru_cache(maxsize=65536)
def _stems(word: str) -> tuple[str, ...]:
    if word in STOP_WORDS:
        return ()
    if len(word) > 1 and UNSPACED.search(word):
        return tuple(first + second for first, second in pairwise(word))
    return (word[:STEM_LENGTH],)
