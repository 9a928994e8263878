"""Questions, their answer options, and how much a question depends on what is visible."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from framesift._utils.records import Name, read_value, shown
from framesift.errors import InputError

# "(a)(c)(b)" is an order of events, not option A.
_LETTER = re.compile(r"^\s*[(\[]?([A-Za-z])[)\].:、](?![(\[])\s*")
_LETTER_ALONE = re.compile(r"[(\[]?([A-Za-z])[)\].:]{0,2}")
# "A) …", "(B) …", "C. …", "D: …", at the start of a line or after a space.
_OPTION_MARKER = re.compile(r"(?:^|(?<=\s))[(\[]?([A-J])[)\].:、]\s*(?=\S)")
# The text of a question that is compared with frames and events.
QueryText = Literal["stem+options", "stem"]
QUERY_TEXTS: tuple[QueryText, ...] = get_args(QueryText)
_NOT_AN_OPTION = {"", "n/a", "na", "none given"}


def option_letter(position: int) -> str:
    """Return the letter of the option at a position (from 0): A … Z, then AA, AB, …"""
    return (option_letter(position // 26 - 1) if position >= 26 else "") + chr(ord("A") + position % 26)


def option_position(letter: str) -> int:
    """Return the position (from 0) of an option's letter, A to Z in either case."""
    return ord(letter.upper()) - ord("A")


def strip_option_letters(options: Mapping[int, str]) -> dict[int, str]:
    """Remove "A. ", "(B) ", … if every option starts with the letter of its own position: "U.S. Navy" keeps its U."""
    letters = {k: _LETTER.match(text) for k, text in options.items()}
    if all(match and option_position(match[1]) == k for k, match in letters.items()):
        return {k: _LETTER.sub("", text) for k, text in options.items()}
    return dict(options)


def resolve_option(answer: object, options: Sequence[str], location: str) -> int:
    """Return the position of the option that an answer names; `location` starts the message of the InputError.

    answer: a position (from 0), a letter ("b", "(B)") or an option's text. Text wins over a position written as text,
    but an answer that is the letter of one option and the text of another is rejected.
    """
    if isinstance(answer, int) and not isinstance(answer, bool):
        if 0 <= answer < len(options):
            return answer
        raise InputError(f"{location}: the answer is {shown(answer)}; expected a position from 0 to {len(options) - 1}")
    text = read_value(Name, answer, f"{location}: the answer").strip()
    positions = {k for k, option in enumerate(options) if option.strip().lower() == text.lower()}
    if letter := _LETTER_ALONE.fullmatch(text):
        positions |= {option_position(letter[1])} & set(range(len(options)))
    elif not positions and text.isdecimal() and len(text) < 10 and int(text) < len(options):
        positions = {int(text)}
    if len(positions) != 1:
        reason = "matches more than one option" if positions else "is none of the options"
        expected = "expected a letter, a position or an option's text"
        raise InputError(f"{location}: the answer {shown(text)} {reason}; {expected}")
    return positions.pop()


def split_options(text: str) -> tuple[str, tuple[str, ...]]:
    """The stem of a question and the options inside its text, if there are any: "… A) this B) that"."""
    markers: list[re.Match[str]] = []
    for marker in _OPTION_MARKER.finditer(text):
        if marker[1] == option_letter(len(markers)):
            markers.append(marker)
    stem = text[: markers[0].start()].strip() if markers else ""
    if len(markers) < 2 or not stem:
        return text.strip(), ()
    ends = [marker.start() for marker in markers[1:]] + [len(text)]
    return stem, tuple(text[marker.end() : end].strip() for marker, end in zip(markers, ends, strict=True))


@dataclass(frozen=True, init=False)
class Question:
    """A question and its answer options, if it has any.

    Args:
        text: The question. Without `options`, those inside the text are taken: "Why …? A) this B) that".
        options: The answers to choose from, any iterable; `()` for none whatever the text looks like.

    Raises:
        InputError: The question is empty, or something is no text.

    Example:
        >>> import framesift as fs
        >>> fs.Question("Why was the launch put off? A) The wind B) The rain").options
        ('The wind', 'The rain')
        >>> fs.Question("Why was the launch put off?", ["The wind", "The rain"]).text
        'Why was the launch put off?'
    """

    text: str
    options: tuple[str, ...] = ()

    def __init__(self, text: str, options: Iterable[str] | None = None) -> None:
        text = read_value(str, text, "the question")
        if options is None:
            text, options = split_options(text)
        if isinstance(options, str) or not isinstance(options, Iterable):
            raise InputError(f"options is {shown(options)}; expected a list of options")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "options", read_value(tuple[str, ...], list(options), "options"))
        if not self.text.strip():
            raise InputError("the question is empty; expected a text")

    @property
    def choices(self) -> dict[int, str]:
        """The options by position, without their letters; empty ones and "N/A" are left out."""
        options = {k: o.strip() for k, o in enumerate(self.options) if o.strip().lower() not in _NOT_AN_OPTION}
        stripped = strip_option_letters(options)
        return {k: text for k, text in stripped.items() if text.lower() not in _NOT_AN_OPTION}

    @property
    def valid_options(self) -> tuple[str, ...]:
        """The options that can be chosen, in order."""
        return tuple(self.choices.values())

    @property
    def query_text(self) -> str:
        """The text encoder's input: the stem, then all valid options."""
        return self.compared("stem+options")

    def compared(self, query: QueryText) -> str:
        """The text that is compared with frames and events."""
        return " ".join((self.text.strip(), *(() if query == "stem" else self.valid_options)))


def as_questions(questions: object) -> list[Question]:
    """Texts become questions; a text in place of the list is an error, since its letters would be the questions."""
    if isinstance(questions, str | Question) or not isinstance(questions, Iterable):
        raise InputError(f"questions is {shown(questions)}; expected a list: use framesift.select for one question")
    asked = [Question(question) if isinstance(question, str) else question for question in questions]
    for position, question in enumerate(asked):
        if not isinstance(question, Question):
            raise InputError(f"questions[{position}] is {shown(question)}; expected a text or a framesift.Question")
    return asked


class VisualDemand(float):
    """d_q in [0, 1], a float that also holds the words of the question that decided it."""

    kind: str
    cues: tuple[str, ...]

    def __new__(cls, value: float, kind: str = "given", cues: Sequence[str] = ()) -> "VisualDemand":
        demand = super().__new__(cls, value)
        demand.kind = kind
        demand.cues = tuple(cues)
        return demand
