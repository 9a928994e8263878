"""Copies of videos from elsewhere: from http(s) addresses, downloaded once, and those that clients have sent.

An agent may be talked into fetching an address inside the user's network. So every address is resolved first, refused
if it is not public, and the connection is made to the very address that was checked; each redirect is checked again.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args
from urllib.parse import unquote, urlsplit

from framesift._utils.addresses import CheckedTransport, http_library, is_public
from framesift._utils.credentials import public_url, reject_login
from framesift._utils.files import atomic_folder, is_temporary
from framesift._utils.settings import check_count
from framesift._utils.version import __version__
from framesift.errors import InputError, OptionError
from framesift.library.files import LibraryVideo, check_disk_space, make_id, safe_name
from framesift.pipeline.config import PipelineConfig
from framesift.progress import Progress
from framesift.video.frames import probe

UrlMode = Literal["none", "files"]
URL_MODES: tuple[UrlMode, ...] = get_args(UrlMode)
CHUNK_BYTES = 2**18
MAX_REDIRECTS = 5
TIMEOUT_S = 30.0
CACHE_COUNT = 10  # the cache holds at most this many times the limit of one download
PRIVATE = (
    "an address inside this machine's network, which this server does not fetch from; its user can allow that with "
    "--allow-private"
)
ORIGIN = "origin.json"  # beside a copy: its URL


@dataclass(frozen=True)
class SourceConfig:
    """Which videos may be read, and how they are indexed.

    folders: the only directories that are read. urls: "none" or "files" (a video at an http or https address).
    download_bytes: the most of one video. allow_private: also download from addresses inside this network.
    """

    folders: tuple[Path, ...] = ()
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)
    urls: UrlMode = "files"
    download_bytes: int = 2_000_000_000
    allow_private: bool = False

    def __post_init__(self) -> None:
        for folder in self.folders:
            if not folder.is_dir():
                raise OptionError(f"{folder} is not a directory; expected a directory of videos")
        check_count("max_download", self.download_bytes)
        if self.urls not in URL_MODES:
            raise OptionError(f"urls is {self.urls!r}; expected one of {', '.join(URL_MODES)}")


def is_web_address(name: str) -> bool:
    return name.lower().startswith(("http://", "https://"))


class Downloads:
    """Copies of videos, each in a directory of its own. Those used least recently are removed beyond the limit."""

    by_name = True  # whether a copy is also found under the name it is listed with, which has no signature

    def __init__(self, folder: Path, config: SourceConfig) -> None:
        self.folder, self.config = folder, config

    def check_allowed(self, url: str) -> None:
        """Refuse a URL that this server does not fetch."""
        if self.config.urls == "none":
            raise InputError("this server fetches no URLs (--urls none); give a file of its folders")
        reject_login(url)

    def find(self, name: str) -> LibraryVideo | None:
        """The copy of a URL, as it was given or is listed, if it was downloaded before."""
        own = self._place(name) / ORIGIN  # looked at first: there may be many
        copies = map(self._copy, [own] if own.is_file() else self._origins() if self.by_name else ())
        copy = next((video for video in copies if video is not None and name in (video.url, video.name)), None)
        if copy is not None:
            (copy.path.parent / ORIGIN).touch()  # used now
        return copy

    def videos(self) -> list[LibraryVideo]:
        """The copies of URLs downloaded before; none where URLs are not accepted."""
        found = map(self._copy, self._origins())
        return [video for video in found if video is not None]

    def _origins(self) -> list[Path]:
        return sorted(self.folder.glob(f"*/{ORIGIN}"))

    def _copy(self, origin: Path) -> LibraryVideo | None:
        """The video beside this file; None if it can't be used."""
        try:
            url = json.loads(origin.read_bytes())["url"]
            # Subtitles may lie beside the video.
            files = [file for file in origin.parent.iterdir() if file.is_file() and file.name != ORIGIN]
        except (OSError, ValueError):  # removed meanwhile, or damaged
            return None
        is_unused = is_web_address(url) and self.config.urls == "none"
        if is_unused or not files or is_temporary(origin.parent):
            return None
        path = max(files, key=lambda file: (file.stat().st_size, file.name))
        return LibraryVideo(make_id("url", url), path, _shown_name(url, path), url=url)

    def fetch(self, url: str, progress: Progress) -> None:
        """Download a video; raise InputError if it is too large, at a private address, or not a video."""
        self.store(url, lambda place: self._fetch_file(url, place, progress))

    def store(self, url: str, write: Callable[[Path], Path]) -> None:
        """Keep what `write` writes into a folder, if it is a video. url: under which `find` finds it."""
        place = self._place(url)
        with atomic_folder(place, replace=True) as partial:
            path = write(partial)
            try:
                probe(path)
            except InputError:
                raise InputError(f"{_shown_name(url, path)} is not a video that can be decoded; give another") from None
            (partial / ORIGIN).write_text(json.dumps({"url": url}), encoding="ascii")
        self._prune(keep=place)

    def remove(self, url: str) -> None:
        shutil.rmtree(self._place(url), ignore_errors=True)

    def _place(self, url: str) -> Path:
        return self.folder / hashlib.blake2b(url.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def _fetch_file(self, url: str, place: Path, progress: Progress) -> Path:
        library = http_library()
        transport = CheckedTransport((lambda _: True) if self.config.allow_private else is_public, PRIVATE)
        headers = {
            "User-Agent": f"framesift/{__version__}",
            "Accept": "video/*, */*;q=0.5",
            "Accept-Encoding": "identity",
        }
        options = {"follow_redirects": True, "trust_env": False, "timeout": TIMEOUT_S, "headers": headers}
        try:
            with (
                closing(library.Client(transport=transport, max_redirects=MAX_REDIRECTS, **options)) as client,
                client.stream("GET", url) as response,
            ):
                return self._save(response, place, progress)
        except library.TooManyRedirects:
            raise InputError(
                f"{public_url(url)}: more than {MAX_REDIRECTS} redirects; give the video's own URL"
            ) from None
        except (library.HTTPError, library.InvalidURL) as error:
            raise InputError(f"{public_url(url)} can't be read ({str(error) or 'no answer'})") from None

    def _save(self, response: Any, place: Path, progress: Progress) -> Path:
        """Write the video of a response, within the limits."""
        url, limit = str(response.url), self.config.download_bytes
        if response.status_code != 200:
            raise InputError(f"{public_url(url)} returned status {response.status_code}; expected a video")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("text/html", "application/xhtml+xml"):
            raise InputError(f"{public_url(url)} is a web page; expected the address of a video file")
        length = response.headers.get("content-length", "")
        size = int(length[:15]) if length.isdecimal() else 0
        check_disk_space(place, min(size, limit))
        path = place / safe_name(unquote(PurePosixPath(urlsplit(url).path).name) or "video.mp4")
        with path.open("wb") as file:
            for chunk in response.iter_raw(CHUNK_BYTES):
                done = file.tell() + len(chunk)
                if max(size, done) > limit:
                    too_large = f"larger than {limit / 1e6:.0f} MB, this server's limit (--max-download)"
                    raise InputError(f"{public_url(url)} is {too_large}")
                file.write(chunk)
                progress("download", done, max(size, done))
        return path

    def _prune(self, keep: Path) -> None:
        places = sorted((o.stat().st_mtime, o.parent) for o in self._origins())
        sizes = {place: sum(f.stat().st_size for f in place.iterdir() if f.is_file()) for _, place in places}
        total = sum(sizes.values())
        for _, place in places:
            if total > CACHE_COUNT * self.config.download_bytes and place != keep:
                shutil.rmtree(place, ignore_errors=True)
                total -= sizes[place]


def _shown_name(url: str, path: Path) -> str:
    """A copy's URL without a signature, or the name of a file that a client has sent."""
    return public_url(url) if is_web_address(url) else path.name
