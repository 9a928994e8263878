"""Subtitle files beside a video."""

import os
from pathlib import Path

from framesift.errors import InputError
from framesift.text.subtitles.formats import ENDINGS, SHARED_ENDINGS
from framesift.text.subtitles.languages import is_language, language_code
from framesift.text.subtitles.reading import read_events

SIDECAR_FOLDERS = ("subs", "sub", "subtitles", "captions")
_FLAGS = ("forced", "sdh", "cc", "hi", "default", "full", "auto", "orig", "foreign")


def find_sidecars(video_path: str | os.PathLike[str], *, language: str | None = None) -> list[Path]:
    """Return the subtitle files of a video, best first: film.srt, film.en.vtt, Subs/film.eng.forced.srt.

    Files in the requested language come first, then those with the video's exact name, then English or undetermined,
    then the rest by name. Forced ones, which hold only the foreign lines, come after complete ones. Files with an
    ending that other files share (.json, .xml, .sub) are included only if they can be read as subtitles.
    """
    video = Path(video_path)
    requested = language_code(language)
    ranked: list[tuple[tuple[object, ...], Path]] = []
    for depth, folder in enumerate(_sidecar_folders(video.parent)):
        for path in _files(folder):
            ending = path.suffix.lower()
            tags = _tags_after_video_name(path, video) if ending in ENDINGS and path.name != video.name else None
            if tags is None or (ending in SHARED_ENDINGS and not _is_readable(path)):
                continue
            own_language = next((language_code(tag) for tag in tags if is_language(tag)), "")
            rank = (
                not (requested and own_language == requested),
                "forced" in tags or "foreign" in tags,
                bool(tags),
                own_language not in ("", "en"),
                own_language if own_language not in ("", "en") else "",
                depth,
                ENDINGS.index(ending),
                path.name,
            )
            ranked.append((rank, path))
    return [path for _, path in sorted(ranked)]


def sidecar_tags(stem: str) -> list[str]:
    """Return the language and the flags at the end of a file name: "My.film.en.forced" gives en and forced."""
    tags: list[str] = []
    for part in reversed(stem.split(".")[1:]):
        if not _is_tag(part.lower()):
            break
        tags.insert(0, part.lower())
    return tags


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


def _tags_after_video_name(path: Path, video: Path) -> list[str] | None:
    """Return the parts between the video's name and the ending; None if the file belongs to another video."""
    for name in (video.name, video.stem):
        if path.stem == name:
            return []
        if path.stem.startswith(name + "."):
            tags = path.stem[len(name) + 1 :].lower().split(".")
            return tags if all(map(_is_tag, tags)) else None
    return None


def _is_tag(text: str) -> bool:
    return text in _FLAGS or is_language(text)


def _is_readable(path: Path) -> bool:
    try:
        return bool(read_events(path))
    except InputError:
        return False
