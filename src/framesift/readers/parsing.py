"""Parsing a reply: the one option it names, or the frame times it cites. Nothing is guessed.

A reply that arrives in pieces is made safe to show.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from framesift.types import Question
from framesift.types.question import option_letter

# "A" and "I" are also words: before another word they count as an option only when one of these follows.
_CLAUSE = re.compile(r"\s+(?:because|since|as|due|is|was|and|or|but|based|which|that|given|according)\b")
_NEGATION = re.compile(r"\b(?:not|no|none|never|neither|nor|without|except|incorrect|wrong)\b|n['’]t\b|[不没沒無非]")
# Some servers omit the opening tag; without the closing one the reply was truncated before the answer.
_THINKING = re.compile(r"\A.*</think(?:ing)?>|<think(?:ing)?>.*", re.DOTALL | re.IGNORECASE)
_MARKUP = re.compile(r"\\boxed|\\text|[*_`$#{}]+")
_LONE_LETTER = re.compile(r"\W*([a-z])(?![+#])\W*", re.IGNORECASE)
_LEADING_LABEL = re.compile(r"\W*([a-z])\s*[).:\]](?!\w)", re.IGNORECASE)
# Not a letter of a word, of an abbreviation (E.g., D.C.), of a hyphenated word (T-shirt) or of a name like C++.
_LETTER = re.compile(r"(?<![A-Za-z0-9'’&-])(?<![A-Z]\.)([A-Z])(?![A-Za-z0-9+#&]|['’]\w|-\w|\.[a-z]|\.[A-Z]\.)")
_CLOCK = re.compile(r"(?<![\d:.])(?:(\d{1,3}):)?(\d{1,3}):(\d{2}(?:[.,]\d{1,3})?)(?![\d:])")
_SECONDS = re.compile(r"(?<![\d:.])(\d{1,6}(?:\.\d{1,3})?)\s?(?:s|sec|seconds?)\b")
FRAME_NUMBER = re.compile(r"\bframes?\s*#?(\d{1,4})\b", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Longer than any tag of reasoning, with white space before it.
_TAG_CHARACTERS = 32
_OPENING = re.compile(r"\s*<think(?:ing)?>", re.I)
_CLOSING = re.compile(r"</think(?:ing)?>\s*", re.I)

CITATION_TOLERANCE_S = 1.0  # between a cited time and the frame's: replies round to seconds


def parse_choice(reply: str, question: Question) -> int | None:
    """Return the index of the one option a reply names, by letter or by its text; None for none or several.

    Full-width and circled letters are read as plain ones. Look-alikes of other alphabets are not: a Cyrillic В looks
    like the second option and is the third letter of its own alphabet.
    """
    choices = question.choices
    text = _MARKUP.sub(" ", unicodedata.normalize("NFKC", strip_thinking(reply))).strip()
    letters = _letters(text, choices)
    if len(letters) == 1:
        choice = letters.pop()
        return None if _contradicts(text, choice, choices) else choice
    return None if letters else _match_option_text(text, choices)


def cited_times(text: str, times_s: Sequence[float]) -> list[float]:
    """Return the frames' times that a free answer cites, as clock times, seconds or "frame 3"; ascending, unique."""
    named = []
    for hours, minutes, seconds in _CLOCK.findall(text):
        named.append(3600 * int(hours or 0) + 60 * int(minutes) + float(seconds.replace(",", ".")))
    named += [float(seconds) for seconds in _SECONDS.findall(_CLOCK.sub(" ", text))]
    cited = {times_s[int(k) - 1] for k in FRAME_NUMBER.findall(text) if 1 <= int(k) <= len(times_s)}
    for time_s in named:
        away_s, nearest = min(((abs(own - time_s), own) for own in times_s), default=(math.inf, 0.0))
        if away_s <= CITATION_TOLERANCE_S:
            cited.add(nearest)
    return sorted(cited)


def strip_thinking(reply: str) -> str:
    """Remove the reasoning that some models write before their answer."""
    return _THINKING.sub("", reply)


