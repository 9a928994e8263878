"""Subtitle files beside a video."""

import os
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from framesift._utils.files import StrPath
from framesift.errors import InputError
from framesift.text.subtitles.languages import is_language, language_code
from framesift.text.subtitles.reading import ENDINGS, SHARED_ENDINGS, read_events
from framesift.video.files import VIDEO_SUFFIXES

# Subtitles that are pictures, PGS and VobSub: listed, so that a warning names them, but not read.
PICTURE_ENDINGS = (".sup", ".idx")
SIDECAR_FOLDERS = ("subs", "sub", "subtitles", "captions")

# These hold a part of the dialogue, or something else than it.
_PARTIAL = ("forced", "foreign", "commentary")
_FLAGS = (*_PARTIAL, "sdh", "cc", "hi", "default", "full", "auto", "orig")
# What releases write beside a language: "Latin American.spa.srt", "English (US).srt".
_VARIANTS = (
    *("american", "brazil", "brazilian", "british", "canadian", "castilian", "european", "latin", "simplified"),
    *("traditional", "uk", "us"),
)
# A file named only so may belong to any video: "captions.en.vtt", "subtitles.srt".
_GENERIC = ("caption", "captions", "sub", "subs", "subtitle", "subtitles", "transcript", "transcription")
# What tools add that transcribe the sound: "film.mp3.words.json".
_TRANSCRIBED = ("aac", "flac", "m4a", "mp3", "wav", "whisper", "words")

_ENDINGS = (*ENDINGS, *PICTURE_ENDINGS)
_SEPARATORS = re.compile(r"[.\s()\[\]{}+]+")
_INNER_SEPARATORS = re.compile(r"[-_]+")
_NUMBER = re.compile(r"\d{1,3}", re.ASCII)
_LEADING_NUMBER = re.compile(r"^\d{1,3}[-_. ]+", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]+(?:[-_](?:[a-z]{2}|[a-z]{4}|\d{3}))?", re.ASCII)


@dataclass(frozen=True)
class Sidecar:
    """A subtitle file beside a video.

    name: as shown to users. language: a two-letter code from its name, "" if the name has none. is_partial: it holds
    only forced lines or a commentary. is_bare: it has a language's name but not the video's, and the video is the only
    one there.
    """

    path: Path
    name: str
    language: str
    is_partial: bool
    is_bare: bool

    @property
    def is_picture(self) -> bool:
        return self.path.suffix.lower() in PICTURE_ENDINGS


@dataclass(frozen=True)
class SidecarSearch:
    """The subtitle files of a video, best first, and those left out because they may belong to another one."""

    found: tuple[Sidecar, ...]
    ambiguous: tuple[Path, ...]  # named only after a language, in a folder of several videos
    unrelated: tuple[Path, ...]  # named neither after the video nor after a language


def find_sidecars(video_path: StrPath, language: str | None) -> list[Path]:
    """Return the subtitle files of a video that are text, best first: film.srt, film_en.vtt, Subs/film.eng.forced.srt.

    Files in the requested language come first, then those with the video's exact name, then English or undetermined,
    then the rest by name. Partial ones, which hold only the foreign lines or a commentary, come after complete ones.
    """
    requested = language_code(language)
    found = sorted(search_sidecars(video_path).found, key=lambda each: bool(requested) and each.language != requested)
    return [sidecar.path for sidecar in found if not sidecar.is_picture]


def search_sidecars(video_path: StrPath) -> SidecarSearch:
    """Find the subtitle files of a video, and pictures, in the order of `find_sidecars`, with what their names say.

    A file that is named only after a language belongs to the video if that is the only one in the folder, or if the
    file is in a folder with the video's name: Subs/film/2_English.srt. Files with an ending that other files share
    (.json, .xml, .sub) are included only if they can be read as subtitles.
    """
    video = Path(video_path)
    places = _places(video)
    beside = places[0].names
    videos = {name for name in beside if Path(name).suffix.lower() in VIDEO_SUFFIXES}
    # A folder of subtitles without the video serves any number of videos.
    is_only_video = video.name in beside and videos <= {video.name}
    stems = tuple(Path(name).stem.casefold() for name in videos)
    ranked = []
    ambiguous: list[Path] = []
    unrelated: list[Path] = []
    for depth, place in enumerate(places):
        for name in place.names:
            path = place.folder / name
            ending = path.suffix.lower()
            if ending not in _ENDINGS or name == video.name or not path.is_file():
                continue
            tags, is_bare = _read_name(path.stem, video, numbered=depth > 0)
            if tags is None or (is_bare and not (place.is_own or is_only_video)):
                if ending not in SHARED_ENDINGS and not path.stem.casefold().startswith(stems):
                    (unrelated if tags is None else ambiguous).append(path)
                continue
            if ending in SHARED_ENDINGS and not _is_readable(path):
                continue
            language = _language(tags)
            shown = os.path.relpath(path, video.parent) + (f" ({language})" if language else "")
            sidecar = Sidecar(path, shown, language, not set(_PARTIAL).isdisjoint(tags), is_bare)
            rank = (
                sidecar.is_partial,
                sidecar.is_picture,
                bool(tags),
                "" if sidecar.language == "en" else sidecar.language,
                is_bare,
                depth,
                len(tags),
                _ENDINGS.index(ending),
                name,
            )
            ranked.append((rank, sidecar))
    found = tuple(sidecar for _, sidecar in sorted(ranked, key=lambda item: item[0]))
    return SidecarSearch(found, tuple(ambiguous), tuple(unrelated))


