"""Merging of the events of several sources: text that two sources share is taken from the more reliable one."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import chain

import numpy as np

from framesift.types import Event

# By reliability: people wrote subtitles; screen text has errors of OCR, speech those of recognition. A source of the
# user's own comes right after subtitles.
RANKS = {"subtitles": 0, "screen": 2, "speech": 3}
OTHER_RANK = 1
# How far apart two sources may time the same words.
MAX_SHIFT_S = 1.5
# An event is a duplicate if the other source has this share of its words in order, or if the letters are this similar.
MIN_SHARED_WORDS = 0.6
MIN_SIMILARITY = 0.75

# Scripts without spaces are compared by character.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|[^\W_]+")


def merge_events(*sources: Sequence[Event]) -> list[Event]:
    """Return all events sorted by start, without those whose text a more reliable source has at about the same time.

    Subtitles rank before screen text, and that before speech. Events of the same source are not compared: a line that
    is spoken twice stays twice. The only source stays as it is.
    """
    if len(sources) == 1:
        return list(sources[0])
    ordered = sorted(chain.from_iterable(sources), key=lambda event: RANKS.get(event.source, OTHER_RANK))
    names = list(dict.fromkeys(event.source for event in ordered))
    merged: list[Event] = []
    for name in names:
        more_reliable = _TimedEvents(merged)
        merged += [event for event in ordered if event.source == name and not more_reliable.contains(event)]
    return sorted(merged, key=lambda event: (event.start_s, event.end_s))


class _TimedEvents:
    """Events with fast lookup by time."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = sorted(events, key=lambda event: event.start_s)
        self._tokens = [tokens(event.text) for event in self._events]
        self._starts = np.array([event.start_s for event in self._events])
        self._ends = np.array([event.end_s for event in self._events])

    def contains(self, event: Event) -> bool:
        """Return whether the events near this one have its text."""
        near = (self._starts <= event.end_s + MAX_SHIFT_S) & (self._ends >= event.start_s - MAX_SHIFT_S)
        own = tokens(event.text)
        if not own or not near.any():
            return False
        theirs = [self._tokens[k] for k in np.flatnonzero(near)]
        if shared_words(own, list(chain.from_iterable(theirs))) >= MIN_SHARED_WORDS:
            return True
        letters = "".join(own)
        return any(SequenceMatcher(None, letters, "".join(t), autojunk=False).ratio() >= MIN_SIMILARITY for t in theirs)


def tokens(text: str) -> list[str]:
    """Split into words for comparison: without case, punctuation and width variants."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", ""))


def shared_words(own: Sequence[str], theirs: Sequence[str]) -> float:
    """Return the share of `own` that `theirs` has in the same order."""
    blocks = SequenceMatcher(None, own, theirs, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks) / len(own)
