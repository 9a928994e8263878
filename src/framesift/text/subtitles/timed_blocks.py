"""Base of the formats in which a line of times precedes the lines of each cue: SubRip, WebVTT and SBV."""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from framesift.text.subtitles.base import CLOCK, Cue, ParsedCues, SubtitleFormat, clock_seconds

Lines = list[str]
Times = tuple[float, ...] | None

# Browsers take whatever follows a complete time as settings: "00:01.000line:40%".
_ARROW_TIMES = re.compile(
    rf"\s*{CLOCK}\s*-{{1,3}} ?>\s*{CLOCK}(?:(?!\S)|(?<=[.,]\d{{3}})(?!\d)|(?=[a-z]+:))", re.ASCII | re.IGNORECASE
)


class TimedBlockFormat(SubtitleFormat):
    """Splits a text at every line of times: the lines between two of them belong to the first.

    Subclasses define what a line of times, the header of the next cue and the text of a cue look like.
    """

    blank_lines_separate = True  # whether a line of spaces ends a block as an empty line does

    @abstractmethod
    def parse_times(self, line: str) -> Times:
        """Return the start and end of a line of times, None if its times are damaged, () for any other line."""

    @abstractmethod
    def cue_text(self, blocks: list[Lines]) -> tuple[Lines, int]:
        """Return the lines that belong to the cue, and how many of the blocks are cues without times."""

    @abstractmethod
    def clean(self, text: str) -> tuple[str, ...]:
        """Return the lines of a cue without markup."""

    def drop_next_header(self, lines: Lines) -> Lines:
        """Drop from the lines before the next cue's times those that head that cue."""
        return lines

    def matches(self, text: str) -> bool:
        return any(self.parse_times(line) for line in text.split("\n"))

    def parse(self, text: str) -> ParsedCues:
        lines = text.split("\n")
        timed = [(k, times) for k, line in enumerate(lines) if (times := self.parse_times(line)) != ()]
        repairs: Counter[str] = Counter()
        cues = []
        bad_line = ""
        for (k, times), (following, _) in pairwise([*timed, (len(lines), None)]):
            body = lines[k + 1 : following]
            if following < len(lines):
                body = self.drop_next_header(body)
            own_lines, untimed = self.cue_text(list(self._split_blocks(body)))
            if times is None:
                repairs["damaged times dropped"] += 1
                bad_line = bad_line or lines[k]
            else:
                cues.append(Cue(times[0], times[1], self.clean("\n".join(own_lines))))
            repairs["untimed dropped"] += untimed
        return ParsedCues(cues, repairs, bad_line)

    def _split_blocks(self, lines: Lines) -> Iterator[Lines]:
        block: Lines = []
        for line in [*lines, ""]:
            if line and (line.strip() or not self.blank_lines_separate):
                block.append(line)
            elif block:
                yield block
                block = []


def first_block(blocks: list[Lines]) -> tuple[Lines, int]:
    """Return the first block, and the number of the others."""
    return (blocks[0], len(blocks) - 1) if blocks else ([], 0)


def parse_arrow_times(line: str) -> Times:
    """Parse "start --> end", as `TimedBlockFormat.parse_times`."""
    if ">" not in line:
        return ()
    if match := _ARROW_TIMES.match(line):
        return clock_seconds(*match.groups()[:5]), clock_seconds(*match.groups()[5:])
    return None if "-->" in line and line[:1].isdecimal() else ()
