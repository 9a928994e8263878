"""Subtitle files: timestamped text in any common format and encoding, as a viewer would read it.

The files are untrusted and often messy. What can be mended is, and the Report counts it; what can't is an InputError
that says why. There is never an empty list without a word. The formats are in `framesift.text.subtitles`.
"""

import logging
import math
import os
import stat
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from framesift.errors import InputError
from framesift.text.subtitles.cues import Cue, NotSubtitles, Unreadable
from framesift.text.subtitles.encodings import decode
from framesift.text.subtitles.formats import ENDINGS, FORMATS, SHARED_ENDINGS, check_parts, find_format
from framesift.text.subtitles.languages import is_language, language_code
from framesift.text.subtitles.markup import without_notes
from framesift.text.subtitles.repairs import to_events
from framesift.types import Event

log = logging.getLogger(__name__)

# Whisper's JSON with every word of a day of speech is half of this; anything larger is no subtitle file.
MAX_BYTES = 64 * 2**20
SIDECAR_FOLDERS = ("subs", "sub", "subtitles", "captions")
_FLAGS = ("forced", "sdh", "cc", "hi", "default", "full", "auto", "orig", "foreign")


@dataclass(frozen=True)
class Report:
    """What a file was, and what had to be mended.

    cues counts those the file holds; repairs maps what was done ("empty dropped", "repeats merged", "times swapped",
    "rolling lines merged", …) to how often.
    """

    format: str
    encoding: str
    cues: int
    repairs: dict[str, int]


def read_events(
    path: str | os.PathLike[str],
    *,
    offset_s: float = 0.0,
    language: str | None = None,
    keep_notes: bool = True,
    duration_s: float | None = None,
) -> list[Event]:
    """The events of a subtitle file, by start: at least one, or InputError.

    offset_s is added to every time. language is preferred where one file holds several. keep_notes=False drops [music]
    and the like. duration_s is the video's: it closes open ends, and what lies outside is clipped or dropped.
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
) -> tuple[list[Event], Report]:
    """What `read_events` gives, and a Report of how it came about."""
    _check_times(offset_s, duration_s)
    path = Path(path)
    data = _read(path)
    try:
        text, encoding, repairs = decode(data)
        if not text.strip():
            raise InputError(f"{path} holds no event: it is empty")
        check_parts(text)
        known = find_format(text, path.suffix.lower())
        if known is None:
            kinds = ", ".join(known.name for known in FORMATS)
            raise NotSubtitles(f"its text is none of {kinds}", text)
        parsed = known.parse(text)
        if not parsed.cues and not parsed.repairs and not known.looks_like(text):
            raise NotSubtitles(f"its name says {known.name}, but nothing in it does", text)
    except Unreadable as error:
        raise InputError(f"{path} {error.verdict}: {error.reason}{_at(error.line)}") from None
    cues, left_out = _in_one_language(parsed.cues, language)
    if not keep_notes:
        cues, notes = _without_notes(cues)
        repairs += notes
    events, mended = to_events(cues, offset_s=offset_s, duration_s=duration_s)
    repairs += parsed.repairs + left_out + mended
    if not events:
        raise InputError(
            f"{path} holds no event: {_why_none(parsed.cues, known.name, repairs)}{_at(parsed.offender or text)}"
        )
    report = Report(known.name, encoding, len(parsed.cues), dict(repairs))
    log.info("%s: %d events from %d cues, %s in %s, mended: %s", path, len(events), *_words(report))
    return events, report


def find_sidecars(video_path: str | os.PathLike[str], *, language: str | None = None) -> list[Path]:
    """Subtitle files that belong to a video, best first: film.srt, film.en.vtt, Subs/film.eng.forced.srt.

    Those in the language that is asked for come first, then the exact name, then English or undetermined, then the
    rest by name. Forced ones, which hold only the foreign lines, come after whole ones. Endings that other files share
    (.json, .xml, .sub) count only if the file reads as subtitles.
    """
    video = Path(video_path)
    asked = language_code(language)
    ranked: list[tuple[tuple[object, ...], Path]] = []
    for far, folder in enumerate(_sidecar_folders(video.parent)):
        for path in _files(folder):
            ending = path.suffix.lower()
            tags = _tags(path, video) if ending in ENDINGS and path.name != video.name else None
            if tags is None or (ending in SHARED_ENDINGS and not _reads(path)):
                continue
            spoken = next((language_code(tag) for tag in tags if is_language(tag)), "")
            rank = (
                not (asked and spoken == asked),
                "forced" in tags or "foreign" in tags,
                bool(tags),
                spoken not in ("", "en"),
                spoken if spoken not in ("", "en") else "",
                far,
                ENDINGS.index(ending),
                path.name,
            )
            ranked.append((rank, path))
    return [path for _, path in sorted(ranked)]


def sidecar_tags(stem: str) -> list[str]:
    """The language and the flags that a subtitle file's name ends in: "My.film.en.forced" gives en and forced."""
    tags: list[str] = []
    for part in reversed(stem.split(".")[1:]):
        if not _is_tag(part.lower()):
            break
        tags.insert(0, part.lower())
    return tags


