"""The video files that may be used: those below the user's folders, uploads and downloads.

A request names a video by its id or by its name, which is looked up among the files listed here; a path from a request
is never opened unchecked.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from framesift._utils.files import write_bytes
from framesift._utils.json import load_json
from framesift._utils.records import read_value
from framesift._utils.text import near_names, readable
from framesift.errors import InputError, OptionError
from framesift.text.subtitles import find_sidecars, search_sidecars, sidecar_tags
from framesift.text.subtitles.reading import ENDINGS
from framesift.video.files import VIDEO_SUFFIXES

MAX_LISTED = 2000  # videos of FOLDER; more suggests that the wrong directory was given
MAX_CANDIDATES = 10  # named in a message
MAX_NAME_BYTES = 120  # of an uploaded file's name
MAX_SUBTITLE_TAGS = 3  # in a subtitle file's name: a language and a flag or two
DISK_RESERVE_BYTES = 2**28  # left free by uploads
PARTIAL_PREFIX = ".upload-"
log = logging.getLogger(__name__)

_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]+')


@dataclass(frozen=True)
class LibraryVideo:
    """A video file, the id under which requests name it, and the name under which it is shown.

    name: its path relative to the folder. uploaded: it came from the page. url: what it is a copy of.
    """

    id: str
    path: Path
    name: str
    uploaded: bool = False
    url: str = ""

    @property
    def stamp(self) -> str:
        """Changes whenever the file does; empty for one that is gone."""
        try:
            status = self.path.stat()
        except OSError:
            return ""
        return f"{self.id}-{status.st_size}-{status.st_mtime_ns}"

    @property
    def version(self) -> str:
        """Changes whenever the file or a subtitle file beside it does."""
        rows = [self.stamp]
        for sidecar in search_sidecars(self.path).found:
            with suppress(FileNotFoundError):  # deleted since it was listed
                status = sidecar.path.stat()
                rows.append(f"{sidecar.path}:{status.st_size}:{status.st_mtime_ns}")
        return "|".join(rows)


def public_message(error: object, *videos: LibraryVideo, mark: Callable[[str], str] | None = None) -> str:
    """A message with file names as they are shown, never with their location on disk. mark: of a video's name."""
    message = str(error)
    for video in videos:
        path, quoted, name = str(video.path), repr(video.name), video.name
        if mark is not None:
            quoted = name = mark(name)
        message = message.replace(repr(path), quoted).replace(path, name).replace(f"{video.path.parent}{os.sep}", "")
    return readable(message)


class VideoFiles:
    """The videos of a folder and the uploads, by id. Listing is cheap, so the directories are read again each time."""

    def __init__(self, folder: Path | None, state: Path) -> None:
        self.uploads = state / "uploads"
        self._folders = SharedFolders(() if folder is None else (folder,))
        self.folder_id = make_id("folder", str(folder))
        self._lock = threading.Lock()
        self._by_id: dict[str, LibraryVideo] = {}
        try:
            self.uploads.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(
                f"uploads can't be stored in {self.uploads} ({error.strerror}); set another directory with --store"
            ) from None
        for partial in self.uploads.glob(f"{PARTIAL_PREFIX}*"):
            partial.unlink(missing_ok=True)

    def list_videos(self) -> list[LibraryVideo]:
        """All videos, uploads first, then by name."""
        uploads = [path for path in sorted(self.uploads.glob("*")) if path.is_file() and path.name[0] != "."]
        videos = [self._uploaded(path) for path in uploads if path.suffix.lower() not in ENDINGS]
        self._by_id = {video.id: video for video in (*videos, *self._folders.videos())}
        return list(self._by_id.values())

    def get(self, video_id: str) -> LibraryVideo | None:
        """The video of this id, if its file exists and is still inside its directory."""
        if video_id not in self._by_id:
            self.list_videos()
        video = self._by_id.get(video_id)
        if video is None or not video.uploaded:
            return video and self._folders.find_path(str(video.path))
        return video if video.path.is_file() else None

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
        return self._uploaded(path)

    def store_subtitles(self, video: LibraryVideo, partial: Path, name: str) -> None:
        """Move checked subtitles beside an upload, replacing those of the same language. The suffix is `partial`'s."""
        tags = sidecar_tags(PurePosixPath(name).stem, video.path)
        stem = ".".join([video.path.stem, *tags[:MAX_SUBTITLE_TAGS]])
        partial.replace(video.path.with_name(stem + partial.suffix))

    def upload_id(self, name: str) -> str:
        """The id of an upload of this name, present or not."""
        return make_id("upload", name)

    def remove(self, video: LibraryVideo) -> None:
        """Delete an upload and its subtitles. Files in FOLDER are never deleted."""
        if not video.uploaded:
            raise InputError(f"{video.name!r} is in the directory this server was started with; delete it there")
        others = [other.path for other in self.list_videos() if other.uploaded and other != video]
        shared = {path for other in others for path in find_sidecars(other, None)}
        named = [sidecar.path for sidecar in search_sidecars(video.path).found if not sidecar.is_bare]
        for path in (video.path, *named):
            if path not in shared:
                path.unlink(missing_ok=True)

    def _uploaded(self, path: Path) -> LibraryVideo:
        return LibraryVideo(self.upload_id(path.name), path, readable(path.name), uploaded=True)


@dataclass(frozen=True)
class _NamedFolder:
    """A folder given by the user, as written and with links resolved, and the first part of its videos' names."""

    given: Path
    real: Path
    label: str


