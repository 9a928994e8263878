"""Events of several sources in one list: what two of them tell alike is kept once, from the better one."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import chain

import numpy as np

from framesift.types import Event

# Subtitles were written by people; burned-in ones were too, but had to be read; speech had to be understood. A source
# of the user's own comes right after subtitles.
RANKS = {"subtitles": 0, "screen": 2, "speech": 3}
OWN_RANK = 1
# How far apart two sources may time the same words.
SLACK_S = 1.5
# The share of an event's words that the better source must have, in order, or the likeness of the two texts' letters.
SHARED_WORDS = 0.6
LIKENESS = 0.75

# Scripts without spaces are compared by the character.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|[^\W_]+")


def merge_events(*sources: Sequence[Event]) -> list[Event]:
    """All events sorted by start, without those that a better source tells at about the same time.

    Subtitles come before text read off the screen, and that before speech. Events of one source are never compared
    with each other: a line said twice stays twice.
    """
    ordered = sorted(chain.from_iterable(sources), key=lambda event: RANKS.get(event.source, OWN_RANK))
    names = list(dict.fromkeys(event.source for event in ordered))
    kept: list[Event] = []
    for name in names:
        better = _Timeline(kept)
        kept += [event for event in ordered if event.source == name and not better.tells(event)]
    return sorted(kept, key=lambda event: (event.start_s, event.end_s))


class _Timeline:
    """The events kept so far, to be asked what is near a time."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = sorted(events, key=lambda event: event.start_s)
        self._tokens = [tokens(event.text) for event in self._events]
        self._starts = np.array([event.start_s for event in self._events])
        self._ends = np.array([event.end_s for event in self._events])

    def tells(self, event: Event) -> bool:
        near = (self._starts <= event.end_s + SLACK_S) & (self._ends >= event.start_s - SLACK_S)
        own = tokens(event.text)
        if not own or not near.any():
            return False
        theirs = [self._tokens[k] for k in np.flatnonzero(near)]
        if shared(own, list(chain.from_iterable(theirs))) >= SHARED_WORDS:
            return True
        letters = "".join(own)
        return any(SequenceMatcher(None, letters, "".join(t), autojunk=False).ratio() >= LIKENESS for t in theirs)


def tokens(text: str) -> list[str]:
    """The words of a text as they are compared: no case, no punctuation, no width variants."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", ""))


def shared(own: Sequence[str], theirs: Sequence[str]) -> float:
    """The share of `own` words that `theirs` has in the same order."""
    blocks = SequenceMatcher(None, own, theirs, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(own)
