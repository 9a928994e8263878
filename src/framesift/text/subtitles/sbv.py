"""YouTube's SBV (.sbv): "start,end", then the text up to an empty line."""

import re

from framesift.text.subtitles.base import CLOCK, clock_seconds
from framesift.text.subtitles.markup import plain_lines
from framesift.text.subtitles.timed_blocks import Lines, TimedBlockFormat, Times, first_block

_TIMES = re.compile(rf"\s*{CLOCK},{CLOCK}\s*$", re.ASCII)
_DAMAGED_TIMES = re.compile(r"\d{1,2}:\d\d:[\w.]{1,12},\d{1,2}:\d\d:[\w.]{1,12}\s*$", re.ASCII)


class SBV(TimedBlockFormat):
    """SBV. [br] separates lines."""

    name = "SBV"
    endings = (".sbv",)

    def parse_times(self, line: str) -> Times:
        if match := _TIMES.match(line):
            return clock_seconds(*match.groups()[:5]), clock_seconds(*match.groups()[5:])
        return None if _DAMAGED_TIMES.match(line) else ()

    def cue_text(self, blocks: list[Lines]) -> tuple[Lines, int]:
        return first_block(blocks)

    def clean(self, text: str) -> tuple[str, ...]:
        return plain_lines(text.replace("[br]", "\n"))
