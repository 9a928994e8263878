"""Merging of the events of several sources: text that two sources share is taken from the more reliable one."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import chain

import numpy as np

from framesift.types import Event
from framesift.types.video import EventList

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
    events = list(chain.from_iterable(sources))
    names = sorted(dict.fromkeys(event.source for event in events), key=lambda name: RANKS.get(name, OTHER_RANK))
    merged: list[Event] = []
    for name in names:
        merged.sort(key=lambda event: event.start_s)
        texts = [tokens(event.text) for event in merged]
        starts, ends = EventList(merged).times_s.T
        for event in (event for event in events if event.source == name):
            near = (starts <= event.end_s + MAX_SHIFT_S) & (ends >= event.start_s - MAX_SHIFT_S)
            if not _has_text([texts[k] for k in np.flatnonzero(near)], tokens(event.text)):
                merged.append(event)
    return sorted(merged, key=lambda event: (event.start_s, event.end_s))


def _has_text(theirs: list[list[str]], own: list[str]) -> bool:
    """Return whether the words of other events contain those of one."""
    if not own or not theirs:
        return False
    blocks = SequenceMatcher(None, own, list(chain.from_iterable(theirs)), autojunk=False).get_matching_blocks()
    if sum(block.size for block in blocks) / len(own) >= MIN_SHARED_WORDS:
        return True
    letters = "".join(own)
    return any(SequenceMatcher(None, letters, "".join(t), autojunk=False).ratio() >= MIN_SIMILARITY for t in theirs)


def tokens(text: str) -> list[str]:
    """Split into words for comparison: without case, punctuation and width variants."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", ""))
