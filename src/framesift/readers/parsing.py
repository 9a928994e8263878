"""What a reply says: the one option it names, or the frame times it cites. Nothing is ever guessed."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence

from framesift.types import Question
from framesift.types.question import option_letter

# "A" and "I" are words too: before another word they count as an option only when one of these follows.
_AFTER_A_LETTER = "because|since|as|due|is|was|and|or|but|based|which|that|given|according"
_NEGATION = re.compile(r"\b(?:not|no|none|never|neither|nor|without|except|incorrect|wrong)\b|n['’]t\b|[不没沒無非]")
# Some servers leave out the first tag; without the last one the model was cut off before it answered.
_THINKING = re.compile(r"\A.*</think(?:ing)?>|<think(?:ing)?>.*", re.DOTALL | re.IGNORECASE)
_MARKUP = re.compile(r"\\boxed|\\text|[*_`$#{}]+")
_LONE_LETTER = re.compile(r"\W*([a-z])(?![+#])\W*", re.IGNORECASE)
_OPENING_MARK = re.compile(r"\W*([a-z])\s*[).:\]](?!\w)", re.IGNORECASE)
# Not a letter of a word, of an abbreviation (E.g., D.C.), of a hyphened word (T-shirt) or of a name like C++.
_LETTER = re.compile(r"(?<![A-Za-z0-9'’&-])(?<![A-Z]\.)([A-Z])(?![A-Za-z0-9+#&]|['’]\w|-\w|\.[a-z]|\.[A-Z]\.)")
_CLOCK = re.compile(r"(?<![\d:.])(?:(\d{1,3}):)?(\d{1,3}):(\d{2}(?:[.,]\d{1,3})?)(?![\d:])")
_SECONDS = re.compile(r"(?<![\d:.])(\d{1,6}(?:\.\d{1,3})?)\s?(?:s|sec|seconds?)\b")
_FRAME = re.compile(r"\bframes?\s+#?(\d{1,4})\b", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

CITED_WITHIN_S = 1.0  # how far a cited time may lie from a frame's own: replies round to seconds


def parse_choice(reply: str, question: Question) -> int | None:
    """The position of the one option a reply names by its letter or in its own words; None for none or several.

    Full-width and circled letters are read as plain ones. Look-alikes of other alphabets are not: a Cyrillic В stands
    for the second option to the eye and for the third in its own alphabet.
    """
    choices = question.choices
    text = _MARKUP.sub(" ", unicodedata.normalize("NFKC", without_thinking(reply))).strip()
    named = _letters(text, choices)
    if len(named) == 1:
        chosen = named.pop()
        return None if _contradicts(text, chosen, choices) else chosen
    return None if named else _by_words(text, choices)


def cited_times(text: str, times_s: Sequence[float]) -> list[float]:
    """Which of the frames' times a free answer cites, as clock times, seconds or "frame 3"; ascending, each once."""
    named: list[float] = []
    for hours, minutes, seconds in _CLOCK.findall(text):
        named.append(3600 * int(hours or 0) + 60 * int(minutes) + float(seconds.replace(",", ".")))
    named += [float(seconds) for seconds in _SECONDS.findall(_CLOCK.sub(" ", text))]
    cited = {times_s[int(k) - 1] for k in _FRAME.findall(text) if 1 <= int(k) <= len(times_s)}
    for time_s in named:
        away_s, nearest = min(((abs(own - time_s), own) for own in times_s), default=(math.inf, 0.0))
        if away_s <= CITED_WITHIN_S:
            cited.add(nearest)
    return sorted(cited)


def without_thinking(reply: str) -> str:
    """What a reply says after the model has thought aloud."""
    return _THINKING.sub("", reply)


def cleaned(text: str) -> str:
    """A reply without control characters, which could drive the terminal it is printed on."""
    return _CONTROL.sub("", text.replace("\r\n", "\n")).strip()


def _letters(text: str, choices: Mapping[int, str]) -> set[int]:
    """The positions of all options whose letters stand in the reply as letters."""
    known = {option_letter(k): k for k in choices}
    for pattern in (_LONE_LETTER.fullmatch, _OPENING_MARK.match):
        mark = pattern(text)
        if mark and mark.group(1).upper() in known:
            rest = _without_options(text[mark.end() :], choices)
            return {known[mark.group(1).upper()]} | _capitals(rest, known)
    return _capitals(_without_options(text, choices), known)


def _capitals(text: str, known: Mapping[str, int]) -> set[int]:
    found = set()
    for match in _LETTER.finditer(text):
        letter, rest = match.group(1), text[match.end() :]
        is_word = letter in "AI" and re.match(r"[ \t]+\w", rest) and not _continues(rest)
        if letter in known and not is_word:
            found.add(known[letter])
    return found


def _continues(rest: str) -> bool:
    return re.match(rf"\s+(?:{_AFTER_A_LETTER})\b", rest) is not None


def _by_words(text: str, choices: Mapping[int, str]) -> int | None:
    """The one option whose own words stand in the reply; none where the rest of the reply denies something."""
    plain = _plain(text)
    exact = [k for k, option in choices.items() if _plain(option) == plain]
    if exact:
        return exact[0] if len(exact) == 1 else None
    found = []
    for k, option in sorted(choices.items(), key=lambda item: -len(item[1])):
        pattern = _words(option)
        if pattern and pattern.search(plain):
            found.append(k)
            plain = pattern.sub(" ", plain)
    return found[0] if len(found) == 1 and not _NEGATION.search(plain) else None


def _contradicts(text: str, chosen: int, choices: Mapping[int, str]) -> bool:
    """Whether a letter is followed by nothing but the words of another option."""
    mark = _OPENING_MARK.match(text)
    rest = _plain(text[mark.end() :]) if mark else ""
    return bool(rest) and rest != _plain(choices[chosen]) and rest in {_plain(option) for option in choices.values()}


def _without_options(text: str, choices: Mapping[int, str]) -> str:
    """The reply without the options' own words, whose capitals name nothing ("Plan C", "A book")."""
    for option in sorted(choices.values(), key=len, reverse=True):
        words = unicodedata.normalize("NFKC", option).strip()
        if len(words) > 1:
            text = re.sub(rf"(?<!\w){re.escape(words)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return text


def _words(option: str) -> re.Pattern[str] | None:
    plain = _plain(option)
    return re.compile(rf"(?<!\w){re.escape(plain)}(?!\w)") if len(plain) > 1 else None


def _plain(text: str) -> str:
    """Lower case, single spaces, no punctuation at either end."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .,:;!?\"'“”‘’()[]。，、！？")
