"""What every parser hands on, and how times are read."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field

# The last part is a fraction after a point or a comma; some SubRip writers put ":" or ";" there, some a blank after it.
CLOCK = r"(-?)(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2})(?:[.,:;] ?(\d{1,9}))?"
UNTIL_THE_END = math.inf

_CLOCK = re.compile(rf"\s*{CLOCK}\s*", re.ASCII)
_SECONDS = re.compile(r"\s*(-?\d{1,12})(?:[.,](\d{1,12}))?\s*s?\s*", re.ASCII)


class Unreadable(Exception):
    """Why nothing can be made of a text, and the line where that shows."""

    verdict = "is unreadable"

    def __init__(self, reason: str, line: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class NotSubtitles(Unreadable):
    """The text is whole, but something else."""

    verdict = "is not a subtitle file"


@dataclass(frozen=True, slots=True)
class Cue:
    """One cue as the file has it, its lines already as a viewer would read them.

    end_s is None when the file leaves it open (until the next cue) and UNTIL_THE_END when it means the video's end.
    """

    start_s: float
    end_s: float | None
    lines: tuple[str, ...]
    language: str = ""  # only where one file may hold several


@dataclass(frozen=True)
class Parsed:
    """The cues of a file in its order, what was mended on the way, and the first line that could not be used."""

    cues: list[Cue]
    repairs: Counter[str] = field(default_factory=Counter)
    offender: str = ""


def clock_seconds(sign: str, hours: str | None, minutes: str, seconds: str, fraction: str | None) -> float:
    """The groups of CLOCK in seconds."""
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    value = float(f"{whole}.{fraction or 0}")
    return -value if sign else value


def seconds(value: object) -> float | None:
    """Seconds from a number or from a text such as "12.5" or "00:00:12.500"; None when it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # Past 10^12 s adding an offset would lose the fraction, and no clock means it.
        return float(value) if abs(value) < 1e12 else None
    if not isinstance(value, str):
        return None
    if clock := _CLOCK.fullmatch(value):
        return clock_seconds(*clock.groups())
    if plain := _SECONDS.fullmatch(value):
        return float(f"{plain[1]}.{plain[2] or 0}")
    return None