def sidecar_tags(stem: str, video: Path) -> list[str]:
    """Return the language and the flags in the name of a file that is given for this video, whatever its name.

    What `search_sidecars` would read from it, else what is at its end: "My.film.en.forced" gives en and forced.
    """
    tags, _ = _read_name(stem, video, numbered=True)
    if tags is None:
        tags = list(takewhile(_is_tag, reversed(stem.lower().split(".")[1:])))[::-1]
    languages = [tag for tag in tags if is_language(tag)][:1]
    flags = dict.fromkeys(tag for tag in tags if tag in _FLAGS and tag not in languages)
    return [*(tag if _LANGUAGE.fullmatch(tag) else language_code(tag) for tag in languages), *flags]


@dataclass(frozen=True)
class _Place:
    """A folder to search, the names in it, and whether all its files belong to the video."""

    folder: Path
    names: list[str]
    is_own: bool


def _places(video: Path) -> list[_Place]:
    """The video's folder, those of subtitles in it, and in these the ones with the video's name."""
    try:
        beside = sorted(os.listdir(video.parent))
    except OSError as error:
        raise InputError(f"{video.parent} is unreadable: {error.strerror}") from None
    places = [_Place(video.parent, beside, is_own=False)]
    for folder in (video.parent / name for name in beside if name.lower() in SIDECAR_FOLDERS):
        places.append(inner := _Place(folder, _names_in(folder), is_own=False))
        own = (name for name in inner.names if name.casefold() in (video.stem.casefold(), video.name.casefold()))
        places += [_Place(folder / name, _names_in(folder / name), is_own=True) for name in own]
    return places


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:  # not a folder, or a loop of links
        return []


def _read_name(stem: str, video: Path, *, numbered: bool) -> tuple[list[str] | None, bool]:
    """Return the tags in a file's name and whether it lacks the video's; no tags if the name has anything else."""
    for name in (video.name, video.stem):
        rest = stem[len(name) :]
        if stem[: len(name)].casefold() == name.casefold() and not rest[:1].isalnum():
            # "film.en-x7Zq.vtt" is English, as downloaders name it; "film-no-way.srt" is not Norwegian.
            tags = _split_tags(rest, any_region=rest[:1] == ".")
            if not rest or (tags and tags[0] not in _VARIANTS):
                return tags, False
            break
    tags = _split_tags(_LEADING_NUMBER.sub("", stem) if numbered else stem)
    return (tags if tags and (_language(tags) or not set(_GENERIC).isdisjoint(tags)) else None), True


def _split_tags(text: str, *, any_region: bool = False) -> list[str] | None:
    """Split what a name has beside the video's into tags; None if a part of it is not one."""
    tags: list[str] = []
    for part in _SEPARATORS.split(text.lower()):
        whole = part.strip("-_")
        is_whole = is_language(whole) and (any_region or _LANGUAGE.fullmatch(whole))
        for piece in [whole] if is_whole else _INNER_SEPARATORS.split(whole):
            is_count = bool(tags) and _NUMBER.fullmatch(piece)
            if piece and not (_is_tag(piece) or piece in (*_VARIANTS, *_GENERIC, *_TRANSCRIBED) or is_count):
                return None
            tags += [piece] if piece else []
    return tags


def _language(tags: list[str]) -> str:
    return next((code for tag in tags if is_language(tag) and (code := language_code(tag))), "")


def _is_tag(text: str) -> bool:
    return text in _FLAGS or is_language(text)


def _is_readable(path: Path) -> bool:
    try:
        return bool(read_events(path))
    except InputError:
        return False
