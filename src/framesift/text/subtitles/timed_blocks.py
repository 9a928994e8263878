"""SubRip, WebVTT and SBV, in which a line of times precedes the lines of each cue; and writing of the first two."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from framesift.text.subtitles.base import CLOCK, Cue, ParsedCues, SubtitleFormat, clock_seconds
from framesift.text.subtitles.markup import ANY_TAG, OVERRIDE, clean_lines, plain_lines
from framesift.types import Event

Lines = list[str]

_NOT_A_CUE = re.compile(r"(?:NOTE|STYLE|REGION|WEBVTT)(?:\s|$)|X-TIMESTAMP-MAP")
_LANGUAGE = re.compile(r"^Language:[ \t]*([\w-]{2,20})", re.MULTILINE | re.IGNORECASE)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?\s([^<>]*)>")


def webvtt_lines(text: str) -> tuple[str, ...]:
    """Clean the text of a cue: every bracket is a tag, and <v Name> becomes "Name: " where the speaker changes."""
    speaker = ""

    def speaker_prefix(voice: re.Match[str]) -> str:
        nonlocal speaker
        if voice[1].strip() in ("", speaker):
            return ""
        speaker = voice[1].strip()
        return f"{speaker}: "

    return clean_lines(_VOICE.sub(speaker_prefix, OVERRIDE.sub("", text)), ANY_TAG)


class TimedBlockFormat(SubtitleFormat):
    """Splits a text at every line of times: the lines between two of them belong to the first."""

    # A line of times; browsers take whatever follows a complete time as settings: "00:01.000line:40%".
    times: ClassVar[re.Pattern[str]] = re.compile(
        rf"\s*{CLOCK}\s*-{{1,3}} ?>\s*{CLOCK}(?:(?!\S)|(?<=[.,]\d{{3}})(?!\d)|(?=[a-z]+:))", re.ASCII | re.IGNORECASE
    )
    damaged_times: ClassVar[re.Pattern[str]] = re.compile(r"\d.*-->")
    blank_lines_separate = True  # whether a line of spaces ends a block as an empty line does
    clean = staticmethod(plain_lines)  # from the text of a cue to its lines without markup

    def own_lines(self, blocks: list[Lines]) -> tuple[Lines, int]:
        """Return the lines that belong to the cue, and how many of the blocks are cues without times."""
        return (blocks[0], len(blocks) - 1) if blocks else ([], 0)

    def drop_next_header(self, lines: Lines) -> Lines:
        """Drop from the lines before the next cue's times those that head that cue."""
        return lines

    def matches(self, text: str) -> bool:
        return any(map(self.times.match, text.split("\n")))

    def parse(self, text: str) -> ParsedCues:
        parsed = ParsedCues()
        lines = text.split("\n")
        timed = [k for k, line in enumerate(lines) if self.times.match(line) or self.damaged_times.match(line)]
        for k, following in pairwise([*timed, len(lines)]):
            body = lines[k + 1 : following]
            if following < len(lines):
                body = self.drop_next_header(body)
            own, untimed = self.own_lines(list(self._split_blocks(body)))
            if times := self.times.match(lines[k]):
                start_s, end_s = clock_seconds(*times.groups()[:5]), clock_seconds(*times.groups()[5:])
                parsed.cues.append(Cue(start_s, end_s, self.clean("\n".join(own)), ""))
            else:
                parsed.skip(lines[k], "damaged times dropped")
            parsed.repairs["untimed dropped"] += untimed
        return parsed

    def _split_blocks(self, lines: Lines) -> Iterator[Lines]:
        block = []
        for line in [*lines, ""]:
            if line and (line.strip() or not self.blank_lines_separate):
                block.append(line)
            elif block:
                yield block
                block = []


class SubRip(TimedBlockFormat):
    """SubRip (.srt), and any other text with lines of the form "start --> end". An empty line ends no cue."""

    name = "SubRip"
    endings = (".srt",)

    def drop_next_header(self, lines: Lines) -> Lines:
        return lines[:-1] if lines and lines[-1].strip().isdecimal() else lines

    def own_lines(self, blocks: list[Lines]) -> tuple[Lines, int]:
        lines: Lines = []
        untimed = 0
        for block in blocks:
            # A number and text but no times: another cue, whose times are missing.
            if lines and len(block) > 1 and block[0].strip().isdecimal():
                untimed += 1
            elif not untimed:
                lines += block
        return lines, untimed


class WebVTT(TimedBlockFormat):
    """WebVTT (.vtt). Notes, styles and regions are ignored."""

    name = "WebVTT"
    endings = (".vtt", ".webvtt")
    blank_lines_separate = False  # scrolling captions contain lines of one space
    clean = staticmethod(webvtt_lines)

    def matches(self, text: str) -> bool:
        return text.lstrip().startswith("WEBVTT")

    def parse(self, text: str) -> ParsedCues:
        parsed = super().parse(text)
        if stated := _LANGUAGE.search(text[:4096].partition("\n\n")[0]):
            parsed.cues = [replace(cue, language=stated[1]) for cue in parsed.cues]
        return parsed

    def drop_next_header(self, lines: Lines) -> Lines:
        """Drop the next cue's identifier: any line after an empty line, but only a number after a line of spaces."""
        if len(lines) < 2 or not lines[-1]:
            return lines
        identified = lines[-2] == "" or (not lines[-2].strip() and lines[-1].strip().isdecimal())
        return lines[:-1] if identified else lines

    def own_lines(self, blocks: list[Lines]) -> tuple[Lines, int]:
        return super().own_lines([block for block in blocks if not _NOT_A_CUE.match(block[0])])


class SBV(TimedBlockFormat):
    """YouTube's SBV (.sbv): "start,end", then the text up to an empty line, its lines separated by [br] too."""

    name = "SBV"
    endings = (".sbv",)
    times = re.compile(rf"\s*{CLOCK},{CLOCK}\s*$", re.ASCII)
    damaged_times = re.compile(r"\d{1,2}:\d\d:[\w.]{1,12},\d{1,2}:\d\d:[\w.]{1,12}\s*$", re.ASCII)

    def clean(self, text: str) -> tuple[str, ...]:
        return plain_lines(text.replace("[br]", "\n"))


def to_srt(events: Sequence[Event]) -> str:
    """The events as SubRip."""
    return "\n".join(f"{k}\n{_times(event, ',')}\n{_lines(event)}\n" for k, event in enumerate(events, 1))


def to_vtt(events: Sequence[Event]) -> str:
    """The events as WebVTT, which browsers read as captions."""
    cues = (f"{_times(event, '.')}\n{html.escape(_lines(event), quote=False)}\n" for event in events)
    return "\n".join(["WEBVTT\n", *cues])


def _times(event: Event, point: str) -> str:
    start_ms = max(0, round(1000 * event.start_s))
    end_ms = max(start_ms + 1, round(1000 * event.end_s))  # players skip a cue without a duration
    return f"{_time(start_ms, point)} --> {_time(end_ms, point)}"


def _time(ms: int, point: str) -> str:
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d}{point}{ms % 1000:03d}"


def _lines(event: Event) -> str:
    """The text without empty lines, which would end the cue."""
    return "\n".join(line for line in event.text.splitlines() if line.strip())