def strip_control(text: str) -> str:
    """Remove control characters, which could drive the terminal that a reply is printed on, and outer white space."""
    return remove_control(text).strip()


def remove_control(text: str) -> str:
    """Remove control characters; line breaks and tabs stay."""
    return _CONTROL.sub("", text.replace("\r\n", "\n"))


def _letters(text: str, choices: Mapping[int, str]) -> set[int]:
    """Indices of the options whose letters occur in the reply as letters."""
    known = {option_letter(k): k for k in choices}
    for pattern in (_LONE_LETTER.fullmatch, _LEADING_LABEL.match):
        label = pattern(text)
        if label and label.group(1).upper() in known:
            rest = _strip_options(text[label.end() :], choices)
            return {known[label.group(1).upper()]} | _capitals(rest, known)
    return _capitals(_strip_options(text, choices), known)


def _capitals(text: str, known: Mapping[str, int]) -> set[int]:
    found = set()
    for match in _LETTER.finditer(text):
        letter, rest = match.group(1), text[match.end() :]
        is_word = letter in "AI" and re.match(r"[ \t]+\w", rest) and not _CLAUSE.match(rest)
        if letter in known and not is_word:
            found.add(known[letter])
    return found


def _match_option_text(text: str, choices: Mapping[int, str]) -> int | None:
    """The one option whose text occurs in the reply; None if the rest of the reply contains a negation."""
    plain = _plain(text)
    exact = [k for k, option in choices.items() if _plain(option) == plain]
    if exact:
        return exact[0] if len(exact) == 1 else None
    found = []
    for k, option in sorted(choices.items(), key=lambda item: -len(item[1])):
        pattern = _option_pattern(option)
        if pattern and pattern.search(plain):
            found.append(k)
            plain = pattern.sub(" ", plain)
    return found[0] if len(found) == 1 and not _NEGATION.search(plain) else None


def _contradicts(text: str, choice: int, choices: Mapping[int, str]) -> bool:
    """Whether a letter is followed by exactly the text of another option."""
    label = _LEADING_LABEL.match(text)
    rest = _plain(text[label.end() :]) if label else ""
    return bool(rest) and rest != _plain(choices[choice]) and rest in {_plain(option) for option in choices.values()}


def _strip_options(text: str, choices: Mapping[int, str]) -> str:
    """Remove the options' texts from a reply: their capitals are not option letters ("Plan C", "A book")."""
    for option in sorted(choices.values(), key=len, reverse=True):
        words = unicodedata.normalize("NFKC", option).strip()
        if len(words) > 1:
            text = re.sub(rf"(?<!\w){re.escape(words)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return text


def _option_pattern(option: str) -> re.Pattern[str] | None:
    plain = _plain(option)
    return re.compile(rf"(?<!\w){re.escape(plain)}(?!\w)") if len(plain) > 1 else None


def _plain(text: str) -> str:
    """Lower case, single spaces, no punctuation at either end."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .,:;!?\"'“”‘’()[]。，、！？")


# A reply in pieces --------------------------------------------------------------------------------------------------


def readable_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """Yield a reply in pieces without reasoning at its start and control characters."""
    for piece in _without_reasoning(pieces):
        text = remove_control(piece)
        if text:
            yield text


def _without_reasoning(pieces: Iterable[str]) -> Iterator[str]:
    held = ""
    state = "start"
    for piece in pieces:
        if state == "reply":
            yield piece
            continue
        held += piece
        if state == "start":
            if _OPENING.match(held):
                state = "reasoning"
            elif _may_become_tag(held):
                continue
            else:
                state = "reply"
                yield held
        if state == "reasoning":
            closing = _CLOSING.search(held)
            # White space after the tag may come in the next piece.
            if closing and closing.end() < len(held):
                state = "reply"
                yield held[closing.end() :]
            elif not closing:
                held = held[-_TAG_CHARACTERS:]
    if state == "start":
        yield held


def _may_become_tag(text: str) -> bool:
    start = text.lstrip().lower()
    return len(text) <= _TAG_CHARACTERS and any(tag.startswith(start) for tag in ("<think>", "<thinking>"))
