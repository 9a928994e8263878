"""SubRip (.srt), and any other text with lines of the form "start --> end"."""

from framesift.text.subtitles.markup import plain_lines
from framesift.text.subtitles.timed_blocks import Lines, TimedBlockFormat, Times, parse_arrow_times


class SubRip(TimedBlockFormat):
    """SubRip. An empty line inside a cue does not end it."""

    name = "SubRip"
    endings = (".srt",)

    def parse_times(self, line: str) -> Times:
        return parse_arrow_times(line)

    def drop_next_header(self, lines: Lines) -> Lines:
        return lines[:-1] if lines and lines[-1].strip().isdecimal() else lines

    def cue_text(self, blocks: list[Lines]) -> tuple[Lines, int]:
        lines: Lines = []
        untimed = 0
        for block in blocks:
            # A number and text but no times: another cue, whose times are missing.
            if lines and len(block) > 1 and block[0].strip().isdecimal():
                untimed += 1
            elif not untimed:
                lines += block
        return lines, untimed

    def clean(self, text: str) -> tuple[str, ...]:
        return plain_lines(text)