def _check_times(offset_s: float, duration_s: float | None) -> None:
    if not math.isfinite(offset_s):
        raise InputError(f"offset_s is {offset_s}; expected seconds")
    if duration_s is not None and not (math.isfinite(duration_s) and duration_s > 0):
        raise InputError(f"duration_s is {duration_s}; expected a positive number of seconds, or None")


def _read(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path} is unreadable: it is no file; expected a subtitle file")
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


def _at(text: str) -> str:
    """The first line of a text that holds anything, shortened, as the end of a message."""
    line = next((line.strip() for line in text[:4096].split("\n") if line.strip()), "")
    return f"; first at {line[:60] + ('…' if len(line) > 60 else '')!r}" if line else ""


def _why_none(cues: list[Cue], name: str, repairs: Counter[str]) -> str:
    if repairs["outside dropped"]:
        return f"all its cues ({len(cues)}) lie outside the video"
    if cues:
        return "it holds only notes" if repairs["notes dropped"] else f"all its cues ({len(cues)}) are empty"
    return f"no cue of {name} in it" if not repairs["damaged times dropped"] else "the times of its cues are damaged"


def _words(report: Report) -> tuple[int, str, str, str]:
    mended = ", ".join(f"{count} {what}" for what, count in report.repairs.items())
    return report.cues, report.format, report.encoding, mended or "nothing"


def _in_one_language(cues: list[Cue], language: str | None) -> tuple[list[Cue], Counter[str]]:
    """The cues of one language where a file holds several: the one asked for, else the first."""
    languages = list(dict.fromkeys(cue.language for cue in cues))
    if len(languages) < 2:
        return cues, Counter()
    asked = language_code(language)
    chosen = next((name for name in languages if asked and language_code(name) == asked), languages[0])
    kept = [cue for cue in cues if cue.language == chosen]
    return kept, Counter({"other languages left out": len(cues) - len(kept)})


def _without_notes(cues: list[Cue]) -> tuple[list[Cue], Counter[str]]:
    """Cues without their notes; one that was nothing else goes."""
    bare = [replace(cue, lines=without_notes(cue.lines)) for cue in cues]
    kept = [after for after, before in zip(bare, cues, strict=True) if after.lines or not before.lines]
    changed = sum(after.lines != before.lines for after, before in zip(bare, cues, strict=True))
    return kept, Counter({"notes dropped": changed} if changed else {})


def _sidecar_folders(folder: Path) -> list[Path]:
    try:
        inner = sorted(entry for entry in folder.iterdir() if entry.name.lower() in SIDECAR_FOLDERS and entry.is_dir())
    except OSError as error:
        raise InputError(f"{folder} is unreadable: {error.strerror}") from None
    return [folder, *inner]


def _files(folder: Path) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if entry.is_file()]
    except OSError:
        return []


def _tags(path: Path, video: Path) -> list[str] | None:
    """What stands between the video's name and the ending, in parts; None when the file belongs to another video."""
    for name in (video.name, video.stem):
        if path.stem == name:
            return []
        if path.stem.startswith(name + "."):
            tags = path.stem[len(name) + 1 :].lower().split(".")
            return tags if all(map(_is_tag, tags)) else None
    return None


def _is_tag(text: str) -> bool:
    return text in _FLAGS or is_language(text)


def _reads(path: Path) -> bool:
    try:
        return bool(read_events(path))
    except InputError:
        return False
