"""Reading of subtitle files: timestamped text in any common format and encoding.

The files are untrusted and often damaged. What can be repaired is, and SubtitleReport counts it; what can't raises an
InputError that gives the reason. A file never yields an empty list.
"""

import logging
import math
import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from framesift._utils.files import StrPath
from framesift.errors import InputError
from framesift.text.subtitles.base import Cue, NotSubtitles, ParsedCues, SubtitleFormat, UnreadableSubtitles
from framesift.text.subtitles.encodings import decode
from framesift.text.subtitles.json_cues import JsonCues
from framesift.text.subtitles.languages import is_language, language_code
from framesift.text.subtitles.microdvd import DEFAULT_FPS, MicroDVD
from framesift.text.subtitles.repairs import to_events, trim_overlaps
from framesift.text.subtitles.sami import SAMI
from framesift.text.subtitles.substation import SubStation
from framesift.text.subtitles.timed_blocks import SBV, SubRip, WebVTT
from framesift.text.subtitles.xml_formats import TTML, YouTubeXml
from framesift.types import Event

log = logging.getLogger(__name__)

# In the order of detection: the most specific content first.
FORMATS: tuple[SubtitleFormat, ...] = (
    WebVTT(),
    JsonCues(),
    TTML(),
    YouTubeXml(),
    SubStation(),
    SAMI(),
    MicroDVD(),
    SubRip(),
    SBV(),
)
# In the order of preference among sidecar files.
ENDINGS = tuple(dict.fromkeys((".srt", *(ending for each in FORMATS for ending in each.endings))))
# Endings that files other than subtitles have too.
SHARED_ENDINGS = frozenset((".json", ".jsonl", ".ndjson", ".xml", ".sub"))

# Twice the size of Whisper's JSON with every word of a day of speech.
MAX_BYTES = 64 * 2**20
# Lines, tags and JSON objects each take many times their length in memory. A day of speech, word by word, has 10^6.
MAX_PARTS = 4_000_000

# The repairs that lose text, in words.
LOSSES = {
    "characters replaced": "unreadable characters",
    "damaged times dropped": "cues with damaged times",
    "untimed dropped": "cues without times",
    "unreadable dropped": "unreadable entries",
}


@dataclass(frozen=True)
class SubtitleReport:
    """How a file was read.

    cues is the number of cues in the file; repairs maps each repair ("empty dropped", "repeats merged",
    "times swapped", "rolling lines merged", …) to its count. languages: those the file states, as two-letter codes,
    that of the events first. warnings: what was guessed, chosen or lost, one sentence each.
    """

    format: str
    encoding: str
    cues: int
    repairs: dict[str, int]
    languages: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_events(
    path: StrPath,
    *,
    offset_s: float = 0.0,
    language: str | None = None,
    duration_s: float | None = None,
) -> list[Event]:
    """Read the events of a subtitle file, sorted by start.

    Args:
        path: The file, in any of the formats of docs/text.md.
        offset_s: Added to every time.
        language: Preferred where one file holds several.
        duration_s: Of the video: it closes open ends, and events outside it are clipped or dropped.

    Returns:
        The events, at least one.

    Raises:
        InputError: The file can't be read, or contains no event.

    Example:
        >>> import framesift as fs
        >>> fs.read_events("clip.srt")[0].text
        'The wind was too strong.'
    """
    return read_report(path, offset_s, language, duration_s)[0]


def read_report(
    path: StrPath, offset_s: float = 0.0, language: str | None = None, duration_s: float | None = None
) -> tuple[list[Event], SubtitleReport]:
    """Read as `read_events` does, and report the format, the encoding and the repairs."""
    if not math.isfinite(offset_s):
        raise InputError(f"offset_s is {offset_s}; expected seconds")
    if duration_s is not None and not 0 < duration_s < math.inf:
        raise InputError(f"duration_s is {duration_s}; expected a positive number of seconds, or None")
    path = Path(path)
    data = _read_bytes(path)
    try:
        text, encoding, repairs = decode(data)
        if not text.strip():
            raise InputError(f"{path} contains no events: it is empty")
        kind, parsed = _parse(text, path.suffix.lower())
    except UnreadableSubtitles as error:
        raise InputError(f"{path} {error.verdict}: {error}{_first_line(error.line)}") from None
    cues, other_languages = _select_language(parsed, language)
    events, event_repairs = to_events(cues, offset_s=offset_s, duration_s=duration_s)
    repairs += parsed.repairs + other_languages + event_repairs
    if not events:
        reason = _why_no_events(parsed.cues, kind, repairs)
        raise InputError(f"{path} contains no events: {reason}{_first_line(parsed.bad_line or text)}")
    stated = dict.fromkeys(cue.language for cue in [*cues, *parsed.cues] if is_language(cue.language))
    languages = tuple(dict.fromkeys(filter(None, map(language_code, stated))))
    warnings = _warnings(path.name, encoding, repairs, languages if language is None else ())
    report = SubtitleReport(kind, encoding, len(parsed.cues), dict(repairs), languages, warnings)
    log.info("%s: %d events, %s", path, len(events), report)
    return events, report


