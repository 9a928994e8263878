"""The video files the server may use: those in FOLDER and the uploads, each under an id.

A request names a video by its id, which is looked up among the files listed here; a path from a request is never opened
unchecked.
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
from itertools import islice
from pathlib import Path, PurePosixPath

from framesift._utils.files import write_bytes
from framesift._utils.json import load_json
from framesift._utils.text import readable
from framesift.errors import InputError, OptionError
from framesift.server.config import LOCK_FILE, ServerConfig
from framesift.text.subtitles import find_sidecars, search_sidecars, sidecar_tags
from framesift.text.subtitles.formats import ENDINGS
from framesift.video.files import VIDEO_SUFFIXES

MAX_LISTED = 2000  # videos of FOLDER; more suggests that the wrong directory was given
MAX_NAME_BYTES = 120  # of an uploaded file's name
MAX_SUBTITLE_TAGS = 3  # in a subtitle file's name: a language and a flag or two
DISK_RESERVE_BYTES = 2**28  # left free by uploads
PARTIAL_PREFIX = ".upload-"
UPLOADS_MARKER = ".framesift-uploads"  # in a directory given with --uploads: its files came from the page
log = logging.getLogger(__name__)

_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')


@dataclass(frozen=True)
class LibraryVideo:
    """A video file and the id under which requests name it."""

    id: str
    path: Path
    name: str  # as shown; in FOLDER the path relative to it
    uploaded: bool

    @property
    def stamp(self) -> str:
        """Cache key that changes whenever the file does."""
        status = self.path.stat()
        return f"{self.id}-{status.st_size}-{status.st_mtime_ns}"


class VideoFiles:
    """The videos by id. Listing is cheap, so the directories are read again instead of being cached."""

    def __init__(self, config: ServerConfig) -> None:
        self.folder = config.folder
        self.uploads = config.uploads_folder
        self.folder_id = "" if self.folder is None else _make_id("folder", str(self.folder))
        # Files of FOLDER added by path whose suffix is not that of a video.
        self._added_list = config.state / f"added-{self.folder_id}.json"
        self._lock = threading.Lock()
        self._by_id: dict[str, LibraryVideo] = {}
        self._claim_uploads(own=config.uploads is None)
        for partial in self.uploads.glob(f"{PARTIAL_PREFIX}*"):
            partial.unlink(missing_ok=True)

    def _claim_uploads(self, *, own: bool) -> None:
        """Create the uploads directory. One with other files is refused: the page would list them and could delete
        them.
        """
        marker = self.uploads / UPLOADS_MARKER
        try:
            self.uploads.mkdir(parents=True, exist_ok=True)
            if not own and not marker.exists():
                if any(path.name != LOCK_FILE for path in self.uploads.iterdir()):
                    raise OptionError(f"--uploads {self.uploads} contains other files; expected an empty directory")
                marker.touch()
        except OSError as error:
            raise OptionError(
                f"uploads can't be stored in {self.uploads} ({error.strerror}); set another directory with --uploads"
            ) from None

    def list_videos(self) -> list[LibraryVideo]:
        """All videos, uploads first, then by name."""
        uploads = [path for path in sorted(self.uploads.glob("*")) if path.is_file() and path.name[0] != "."]
        videos = [self._uploaded(path) for path in uploads if path.suffix.lower() not in ENDINGS]
        if self.folder is not None:
            listed = sorted(islice(walk_videos(self.folder), MAX_LISTED))
            videos += [self._in_folder(path) for path in dict.fromkeys([*listed, *self._added_paths()])]
        with self._lock:
            self._by_id = {video.id: video for video in videos}
        return videos

    def get(self, video_id: str) -> LibraryVideo | None:
        """The video of this id, if its file exists."""
        with self._lock:
            video = self._by_id.get(video_id)
        if video is None:
            video = next((v for v in self.list_videos() if v.id == video_id), None)
        return video if video is not None and self._is_allowed(video) else None

    def resolve(self, name: str) -> LibraryVideo:
        """A file by its path inside FOLDER, listed or not. Paths and links that lead outside it are refused."""
        if self.folder is None:
            raise InputError("this server was started without a directory; upload the video instead")
        try:
            path = (self.folder / name).resolve()
            is_file = path.is_file()
        except (OSError, ValueError):
            raise InputError(f"{name[:200]!r} is not a valid path; expected a video inside the directory") from None
        if self.folder not in path.parents or not is_file or is_hidden(path.relative_to(self.folder)):
            raise InputError(f"{name[:200]!r} was not found in the directory this server was started with")
        return self._in_folder(path)

    def add(self, video: LibraryVideo) -> None:
        """List a file of FOLDER from now on, whatever its suffix."""
        if self.get(video.id) is None and self.folder is not None:
            with self._lock:
                names = {*self._added_names(), video.path.relative_to(self.folder).as_posix()}
                write_json(self._added_list, sorted(names))
            self.list_videos()

    def check_disk_space(self, needed: int) -> None:
        """Refuse an upload that would fill the disk."""
        if shutil.disk_usage(self.uploads).free < needed + DISK_RESERVE_BYTES:
            raise InputError("the disk is too full for this video; free some space and upload it again")

    def partial_path(self, name: str) -> Path:
        """Where an upload is written until it has been checked."""
        return self.uploads / f"{PARTIAL_PREFIX}{name}"

    def store_upload(self, partial: Path, name: str) -> LibraryVideo:
        """Rename a checked upload to its name, with a number where that is taken."""
        wanted = safe_name(name)
        stem, ending = os.path.splitext(wanted)
        with self._lock:
            path, number = self.uploads / wanted, 1
            # Subtitles are matched to a video by its stem, so no two videos may share one.
            taken = {file.stem.lower() for file in self.uploads.iterdir() if file.suffix.lower() not in ENDINGS}
            while path.exists() or path.stem.lower() in taken:
                number += 1
                path = self.uploads / f"{stem} ({number}){ending}"
            partial.rename(path)
        self.list_videos()
        return self._uploaded(path)

    def store_subtitles(self, video: LibraryVideo, partial: Path, name: str) -> None:
        """Move checked subtitles beside an upload, replacing those of the same language. The suffix is `partial`'s."""
        tags = sidecar_tags(PurePosixPath(name).stem, video.path)
        stem = ".".join([video.path.stem, *tags[:MAX_SUBTITLE_TAGS]])
        partial.replace(video.path.with_name(stem + partial.suffix))

    def upload_id(self, name: str) -> str:
        """The id of an upload of this name, present or not."""
        return _make_id("upload", name)

    def remove(self, video: LibraryVideo) -> None:
        """Delete an upload and its subtitles. Files in FOLDER are never deleted."""
        if not video.uploaded:
            raise InputError(f"{video.name!r} is in the directory this server was started with; delete it there")
        others = [other.path for other in self.list_videos() if other.uploaded and other != video]
        shared = {path for other in others for path in find_sidecars(other)}
        named = [sidecar.path for sidecar in search_sidecars(video.path).found if not sidecar.is_bare]
        for path in (video.path, *named):
            if path not in shared:
                path.unlink(missing_ok=True)
        self.list_videos()

    def _added_paths(self) -> list[Path]:
        if self.folder is None:
            return []
        paths = (self.folder / name for name in self._added_names())
        return [path for path in paths if path.is_file() and self.folder in path.resolve().parents]

    def _added_names(self) -> list[str]:
        try:
            names = load_json(self._added_list.read_bytes(), self._added_list.name, "a list of names")
        except FileNotFoundError:
            return []
        except (OSError, InputError) as error:
            log.warning(
                "the list of added files %s can't be read (%s); starting with an empty one", self._added_list, error
            )
            return []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def _is_allowed(self, video: LibraryVideo) -> bool:
        """Whether the file exists and is still inside its directory: it may have been replaced by a link."""
        root = self.uploads.resolve() if video.uploaded else self.folder
        return video.path.is_file() and root in video.path.resolve().parents

    def _uploaded(self, path: Path) -> LibraryVideo:
        return LibraryVideo(self.upload_id(path.name), path, readable(path.name), uploaded=True)

    def _in_folder(self, path: Path) -> LibraryVideo:
        assert self.folder is not None  # noqa: S101 (only called where there is one)
        name = path.relative_to(self.folder).as_posix()
        return LibraryVideo(_make_id("folder", f"{self.folder}/{name}"), path, readable(name), uploaded=False)


