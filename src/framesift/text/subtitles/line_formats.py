"""Formats made of lines: SubRip, WebVTT, SBV and MicroDVD."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from framesift.text.subtitles.cues import CLOCK, Cue, Parsed, clock_seconds
from framesift.text.subtitles.markup import microdvd_lines, plain_lines, webvtt_lines

# What FFmpeg takes for a MicroDVD file that does not say.
MICRODVD_FPS = 24000 / 1001

_ARROW_TIMES = re.compile(rf"\s*{CLOCK}\s*-{{1,3}} ?>\s*{CLOCK}(?!\S)", re.ASCII)
_SBV_TIMES = re.compile(rf"\s*{CLOCK},{CLOCK}\s*$", re.ASCII)
_DAMAGED_SBV_TIMES = re.compile(r"\d{1,2}:\d\d:[\w.]{1,12},\d{1,2}:\d\d:[\w.]{1,12}\s*$", re.ASCII)
_MICRODVD_FRAMES = re.compile(r"\s*\{(\d{1,9})\}\s*\{(\d{0,9})\}(.*)", re.ASCII)
_NOT_A_CUE = re.compile(r"(?:NOTE|STYLE|REGION|WEBVTT)(?:\s|$)|X-TIMESTAMP-MAP")

Block = list[str]


@dataclass(frozen=True)
class _Dialect:
    """How one format lays out its lines.

    times: a line's two times; None for a line of times that is damaged, () for any other line. trim: the lines up to
    the next cue's times, less those that head that cue. own_text: of the blocks left, the cue's words and how many
    blocks belong to no cue.
    """

    times: Callable[[str], tuple[float, ...] | None]
    trim: Callable[[Block], Block]
    own_text: Callable[[list[Block]], tuple[Block, int]]
    clean: Callable[[str], tuple[str, ...]]
    blank_is_empty: bool = True  # WebVTT's scroll holds lines of one blank, and they end nothing


def parse_subrip(text: str) -> Parsed:
    """SubRip, and any text with "start --> end" lines. An empty line inside a cue does not end it."""
    return _parse(text, _SUBRIP)


def parse_webvtt(text: str) -> Parsed:
    """WebVTT. Blocks without times (notes, styles, regions) are no cues."""
    return _parse(text, _WEBVTT)


def parse_sbv(text: str) -> Parsed:
    """YouTube's SBV: "start,end", then the words up to an empty line."""
    return _parse(text, _SBV)


def parse_microdvd(text: str) -> Parsed:
    """MicroDVD: {from}{to}words, in frames. The first cue may be the frame rate."""
    repairs: Counter[str] = Counter()
    cues: list[Cue] = []
    fps = 0.0
    offender = ""
    for line in text.split("\n"):
        if not (match := _MICRODVD_FRAMES.match(line)):
            offender = offender or line.strip()
            continue
        first, last, words = int(match[1]), int(match[2]) if match[2] else None, match[3]
        if not fps:
            fps = _frame_rate(words) if first <= 1 and (last or 0) <= 1 else 0.0
            if fps:
                continue
            fps = MICRODVD_FPS
            repairs["frame rate assumed"] = 1
        cues.append(Cue(first / fps, None if last is None else last / fps, microdvd_lines(words)))
    return Parsed(cues, repairs, offender)


def looks_like_subrip(text: str) -> bool:
    return any(_arrow_times(line) for line in text.split("\n"))


def looks_like_sbv(text: str) -> bool:
    return any(_sbv_times(line) for line in text.split("\n"))


def looks_like_microdvd(text: str) -> bool:
    return any(_MICRODVD_FRAMES.match(line) for line in text[:4096].split("\n")[:20])


def _parse(text: str, dialect: _Dialect) -> Parsed:
    """Cut the lines at every line of times: what stands between two belongs to the first."""
    lines = text.split("\n")
    found = [(k, times) for k, line in enumerate(lines) if (times := dialect.times(line)) != ()]
    repairs: Counter[str] = Counter()
    cues = []
    offender = ""
    for (k, times), (after, _) in pairwise([*found, (len(lines), None)]):
        body = lines[k + 1 : after]
        if after < len(lines):
            body = dialect.trim(body)
        words, untimed = dialect.own_text(list(_blocks(body, dialect.blank_is_empty)))
        if times is None:
            repairs["damaged times dropped"] += 1
            offender = offender or lines[k]
        else:
            cues.append(Cue(times[0], times[1], dialect.clean("\n".join(words))))
        repairs["untimed dropped"] += untimed
    return Parsed(cues, repairs, offender)


def _blocks(lines: Block, blank_is_empty: bool) -> Iterator[Block]:
    """Runs of lines between empty ones."""
    block: Block = []
    for line in [*lines, ""]:
        if line and (line.strip() or not blank_is_empty):
            block.append(line)
        elif block:
            yield block
            block = []


def _arrow_times(line: str) -> tuple[float, ...] | None:
    if ">" not in line:
        return ()
    if match := _ARROW_TIMES.match(line):
        return clock_seconds(*match.groups()[:5]), clock_seconds(*match.groups()[5:])
    return None if "-->" in line and line[:1].isdecimal() else ()


def _sbv_times(line: str) -> tuple[float, ...] | None:
    if match := _SBV_TIMES.match(line):
        return clock_seconds(*match.groups()[:5]), clock_seconds(*match.groups()[5:])
    return None if _DAMAGED_SBV_TIMES.match(line) else ()


def _without_number(body: Block) -> Block:
    return body[:-1] if body and body[-1].strip().isdecimal() else body


def _without_identifier(body: Block) -> Block:
    """Any line may name the next cue, but only after an empty line; after a blank one, only a number does."""
    if len(body) < 2 or not body[-1]:
        return body
    named = body[-2] == "" or (not body[-2].strip() and body[-1].strip().isdecimal())
    return body[:-1] if named else body


def _subrip_text(blocks: list[Block]) -> tuple[Block, int]:
    words: Block = []
    untimed = 0
    for block in blocks:
        # A number and words but no times: another cue, whose times are lost.
        if words and len(block) > 1 and block[0].strip().isdecimal():
            untimed += 1
        elif not untimed:
            words += block
    return words, untimed


def _webvtt_text(blocks: list[Block]) -> tuple[Block, int]:
    return _first([block for block in blocks if not _NOT_A_CUE.match(block[0])])


def _first(blocks: list[Block]) -> tuple[Block, int]:
    return (blocks[0], len(blocks) - 1) if blocks else ([], 0)


def _frame_rate(words: str) -> float:
    try:
        fps = float(words.strip()[:20].replace(",", "."))
    except ValueError:
        return 0.0
    return fps if 1 <= fps <= 1000 else 0.0


_SUBRIP = _Dialect(_arrow_times, _without_number, _subrip_text, plain_lines)
_WEBVTT = _Dialect(_arrow_times, _without_identifier, _webvtt_text, webvtt_lines, blank_is_empty=False)
_SBV = _Dialect(_sbv_times, list, _first, lambda text: plain_lines(text.replace("[br]", "\n")))
