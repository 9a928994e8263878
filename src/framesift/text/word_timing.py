"""Words with their times into events: sentence-like, about as long as a subtitle, and none that was made up."""

import itertools
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from framesift.types import Event

# Events are about as long as a subtitle.
PAUSE_S = 0.6
SHORTEST_S = 1.0
LONGEST_S = 7.0
# Nobody speaks faster; a longer text in the time was made up.
MOST_LETTERS_PER_S = 40.0
# The share of the squeezed text's size above which it repeats itself (openai/whisper).
MOST_COMPRESSION = 2.4
# As many equal events in a row are a loop of the engine, not speech.
LOOP = 4
# What engines write when they hear music or noise.
STOCK = {"you", "uh", "um", "hmm", "thanks for watching", "thank you for watching", "please subscribe"}

_SENTENCE_END = re.compile(r"""[.!?…。！？]["'”’)\]]*$""")
_ECHO = re.compile(r"((?:\S+ ){3,}\S+)(?: \1)+")  # four words or more, and the same again
_CLAUSE_END = re.compile(r"[,;:–—、，；：]$")


@dataclass(frozen=True)
class Word:
    """A word and its time. `text` begins with a space where the language has one."""

    start_s: float
    end_s: float
    text: str


def sentences(words: Sequence[Word]) -> list[Event]:
    """Cut an utterance at pauses and ends of sentences, and what is still too long at its best place inside."""
    pieces: list[list[Word]] = []
    for word in words:
        last = pieces[-1] if pieces else [word]
        ends = _length(last) >= SHORTEST_S and _SENTENCE_END.search(last[-1].text)
        if not pieces or ends or word.start_s - last[-1].end_s >= PAUSE_S:
            pieces.append([word])
        else:
            last.append(word)
    return [_event(part) for piece in _without_crumbs(pieces) for part in _halved(piece)]


def _length(words: Sequence[Word]) -> float:
    return words[-1].end_s - words[0].start_s


def _without_crumbs(pieces: Iterable[list[Word]]) -> list[list[Word]]:
    """Join what is shorter than SHORTEST_S to the sentence right before it."""
    kept: list[list[Word]] = []
    for piece in pieces:
        near = kept and piece[0].start_s - kept[-1][-1].end_s < PAUSE_S / 2
        if near and _length(piece) < SHORTEST_S and _length([*kept[-1], *piece]) <= LONGEST_S:
            kept[-1] = [*kept[-1], *piece]
        else:
            kept.append(piece)
    return kept


def _halved(words: list[Word]) -> list[list[Word]]:
    """Halve, and halve again, until no part is longer than LONGEST_S: after a comma or a pause, near the middle."""
    if len(words) < 2 or _length(words) <= LONGEST_S:
        return [words]
    middle_s = (words[0].start_s + words[-1].end_s) / 2

    def fitness(cut: int) -> float:
        before, after = words[cut - 1], words[cut]
        clause = 0.5 if _CLAUSE_END.search(before.text) else 0.0
        return clause + (after.start_s - before.end_s) - abs(before.end_s - middle_s) / _length(words)

    cut = max(range(1, len(words)), key=fitness)
    return [*_halved(words[:cut]), *_halved(words[cut:])]


def _event(words: Sequence[Word]) -> Event:
    text = " ".join("".join(word.text for word in words).split())
    start_s = max(0.0, words[0].start_s)
    return Event(round(start_s, 3), round(max(start_s, words[-1].end_s), 3), text, source="speech")


def is_invented(event: Event) -> bool:
    """Whether the text looks like what engines write where nobody speaks: nothing, a stock phrase, a loop, a flood."""
    words = _spoken(event.text)
    if not words or " ".join(words) in STOCK:
        return True
    packed = len(event.text.encode()) / len(zlib.compress(event.text.encode()))
    if packed > MOST_COMPRESSION or (len(words) >= 6 and len(set(words)) * 3 <= len(words)):
        return True
    return len(event.text) > MOST_LETTERS_PER_S * max(event.end_s - event.start_s, 0.25)


def without_loops(events: Iterable[Event]) -> list[Event]:
    """Leave one event of each run of LOOP or more that say the same."""
    kept: list[Event] = []
    for _, run in itertools.groupby(events, key=lambda event: _spoken(event.text)):
        same = list(run)
        kept += same if len(same) < LOOP else same[:1]
    return kept


def without_echo(text: str) -> str:
    """A text in which an engine said something twice over, once."""
    return _ECHO.sub(r"\1", text)


def _spoken(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.casefold())