def _parse(text: str, ending: str) -> tuple[str, ParsedCues]:
    """Parse a text in the format of its content or ending, and return the format's name."""
    for character, parts in (("\n", "lines"), ("<", "tags"), ("{", "braces"), ("[", "brackets")):
        if text.count(character) > MAX_PARTS:
            raise NotSubtitles(f"it has more than {MAX_PARTS:,} {parts}", text)
    by_content = next((each for each in FORMATS if each.matches(text)), None)
    detected = by_content or next((each for each in FORMATS if ending in each.endings), None)
    if detected is None:
        raise NotSubtitles(f"its text is none of {', '.join(each.name for each in FORMATS)}", text)
    parsed = detected.parse(text)
    if not parsed.cues and not parsed.repairs and by_content is None:
        raise NotSubtitles(f"its ending is that of {detected.name}, but its content is not", text)
    return detected.name, parsed


def _read_bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        is_file, size = stat.S_ISREG(status.st_mode), status.st_size
        data = path.read_bytes() if is_file and size <= MAX_BYTES else b""
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise InputError(f"{path} is unreadable: {getattr(error, 'strerror', None) or error}") from None
    if not is_file:
        raise InputError(f"{path} is unreadable: it is not a regular file; expected a subtitle file")
    if size > MAX_BYTES:
        raise InputError(
            f"{path} is not a subtitle file: it has {size / 2**20:,.0f} MiB; expected at most {MAX_BYTES >> 20} MiB"
        )
    return data


def _first_line(text: str) -> str:
    """Return the first line that is not blank, shortened, as the end of a message."""
    line = next((line.strip() for line in text[:4096].split("\n") if line.strip()), "")
    return f"; first at {line[:60] + ('…' if len(line) > 60 else '')!r}" if line else ""


def _why_no_events(cues: list[Cue], format_name: str, repairs: Counter[str]) -> str:
    if repairs["outside dropped"]:
        return f"all its cues ({len(cues)}) are outside the video"
    if cues:
        return f"all its cues ({len(cues)}) are empty"
    return "the times of its cues are damaged" if repairs["damaged times dropped"] else f"it has no {format_name} cue"


def _select_language(parsed: ParsedCues, language: str | None) -> tuple[list[Cue], Counter[str]]:
    """Return the cues of one language where a file holds several: the requested one, else the first."""
    cues = trim_overlaps(parsed.cues) if parsed.scrolls else parsed.cues
    languages = list(dict.fromkeys(cue.language for cue in cues))
    if len(languages) < 2:
        return cues, Counter()
    requested = language_code(language)
    selected = next((name for name in languages if requested and language_code(name) == requested), languages[0])
    own = [cue for cue in cues if cue.language == selected]
    return own, Counter({"other languages left out": len(cues) - len(own)})


def _warnings(name: str, encoding: str, repairs: Counter[str], choice: tuple[str, ...]) -> tuple[str, ...]:
    """Describe what was guessed, chosen or lost when a file was read."""
    warnings = []
    if not encoding.startswith("utf"):
        charset = encoding.replace("cp125", "windows-125")
        warnings.append(f"{name} is not UTF-8; it was read as {charset}, which is a guess")
    if repairs["frame rate assumed"]:
        warnings.append(f"{name} states no frame rate; {DEFAULT_FPS:.3f} frames per second were assumed")
    if lost := ", ".join(f"{repairs[loss]} {what}" for loss, what in LOSSES.items() if repairs[loss]):
        warnings.append(f"{name} is damaged; not all of it could be read: {lost}")
    if len(choice) > 1:
        warnings.append(f"{name} holds {', '.join(choice)}; {choice[0]} was used: choose with --set language=CODE")
    return tuple(warnings)
