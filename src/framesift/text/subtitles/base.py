"""What the subtitle formats share: cues, the base class of a format, and parsing of times."""

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar

# The last group is a fraction after a point or a comma; some SubRip writers put ":" or ";" there, some a space after.
CLOCK = r"(-?)(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2})(?:[.,:;] ?(\d{1,9}))?"
UNTIL_VIDEO_END = math.inf

_CLOCK = re.compile(rf"\s*{CLOCK}\s*", re.ASCII)
_SECONDS = re.compile(r"\s*(-?\d{1,12})(?:[.,](\d{1,12}))?\s*s?\s*", re.ASCII)


class UnreadableSubtitles(Exception):
    """The text can't be parsed. `line` is the first line where that shows."""

    verdict = "is unreadable"

    def __init__(self, reason: str, line: str = "") -> None:
        super().__init__(reason)
        self.line = line


class NotSubtitles(UnreadableSubtitles):
    """The text is intact but something other than subtitles."""

    verdict = "is not a subtitle file"


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue as the file has it, its lines without markup.

    end_s is None where the file leaves the end open (until the next cue) and UNTIL_VIDEO_END where it means the end of
    the video. language is set only by formats that state it, such as those that hold several languages in one file.
    """

    start_s: float
    end_s: float | None
    lines: tuple[str, ...]
    language: str


@dataclass
class ParsedCues:
    """The cues of a file in file order, the count of each repair, and the first line that could not be used.

    scrolls: each cue stays visible after the next one appears, as in YouTube's windows.
    """

    cues: list[Cue] = field(default_factory=list)
    repairs: Counter[str] = field(default_factory=Counter)
    bad_line: str = ""
    scrolls: bool = False

    def skip(self, line: str, *repairs: str) -> None:
        """Note a line that can't be used, and count what was dropped with it."""
        self.bad_line = self.bad_line or line
        self.repairs.update(repairs)


class SubtitleFormat(ABC):
    """A subtitle format: how to recognise it and how to parse it.

    To add a format:

    1. Create a module in this package with a subclass that sets `name` (shown to users) and `endings` (lower case,
       with the dot).
    2. Implement `matches`. Files of the other formats must not match.
    3. Implement `parse`. Clean the text of each cue with the functions of `markup`, count what had to be dropped with
       `ParsedCues.skip`, and raise `UnreadableSubtitles` or `NotSubtitles` where nothing can be parsed.
    4. Add an instance to `FORMATS` in `reading`, before any format whose `matches` is less specific. List an ending
       that files other than subtitles have in `SHARED_ENDINGS`.
    5. Add a small file to `tests/helpers/subtitle_files.py`; the tests of all formats then include it.

    Files are untrusted: both methods must take time linear in the length of any text.
    """

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]

    @abstractmethod
    def matches(self, text: str) -> bool:
        """Return whether the content is in this format."""

    @abstractmethod
    def parse(self, text: str) -> ParsedCues:
        """Parse a text with "\\n" line ends."""


def clock_seconds(sign: str, hours: str | None, minutes: str, seconds: str, fraction: str | None) -> float:
    """Convert the groups of CLOCK to seconds."""
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    value = float(f"{whole}.{fraction or 0}")
    return -value if sign else value


def parse_seconds(value: object) -> float | None:
    """Convert a number, or a text such as "12.5" or "00:00:12.500", to seconds; None if it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # Above 10^12 s adding an offset would lose the fraction.
        return float(value) if abs(value) < 1e12 else None
    if not isinstance(value, str):
        return None
    if clock := _CLOCK.fullmatch(value):
        return clock_seconds(*clock.groups())
    if plain := _SECONDS.fullmatch(value):
        return float(f"{plain[1]}.{plain[2] or 0}")
    return None
