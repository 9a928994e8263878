"""The videos the page may show: those in FOLDER and those uploaded, each under an id, and nothing else on the disk.

A request names a video by its id, which is looked up among the files found here; no path of a request is ever opened
as it came.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from framesift._utils.text import readable
from framesift.errors import InputError, OptionError
from framesift.server.config import LOCK, Settings
from framesift.store.videos import VIDEO_ENDINGS
from framesift.text.subtitles import find_sidecars, sidecar_tags
from framesift.text.subtitles.formats import ENDINGS

MOST_VIDEOS = 2000  # listed from one folder; more is a mistake in the folder's name
MOST_NAME = 120  # characters of an uploaded file's name
PARTIAL = ".upload-"
MOST_TAGS = 3  # of a subtitle file's name: a language and a flag or two
MARK = ".framesift-uploads"  # in a folder that was named for uploads: what lies there came from the page
log = logging.getLogger(__name__)

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
        self.mark = "" if self.folder is None else _id_of("folder", str(self.folder))
        # Files of FOLDER, added by name, that do not look like videos.
        self._list = settings.state / f"added-{self.mark}.json"
        self._lock = threading.Lock()
        self._films: dict[str, Film] = {}
        self._claim_uploads(own=settings.uploads is None)
        for left in self.uploads.glob(f"{PARTIAL}*"):
            left.unlink(missing_ok=True)

    def _claim_uploads(self, *, own: bool) -> None:
        """Make the folder of uploads; one that others filled is refused, as what lies there can be seen and deleted."""
        mark = self.uploads / MARK
        try:
            self.uploads.mkdir(parents=True, exist_ok=True)
            if not own and not mark.exists():
                if any(path.name != LOCK for path in self.uploads.iterdir()):
                    raise OptionError(f"--uploads {self.uploads} holds other files; expected an empty folder")
                mark.touch()
        except OSError as error:
            raise OptionError(
                f"uploads can't be kept in {self.uploads} ({error.strerror}); name another folder with --uploads"
            ) from None

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
        return film if film is not None and self._is_here(film) else None

    def inside(self, name: str) -> Film:
        """A file by its path inside FOLDER, on the shelf or not; anything outside, also by way of links, is refused."""
        if self.folder is None:
            raise InputError("this server was started without a folder; upload the video instead")
        try:
            path = (self.folder / name).resolve()
            is_file = path.is_file()
        except (OSError, ValueError):
            raise InputError(f"{name[:200]!r} is no path; expected a video inside the folder") from None
        if self.folder not in path.parents or not is_file or _is_hidden(path.relative_to(self.folder)):
            raise InputError(f"there is no {name[:200]!r} inside the folder this server was started with")
        return self._inside(path)

    def add(self, film: Film) -> None:
        """Keep a file of FOLDER on the shelf whose ending does not say that it is a video."""
        if self.get(film.id) is None and self.folder is not None:
            with self._lock:
                write_json(self._list, sorted({*self._added_names(), film.path.relative_to(self.folder).as_posix()}))
            self.films()

    def room(self, needed: int) -> None:
        """Refuse an upload that would fill the disk."""
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
            # Subtitles belong to a video by its name without the ending, so that no two may share it.
            taken = {one.stem.lower() for one in self.uploads.iterdir() if one.suffix.lower() not in ENDINGS}
            while path.exists() or path.stem.lower() in taken:
                number += 1
                path = self.uploads / f"{stem} ({number}){ending}"
            partial.rename(path)
        self.films()
        return self._uploaded(path)

    def keep_subtitles(self, film: Film, partial: Path, name: str) -> None:
        """Put subtitles, which end in what `partial` ends in, beside an upload, in place of those of that language."""
        tags = list(dict.fromkeys(sidecar_tags(PurePosixPath(name).name.removesuffix(PurePosixPath(name).suffix))))
        partial.replace(film.path.with_name(".".join([film.path.stem, *tags[:MOST_TAGS]]) + partial.suffix))

    def upload_id(self, name: str) -> str:
        """The id an upload of this name has, there or not."""
        return _id_of("upload", name)

    def remove(self, film: Film) -> None:
        """Delete an upload and the subtitles beside it. What lies in FOLDER belongs to its owner and stays."""
        if not film.uploaded:
            raise InputError(f"{film.name!r} lies in the folder this server was started with; delete it there")
        others = [other.path for other in self.films() if other.uploaded and other != film]
        shared = {path for other in others for path in find_sidecars(other)}
        for path in (film.path, *find_sidecars(film.path)):
            if path not in shared:
                path.unlink(missing_ok=True)
        self.films()

    def _added(self) -> list[Path]:
        if self.folder is None:
            return []
        paths = (self.folder / name for name in self._added_names())
        return [path for path in paths if path.is_file() and self.folder in path.resolve().parents]

    def _added_names(self) -> list[str]:
        try:
            names = json.loads(self._list.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            log.warning("the list of added files in %s can't be read (%s); it starts empty", self._list, error)
            return []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def _is_here(self, film: Film) -> bool:
        """Whether the file is there, and still where it may be: a link may have been put in its place."""
        place = self.uploads.resolve() if film.uploaded else self.folder
        return film.path.is_file() and place in film.path.resolve().parents

    def _uploaded(self, path: Path) -> Film:
        return Film(_id_of("upload", path.name), path, readable(path.name), uploaded=True)

    def _inside(self, path: Path) -> Film:
        assert self.folder is not None  # noqa: S101 (only called where there is one)
        name = path.relative_to(self.folder).as_posix()
        return Film(_id_of("folder", f"{self.folder}/{name}"), path, readable(name), uploaded=False)


def safe_name(name: str) -> str:
    """A file's name from one that a stranger chose: no folders, no control characters, no leading dot, not too long."""
    name = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(c for c in name if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    stem, ending = os.path.splitext(_UNSAFE.sub("_", " ".join(name.split())).strip(" ."))
    # With the ending of a subtitle file it would be taken for one.
    ending = ending if re.fullmatch(r"\.[A-Za-z0-9]{1,5}", ending) and ending.lower() not in ENDINGS else ""
    while len((stem + ending).encode()) > MOST_NAME:
        stem = stem[:-1]
    return (stem.strip(" .") or "video") + ending


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{threading.get_ident()}-{path.name}")
    temporary.write_text(json.dumps(value), encoding="utf-8")  # escaped: a file's name may hold what is no text
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