class SharedFolders:
    """The videos of some folders, by name. A path from a call is checked before anything at that path is touched.

    mark: of the names of files in messages.
    """

    def __init__(self, folders: tuple[Path, ...], mark: Callable[[str], str] = repr) -> None:
        self._folders, self._mark = _labelled(folders), mark

    @property
    def is_empty(self) -> bool:
        return not self._folders

    def videos(self) -> Iterator[LibraryVideo]:
        """All videos by name, at most `MAX_LISTED` of each folder."""
        for folder in self._folders:
            for path in sorted(islice(_walk_videos(folder.real), MAX_LISTED)):
                yield self._video(folder, path)

    def find(self, name: str) -> LibraryVideo:
        """The video of this name or path, or the only one with this file name in any subfolder.

        InputError for a video that is missing or outside the folders, and for a name that several have.
        """
        videos = [video for folder in self._folders if (video := self._inside(folder, name)) is not None]
        if not videos:  # a listed name may begin with its folder's label, and have U+FFFD in place of bytes
            videos = [video for video in self.videos() if name in (video.name, Path(video.name).name)]
        found = list({video.path.resolve(): video for video in videos}.values())
        if len(found) > 1:
            names = ", ".join(self._mark(video.name) for video in found[:MAX_CANDIDATES])
            more = ", …" if len(found) > MAX_CANDIDATES else ""
            raise InputError(f"{name[:200]!r} is the name of {len(found)} videos; expected one of {names}{more}")
        if found:
            return found[0]
        if self.is_empty:
            raise InputError(
                "this server was started without folders, so no file can be read; restart it with a FOLDER, or give an "
                "http(s) URL"
            )
        raise InputError(f"{name[:200]!r} is not a video in this server's folders; {self._suggestion(name)}")

    def find_path(self, name: str) -> LibraryVideo | None:
        """The file of this path inside one of the folders, whatever its suffix."""
        videos = (self._inside(folder, name) for folder in self._folders)
        return next((video for video in videos if video is not None), None)

    def check_sidecars(self, video: LibraryVideo) -> None:
        """Refuse a video beside which a link to a file outside the folders would be read as its subtitles."""
        if video.url:
            return
        for sidecar in search_sidecars(video.path).found:
            files = [sidecar.path]
            if sidecar.is_picture:
                files += [sidecar.path.with_suffix(".sub"), sidecar.path.with_suffix(".SUB")]
            for file in files:
                if not any(file.resolve().is_relative_to(folder.real) for folder in self._folders):
                    raise InputError(
                        f"{self._mark(file.name)} beside this video is a link that leads outside this server's "
                        "folders; remove it, or start the server with the folder of its target too"
                    )

    def _inside(self, folder: _NamedFolder, name: str) -> LibraryVideo | None:
        """The file of this name in the folder; None if there is none, or it is a link that leads outside all."""
        try:
            for root in dict.fromkeys((folder.real, folder.given)):
                # By text first: on Windows, looking at \\server\share would already sign in there.
                written = Path(os.path.normpath(os.path.join(root, name)))
                if not written.is_relative_to(root):
                    continue
                path = written.resolve()
                home = next((each for each in self._folders if path.is_relative_to(each.real)), None)
                if home is None or any(part.startswith(".") for part in path.relative_to(home.real).parts):
                    continue
                if path.is_file():
                    return self._video(home, path)
        except (OSError, ValueError):  # a name that no file can have
            return None
        return None

    def _video(self, folder: _NamedFolder, path: Path) -> LibraryVideo:
        relative = readable(path.relative_to(folder.real).as_posix())
        name = f"{folder.label}/{relative}" if len(self._folders) > 1 else relative
        return LibraryVideo(make_id("path", str(path)), path, name)

    def _suggestion(self, name: str) -> str:
        names: dict[str, list[str]] = {}
        for video in self.videos():
            names.setdefault(Path(video.name.casefold()).stem, []).append(video.name)
        near = near_names(Path(name).stem, names, 3)
        if near:
            return f"did you mean {' or '.join(self._mark(each) for stem in near for each in names[stem][:3])}?"
        return "expected the name or path of one of its videos"


def _labelled(folders: tuple[Path, ...]) -> tuple[_NamedFolder, ...]:
    rows: list[_NamedFolder] = []
    for given in dict.fromkeys(Path(os.path.abspath(folder)) for folder in folders):
        label, number = readable(given.name) or "root", 1
        while label in {row.label for row in rows}:
            number += 1
            label = f"{readable(given.name) or 'root'} ({number})"
        rows.append(_NamedFolder(given, given.resolve(), label))
    return tuple(rows)


def check_disk_space(folder: Path, needed: int) -> None:
    """Refuse a video that would fill the disk."""
    if shutil.disk_usage(folder).free < needed + DISK_RESERVE_BYTES:
        raise InputError("the disk is too full for this video; free some space and try again")


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


def read_json(path: Path, kind: Any) -> Any:
    """The value of a file that `write_json` wrote; None, with a warning, for one that can't be read."""
    try:
        return read_value(kind, load_json(path.read_bytes(), path.name, "JSON"), path.name)
    except FileNotFoundError:
        return None
    except (OSError, InputError) as error:
        log.warning("%s can't be read (%s); it is kept as .damaged", path, error)
        with suppress(OSError):
            path.replace(path.with_suffix(".damaged"))
        return None


def _walk_videos(folder: Path) -> Iterator[Path]:
    """Yield the videos below a folder. Hidden ones, linked folders and links that lead outside it are skipped."""
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if name.startswith(".") or path.suffix.lower() not in VIDEO_SUFFIXES or not path.is_file():
                continue
            if not path.is_symlink() or folder in path.resolve().parents:
                yield path


def make_id(kind: str, name: str) -> str:
    return hashlib.blake2b(f"{kind}:{name}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
