"""The videos the page may show: those in FOLDER and those uploaded, each under an id, and nothing else on the disk.

A request names a video by its id, which is looked up among the files found here; no path of a request is ever opened
as it came.
"""

import hashlib
import json
import os
import re
import shutil
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from framesift.errors import InputError
from framesift.library.batch import VIDEO_ENDINGS
from framesift.media.captions.formats import ENDINGS
from framesift.serve.config import Settings

MOST_VIDEOS = 2000  # listed from one folder; more is a mistake in the folder's name
MOST_NAME = 120  # characters of an uploaded file's name
PARTIAL = ".upload-"
_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')


@dataclass(frozen=True)
class Film:
    """One video file on the shelf."""

    id: str
    path: Path
    name: str  # as shown: inside FOLDER with its sub-folders
    uploaded: bool

    @property
    def stamp(self) -> str:
        """Changes when the file does; what is known of a video is kept under it."""
        status = self.path.stat()
        return f"{self.id}-{status.st_size}-{status.st_mtime_ns}"


class Shelf:
    """The films by id. Reading the folder again is cheap, so the disk is always right."""

    def __init__(self, settings: Settings) -> None:
        self.folder = settings.folder
        self.uploads = settings.uploads_folder
        self._list = settings.state / "added.json"  # files of FOLDER added by name that do not look like videos
        self._lock = threading.Lock()
        self._films: dict[str, Film] = {}
        for left in self.uploads.glob(f"{PARTIAL}*"):
            left.unlink(missing_ok=True)

    def films(self) -> list[Film]:
        """Everything on the shelf, uploads first, then by name."""
        found = [self._uploaded(path) for path in sorted(self.uploads.glob("*")) if path.is_file()]
        found = [film for film in found if film.path.name[0] != "." and film.path.suffix.lower() not in ENDINGS]
        if self.folder is not None:
            inside = dict.fromkeys([*_videos_below(self.folder), *self._added()])
            found += [self._inside(path) for path in inside]
        with self._lock:
            self._films = {film.id: film for film in found}
        return found

    def get(self, video: str) -> Film | None:
        """The film of this id, if its file is there."""
        with self._lock:
            film = self._films.get(video)
        if film is None:
            film = next((one for one in self.films() if one.id == video), None)
        return film if film is not None and film.path.is_file() else None

    def add(self, name: str) -> Film:
        """A file by its path inside FOLDER; anything outside, also by way of links, is refused."""
        if self.folder is None:
            raise InputError("this server was started without a folder; upload the video instead")
        try:
            path = (self.folder / name).resolve()
            is_file = path.is_file()
        except (OSError, ValueError):
            raise InputError(f"{name[:200]!r} is no path; expected a video inside the folder") from None
        if self.folder not in path.parents or not is_file or _is_hidden(path.relative_to(self.folder)):
            raise InputError(f"there is no {name[:200]!r} inside the folder this server was started with")
        film = self._inside(path)
        if path not in _videos_below(self.folder):
            with self._lock:
                names = [*json.loads(self._list.read_text()), film.name] if self._list.exists() else [film.name]
                write_json(self._list, sorted(set(names)))
        self.films()
        return film

    def room(self, needed: int) -> None:
        """Refuse an upload that would fill the disk."""
        self.uploads.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(self.uploads).free < needed + 2**28:
            raise InputError("the disk has no room for this video; free some space and upload it again")

    def partial(self, mark: str) -> Path:
        """Where an upload is written until it is known to be a video."""
        return self.uploads / f"{PARTIAL}{mark}"

    def keep(self, partial: Path, name: str) -> Film:
        """Give an uploaded file its name; one that is taken gets a number."""
        wanted = safe_name(name)
        stem, ending = os.path.splitext(wanted)
        with self._lock:
            path, number = self.uploads / wanted, 1
            while path.exists():
                number += 1
                path = self.uploads / f"{stem} ({number}){ending}"
            partial.rename(path)
        self.films()
        return self._uploaded(path)

    def upload_id(self, name: str) -> str:
        """The id an upload of this name has, there or not."""
        return _id_of("upload", name)

    def remove(self, film: Film) -> None:
        """Delete an upload. What lies in FOLDER belongs to its owner and stays."""
        if not film.uploaded:
            raise InputError(f"{film.name!r} lies in the folder this server was started with; delete it there")
        film.path.unlink(missing_ok=True)
        self.films()

    def _added(self) -> list[Path]:
        if self.folder is None or not self._list.exists():
            return []
        paths = (self.folder / str(name) for name in json.loads(self._list.read_text()))
        return [path for path in paths if path.is_file() and self.folder in path.resolve().parents]

    def _uploaded(self, path: Path) -> Film:
        return Film(_id_of("upload", path.name), path, path.name, uploaded=True)

    def _inside(self, path: Path) -> Film:
        assert self.folder is not None  # noqa: S101 (only called where there is one)
        name = path.relative_to(self.folder).as_posix()
        return Film(_id_of("folder", f"{self.folder}/{name}"), path, name, uploaded=False)


def safe_name(name: str) -> str:
    """A file's name from one that a stranger chose: no folders, no control characters, no leading dot, not too long."""
    name = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(c for c in name if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    stem, ending = os.path.splitext(_UNSAFE.sub("_", " ".join(name.split())).strip(" ."))
    ending = ending if re.fullmatch(r"\.[A-Za-z0-9]{1,5}", ending) else ""
    while len((stem + ending).encode()) > MOST_NAME:
        stem = stem[:-1]
    return (stem.strip(" .") or "video") + ending


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{threading.get_ident()}-{path.name}")
    temporary.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    temporary.replace(path)


def _videos_below(folder: Path) -> list[Path]:
    found = []
    for path in _walk(folder):
        found.append(path)
        if len(found) == MOST_VIDEOS:
            break
    return sorted(found)


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            if name.startswith(".") or path.suffix.lower() not in VIDEO_ENDINGS or not path.is_file():
                continue
            if not path.is_symlink() or folder in path.resolve().parents:
                yield path


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _id_of(kind: str, name: str) -> str:
    return hashlib.blake2b(f"{kind}:{name}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
