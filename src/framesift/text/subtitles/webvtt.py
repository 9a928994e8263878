"""WebVTT (.vtt)."""

import re
from dataclasses import replace

from framesift.text.subtitles.base import ParsedCues
from framesift.text.subtitles.markup import strip_all_tags, strip_overrides, tidy_lines, unescape
from framesift.text.subtitles.timed_blocks import Lines, TimedBlockFormat, Times, first_block, parse_arrow_times

_NOT_A_CUE = re.compile(r"(?:NOTE|STYLE|REGION|WEBVTT)(?:\s|$)|X-TIMESTAMP-MAP")
_LANGUAGE = re.compile(r"^Language:[ \t]*([\w-]{2,20})", re.MULTILINE | re.IGNORECASE)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s([^<>]*)>")


class WebVTT(TimedBlockFormat):
    """WebVTT. Notes, styles and regions are ignored."""

    name = "WebVTT"
    endings = (".vtt", ".webvtt")
    blank_lines_separate = False  # scrolling captions contain lines of one space

    def matches(self, text: str) -> bool:
        return text.lstrip().startswith("WEBVTT")

    def parse(self, text: str) -> ParsedCues:
        parsed = super().parse(text)
        stated = _LANGUAGE.search(text[:4096].partition("\n\n")[0])
        return replace(parsed, cues=[replace(cue, language=stated[1]) for cue in parsed.cues]) if stated else parsed

    def parse_times(self, line: str) -> Times:
        return parse_arrow_times(line)

    def drop_next_header(self, lines: Lines) -> Lines:
        """Drop the next cue's identifier: any line after an empty line, but only a number after a line of spaces."""
        if len(lines) < 2 or not lines[-1]:
            return lines
        identified = lines[-2] == "" or (not lines[-2].strip() and lines[-1].strip().isdecimal())
        return lines[:-1] if identified else lines

    def cue_text(self, blocks: list[Lines]) -> tuple[Lines, int]:
        return first_block([block for block in blocks if not _NOT_A_CUE.match(block[0])])

    def clean(self, text: str) -> tuple[str, ...]:
        return webvtt_lines(text)


def webvtt_lines(text: str) -> tuple[str, ...]:
    """Clean the text of a cue: every bracket is a tag, and <v Name> becomes "Name: " where the speaker changes."""
    speaker = ""

    def speaker_prefix(voice: re.Match[str]) -> str:
        nonlocal speaker
        if voice[1].strip() in ("", speaker):
            return ""
        speaker = voice[1].strip()
        return f"{speaker}: "

    return tidy_lines(unescape(strip_all_tags(_VOICE.sub(speaker_prefix, strip_overrides(text)))))
