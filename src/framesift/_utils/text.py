"""Times, counts and texts as people read them."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_HALVES = re.compile("[\ud800-\udfff]")
# The least share of equal letters in the same order: at 0.65 "frames" still suggests "from_s".
NEAR = 0.7


def clock(time_s: float) -> str:
    """Seconds as h:mm:ss.mmm, the way players show them."""
    millis = round(abs(time_s) * 1000)
    sign = "-" if time_s < 0 and millis else ""
    return f"{sign}{millis // 3_600_000}:{millis // 60_000 % 60:02d}:{millis // 1000 % 60:02d}.{millis % 1000:03d}"


def suggestion(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a message about an unknown name: the known one near it, or `otherwise`, by default a list of all."""
    names = list(known)
    near = near_names(name, names)
    return f"did you mean {near[0]}?" if near else otherwise or f"expected one of {', '.join(names) or 'none'}"


def near_names(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names that one mistyped may mean, the nearest first."""
    by_folded = {each.casefold(): each for each in known}
    return [by_folded[near] for near in get_close_matches(name.casefold(), by_folded, count, NEAR)]


def rounded_clock(time_s: float) -> str:
    """Seconds as h:mm:ss, with tenths where there are any, for warnings."""
    return clock(round(time_s, 1))[:-2].removesuffix(".0")


def duration_text(duration_s: float) -> str:
    """A duration in seconds, with two digits where it is short: 0.04 s, 2.5 s, 731 s."""
    return f"{duration_s:.2g} s" if duration_s < 9.95 else f"{duration_s:.0f} s"


def counted(count: int, noun: str, plural: str = "") -> str:
    """The number with its noun: 1 frame, 2 frames."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def ordinal(number: int) -> str:
    """A rank as people write it: 1st, 2nd, 3rd, 11th."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def quoted(text: str) -> str:
    """Text on one line in quotation marks, at most 90 characters of it."""
    return f"“{shortened(text, 90)}”"


def shortened(text: str, length: int) -> str:
    """Text on one line, at most `length` characters of it."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def readable(text: str) -> str:
    """Make text writable anywhere: undecodable bytes, as of a file name, become \ufffd."""
    return _HALVES.sub("\ufffd", text)


def has_lone_surrogates(text: str) -> bool:
    """Whether the text holds half of a character, which no file or encoder takes."""
    return not text.isascii() and _HALVES.search(text) is not None


def printable(text: str) -> str:
    """Text from a file on one line, without what would steer a terminal or turn its direction."""
    return "".join(c for c in " ".join(readable(text).split()) if c.isprintable() or c in "\u200c\u200d")
