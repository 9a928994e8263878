"""Grouping of timed words into events as long as subtitles, without what speech engines repeat or hallucinate."""

import itertools
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from framesift.types import Event

PAUSE_S = 0.6
# About as long as subtitles.
MIN_EVENT_S = 1.0
MAX_EVENT_S = 7.0
# Speech is not faster than this.
MAX_LETTERS_PER_S = 40.0
# Ratio of a text's size to its compressed size above which it repeats itself (openai/whisper).
MAX_COMPRESSION = 2.4
# This many equal events in a row are a loop of the engine, not speech.
LOOP_LENGTH = 4
# What engines output for music or noise.
STOCK_PHRASES = {"you", "uh", "um", "hmm", "thanks for watching", "thank you for watching", "please subscribe"}

# How engines mark what is no speech: "♪ …", "[Music]", "(wind blows)", "*sighs*".
_NO_SPEECH = re.compile(r".*[♪♫].*|\[[^\]]*\]\W*|\([^)]*\)\W*|\*[^*]*\*\W*", re.DOTALL)

_SENTENCE_END = re.compile(r"""[.!?…。！？]["'”’)\]]*$""")
_CLAUSE_END = re.compile(r"[,;:–—、，；：]$")


@dataclass(frozen=True)
class Word:
    """A word with its times. `text` starts with a space in languages that separate words."""

    start_s: float
    end_s: float
    text: str


def split_sentences(words: Sequence[Word]) -> list[Event]:
    """Split an utterance at pauses and ends of sentences, and parts that are still too long near their middle."""
    pieces: list[list[Word]] = []
    for word in words:
        last = pieces[-1] if pieces else [word]
        ends = _duration(last) >= MIN_EVENT_S and _SENTENCE_END.search(last[-1].text)
        if not pieces or ends or word.start_s - last[-1].end_s >= PAUSE_S:
            pieces.append([word])
        else:
            last.append(word)
    return [_to_event(part) for piece in _join_short(pieces) for part in _split_long(piece)]


def _duration(words: Sequence[Word]) -> float:
    return words[-1].end_s - words[0].start_s


def _join_short(pieces: Iterable[list[Word]]) -> list[list[Word]]:
    """Join parts shorter than MIN_EVENT_S to the sentence right before them."""
    joined: list[list[Word]] = []
    for piece in pieces:
        near = joined and piece[0].start_s - joined[-1][-1].end_s < PAUSE_S / 2
        if near and _duration(piece) < MIN_EVENT_S and _duration([*joined[-1], *piece]) <= MAX_EVENT_S:
            joined[-1] = [*joined[-1], *piece]
        else:
            joined.append(piece)
    return joined


def _split_long(words: list[Word]) -> list[list[Word]]:
    """Split in two, recursively, until no part exceeds MAX_EVENT_S: after a comma or a pause, near the middle."""
    if len(words) < 2 or _duration(words) <= MAX_EVENT_S:
        return [words]
    middle_s = (words[0].start_s + words[-1].end_s) / 2

    def fitness(cut: int) -> float:
        before, after = words[cut - 1], words[cut]
        clause = 0.5 if _CLAUSE_END.search(before.text) else 0.0
        return clause + (after.start_s - before.end_s) - abs(before.end_s - middle_s) / _duration(words)

    cut = max(range(1, len(words)), key=fitness)
    return [*_split_long(words[:cut]), *_split_long(words[cut:])]


def _to_event(words: Sequence[Word]) -> Event:
    text = " ".join("".join(word.text for word in words).split())
    start_s = max(0.0, words[0].start_s)
    return Event(round(start_s, 3), round(max(start_s, words[-1].end_s), 3), text, source="speech")


def is_hallucination(event: Event) -> bool:
    """Return whether an event is likely hallucinated: empty, no speech, a stock phrase, repetitive or too fast."""
    words = _words(event.text)
    if not words or " ".join(words) in STOCK_PHRASES or _NO_SPEECH.fullmatch(event.text):
        return True
    return repeats_itself(event.text) or len(event.text) > MAX_LETTERS_PER_S * max(event.end_s - event.start_s, 0.25)


def repeats_itself(text: str) -> bool:
    """Return whether a text consists mostly of repetitions."""
    words = _words(text)
    compression = len(text.encode()) / len(zlib.compress(text.encode()))
    return compression > MAX_COMPRESSION or (len(words) >= 6 and len(set(words)) * 3 <= len(words))


def without_loops(events: Iterable[Event]) -> list[Event]:
    """Keep one event of each run of LOOP_LENGTH or more with the same text."""
    remaining = []
    for _, run in itertools.groupby(events, key=lambda event: _words(event.text)):
        same = list(run)
        remaining += same if len(same) < LOOP_LENGTH else same[:1]
    return remaining


def without_overlaps(events: Iterable[Event]) -> list[Event]:
    """Order events by start and end each one no later than the next one starts."""
    ordered = sorted(events, key=lambda event: event.start_s)
    clipped = [replace(a, end_s=min(a.end_s, b.start_s)) for a, b in itertools.pairwise(ordered)]
    return clipped + ordered[-1:]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.casefold())
