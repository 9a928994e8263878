"""The videos that the tools may read: files inside the folders given, by name or path, and copies of URLs."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from framesift._utils.text import near_names, readable
from framesift.errors import InputError
from framesift.mcp.replies import data
from framesift.server.files import MAX_LISTED, is_hidden, walk_videos
from framesift.store.fingerprint import fingerprint
from framesift.text.subtitles import search_sidecars
from framesift.video.container import check_file

MAX_CANDIDATES = 10  # named in a message


@dataclass(frozen=True)
class AgentVideo:
    """A file and the name under which the tools show and accept it; url: what it is a copy of."""

    name: str
    path: Path
    url: str = ""

    @property
    def version(self) -> str:
        """Changes whenever the file or a subtitle file beside it does."""
        files = [self.path, *(sidecar.path for sidecar in search_sidecars(self.path).found)]
        states = [(file, file.stat()) for file in files if file.is_file()]
        return "|".join(f"{file}:{state.st_size}:{state.st_mtime_ns}" for file, state in states)


@dataclass(frozen=True)
class _SharedFolder:
    """A folder given by the user, as written and with links resolved, and the first part of its videos' names."""

    given: Path
    real: Path
    label: str


class AgentLibrary:
    """The videos of some folders. A path from a call is checked before anything at that path is touched."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = _labelled(folders)
        self._fingerprints: dict[str, str] = {}

    @property
    def is_empty(self) -> bool:
        return not self._folders

    def videos(self) -> Iterator[AgentVideo]:
        """All videos by name, at most `MAX_LISTED` of each folder."""
        for folder in self._folders:
            for path in sorted(islice(walk_videos(folder.real), MAX_LISTED)):
                yield AgentVideo(self._name(folder, path), path)

    def find(self, name: str) -> AgentVideo:
        """The video of this name or path, or the only one with this file name in any subfolder.

        InputError for a video that is missing or outside the folders, and for a name that several have.
        """
        if len(self._folders) > 1:
            for folder in self._folders:
                prefix = f"{folder.label}/"
                if name.startswith(prefix) and (video := self._inside(folder, name.removeprefix(prefix))) is not None:
                    return video
        videos = [video for folder in self._folders if (video := self._inside(folder, name)) is not None]
        if not videos:  # a listed name may have U+FFFD in place of bytes that are not text
            videos = [video for video in self.videos() if name in (video.name, Path(video.name).name)]
        found = list({video.path.resolve(): video for video in videos}.values())
        if len(found) > 1:
            names = ", ".join(data(video.name) for video in found[:MAX_CANDIDATES])
            more = ", …" if len(found) > MAX_CANDIDATES else ""
            raise InputError(f"{name[:200]!r} is the name of {len(found)} videos; expected one of {names}{more}")
        if found:
            return found[0]
        if self.is_empty:
            raise InputError(
                "this server was started without folders, so no file can be read; restart it as "
                "`framesift mcp FOLDER`, or give an http(s) URL"
            )
        raise InputError(f"{name[:200]!r} is not a video in this server's folders; {self._suggestion(name)}")

    def check_sidecars(self, video: AgentVideo) -> None:
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
                        f"{data(file.name)} beside this video is a link that leads outside this server's folders; "
                        "remove it, or start the server with the folder of its target too"
                    )

    def fingerprint(self, video: AgentVideo) -> str:
        """The fingerprint of the file's content, computed once per version of the file."""
        status = Path(check_file(video.path)).stat()
        key = f"{video.path}:{status.st_size}:{status.st_mtime_ns}"
        if key not in self._fingerprints:
            self._fingerprints[key] = fingerprint(video.path)
        return self._fingerprints[key]

    def _inside(self, folder: _SharedFolder, name: str) -> AgentVideo | None:
        """The file of this name in the folder; None if there is none, or it is a link that leads outside all."""
        try:
            for root in dict.fromkeys((folder.real, folder.given)):
                # By text first: on Windows, looking at \\server\share would already sign in there.
                written = Path(os.path.normpath(os.path.join(root, name)))
                if not written.is_relative_to(root):
                    continue
                path = written.resolve()
                home = next((each for each in self._folders if path.is_relative_to(each.real)), None)
                if home is not None and not is_hidden(path.relative_to(home.real)) and path.is_file():
                    return AgentVideo(self._name(home, path), path)
        except (OSError, ValueError):  # a name that no file can have
            return None
        return None

    def _name(self, folder: _SharedFolder, path: Path) -> str:
        relative = readable(path.relative_to(folder.real).as_posix())
        return f"{folder.label}/{relative}" if len(self._folders) > 1 else relative

    def _suggestion(self, name: str) -> str:
        names: dict[str, list[str]] = {}
        for video in self.videos():
            names.setdefault(Path(video.name.casefold()).stem, []).append(video.name)
        near = near_names(Path(name).stem, names, 3)
        if near:
            return f"did you mean {' or '.join(data(each) for stem in near for each in names[stem][:3])}?"
        return "call list_videos for the names"


def _labelled(folders: tuple[Path, ...]) -> tuple[_SharedFolder, ...]:
    rows: list[_SharedFolder] = []
    for given in dict.fromkeys(Path(os.path.abspath(folder)) for folder in folders):
        label, number = readable(given.name) or "root", 1
        while label in {row.label for row in rows}:
            number += 1
            label = f"{readable(given.name) or 'root'} ({number})"
        rows.append(_SharedFolder(given, given.resolve(), label))
    return tuple(rows)
