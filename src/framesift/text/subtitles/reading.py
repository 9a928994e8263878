"""Reading of subtitle files: timestamped text in any common format and encoding.

The files are untrusted and often damaged. What can be repaired is, and SubtitleReport counts it; what can't raises an
InputError that gives the reason. A file never yields an empty list.
"""

import logging
import math
import os
import stat
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from framesift.errors import InputError
from framesift.text.subtitles.base import Cue, NotSubtitles, UnreadableSubtitles
from framesift.text.subtitles.encodings import decode
from framesift.text.subtitles.formats import FORMATS, check_size, detect_format
from framesift.text.subtitles.languages import is_language, language_code
from framesift.text.subtitles.markup import without_notes
from framesift.text.subtitles.microdvd import DEFAULT_FPS
from framesift.text.subtitles.repairs import to_events
from framesift.types import Event

log = logging.getLogger(__name__)

# Twice the size of Whisper's JSON with every word of a day of speech.
MAX_BYTES = 64 * 2**20

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
    path: str | os.PathLike[str],
    *,
    offset_s: float = 0.0,
    language: str | None = None,
    keep_notes: bool = True,
    duration_s: float | None = None,
) -> list[Event]:
    """Read the events of a subtitle file, sorted by start: at least one, or InputError.

    offset_s is added to every time. language is preferred where one file holds several. keep_notes=False drops [music]
    and the like. duration_s is that of the video: it closes open ends, and events outside it are clipped or dropped.
    """
    events, _ = read_report(path, offset_s=offset_s, language=language, keep_notes=keep_notes, duration_s=duration_s)
    return events


def read_report(
    path: str | os.PathLike[str],
    *,
    offset_s: float = 0.0,
    language: str | None = None,
    keep_notes: bool = True,
    duration_s: float | None = None,
) -> tuple[list[Event], SubtitleReport]:
    """Read as `read_events` does, and report the format, the encoding and the repairs."""
    _check_times(offset_s, duration_s)
    path = Path(path)
    data = _read_bytes(path)
    try:
        text, encoding, repairs = decode(data)
        if not text.strip():
            raise InputError(f"{path} contains no events: it is empty")
        check_size(text)
        detected = detect_format(text, path.suffix.lower())
        if detected is None:
            names = ", ".join(each.name for each in FORMATS)
            raise NotSubtitles(f"its text is none of {names}", text)
        parsed = detected.parse(text)
        if not parsed.cues and not parsed.repairs and not detected.matches(text):
            raise NotSubtitles(f"its ending is that of {detected.name}, but its content is not", text)
    except UnreadableSubtitles as error:
        raise InputError(f"{path} {error.verdict}: {error.reason}{_first_line(error.line)}") from None
    cues, other_languages = _select_language(parsed.cues, language)
    if not keep_notes:
        cues, notes = _drop_notes(cues)
        repairs += notes
    events, event_repairs = to_events(cues, offset_s=offset_s, duration_s=duration_s)
    repairs += parsed.repairs + other_languages + event_repairs
    if not events:
        reason = _why_no_events(parsed.cues, detected.name, repairs)
        raise InputError(f"{path} contains no events: {reason}{_first_line(parsed.bad_line or text)}")
    languages = _stated_languages([*cues, *parsed.cues])
    warnings = _warnings(path.name, encoding, repairs, languages if language is None else ())
    report = SubtitleReport(detected.name, encoding, len(parsed.cues), dict(repairs), languages, warnings)
    log.info(
        "%s: %d events from %d cues, %s in %s, repairs: %s",
        path,
        len(events),
        report.cues,
        report.format,
        report.encoding,
        ", ".join(f"{count} {repair}" for repair, count in report.repairs.items()) or "none",
    )
    return events, report


def _check_times(offset_s: float, duration_s: float | None) -> None:
    if not math.isfinite(offset_s):
        raise InputError(f"offset_s is {offset_s}; expected seconds")
    if duration_s is not None and not (math.isfinite(duration_s) and duration_s > 0):
        raise InputError(f"duration_s is {duration_s}; expected a positive number of seconds, or None")


def _read_bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path} is unreadable: it is not a regular file; expected a subtitle file")
        if status.st_size > MAX_BYTES:
            size = f"{status.st_size / 2**20:,.0f} MiB"
            raise InputError(f"{path} is not a subtitle file: it has {size}; expected at most {MAX_BYTES >> 20} MiB")
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{path} is unreadable: {reason}") from None


def _first_line(text: str) -> str:
    """Return the first line that is not blank, shortened, as the end of a message."""
    line = next((line.strip() for line in text[:4096].split("\n") if line.strip()), "")
    return f"; first at {line[:60] + ('…' if len(line) > 60 else '')!r}" if line else ""


def _why_no_events(cues: list[Cue], format_name: str, repairs: Counter[str]) -> str:
    if repairs["outside dropped"]:
        return f"all its cues ({len(cues)}) are outside the video"
    if cues:
        return "it contains only notes" if repairs["notes dropped"] else f"all its cues ({len(cues)}) are empty"
    return "the times of its cues are damaged" if repairs["damaged times dropped"] else f"it has no {format_name} cue"


def _select_language(cues: list[Cue], language: str | None) -> tuple[list[Cue], Counter[str]]:
    """Return the cues of one language where a file holds several: the requested one, else the first."""
    languages = list(dict.fromkeys(cue.language for cue in cues))
    if len(languages) < 2:
        return cues, Counter()
    requested = language_code(language)
    selected = next((name for name in languages if requested and language_code(name) == requested), languages[0])
    own = [cue for cue in cues if cue.language == selected]
    return own, Counter({"other languages left out": len(cues) - len(own)})


def _stated_languages(cues: list[Cue]) -> tuple[str, ...]:
    stated = dict.fromkeys(cue.language for cue in cues)
    return tuple(dict.fromkeys(language_code(name) for name in stated if is_language(name) and language_code(name)))


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
        warnings.append(f"{name} holds {', '.join(choice)}; {choice[0]} was used: choose with --language")
    return tuple(warnings)


def _drop_notes(cues: list[Cue]) -> tuple[list[Cue], Counter[str]]:
    """Remove the notes of each cue, and the cues that were nothing else."""
    bare = [replace(cue, lines=without_notes(cue.lines)) for cue in cues]
    remaining = [after for after, before in zip(bare, cues, strict=True) if after.lines or not before.lines]
    changed = sum(after.lines != before.lines for after, before in zip(bare, cues, strict=True))
    return remaining, Counter({"notes dropped": changed} if changed else {})