def safe_name(name: str) -> str:
    """A file name from untrusted input: no directories, control characters or leading dot, and of limited length."""
    name = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(c for c in name if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))
    stem, ending = os.path.splitext(_UNSAFE.sub("_", " ".join(name.split())).strip(" ."))
    # A video with the suffix of a subtitle format would be listed as subtitles.
    ending = ending if re.fullmatch(r"\.[A-Za-z0-9]{1,5}", ending) and ending.lower() not in ENDINGS else ""
    while len((stem + ending).encode()) > MAX_NAME_BYTES:
        stem = stem[:-1]
    return (stem.strip(" .") or "video") + ending


def write_json(path: Path, value: object) -> None:
    """Write JSON in ASCII: file names may contain lone surrogates, which UTF-8 can't encode."""
    write_bytes(path, json.dumps(value).encode("ascii"))


def walk_videos(folder: Path) -> Iterator[Path]:
    """Yield the videos below a folder. Hidden ones, linked folders and links that lead outside it are skipped."""
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if name.startswith(".") or path.suffix.lower() not in VIDEO_SUFFIXES or not path.is_file():
                continue
            if not path.is_symlink() or folder in path.resolve().parents:
                yield path


def is_hidden(path: Path) -> bool:
    """Whether the name of the file or of a folder around it begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def _make_id(kind: str, name: str) -> str:
    return hashlib.blake2b(f"{kind}:{name}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
