"""The videos of chat requests: stored by content, indexed once, and the frames for a question in a request's form."""

import base64
import hashlib
import io
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, BinaryIO
from urllib.parse import unquote, urlsplit

from framesift._utils.credentials import Address, parse_address
from framesift._utils.json import load_json
from framesift.errors import FramesiftError, InputError, NotStored, OptionError
from framesift.library.catalog import Catalog
from framesift.library.downloads import SourceConfig
from framesift.library.files import LibraryVideo, check_disk_space, public_message, safe_name
from framesift.library.session import Call, CallCancelled, StillRunning, VideoSession
from framesift.pipeline.video import Video
from framesift.progress import stop_when
from framesift.proxy.conversation import FIELD, SENT, ChatRequest, VideoPlace, find_videos, read_options
from framesift.readers.openai import OpenAIReader
from framesift.rendering.exhibit import Exhibit
from framesift.rendering.thumbnails import short_side
from framesift.selection.registry import get_selector
from framesift.server.answering import check_method
from framesift.server.frame_images import FrameImages

STATE = ".proxy"
POLL_S = 0.2  # how soon key frames of a video that is being indexed are noticed
MAX_READERS = 64  # models whose form of frames is remembered
LONGEST_SIDE = OpenAIReader.longest_side or 1024


class UnknownFile(InputError):
    """No file has this id."""


@dataclass(frozen=True)
class ProxyConfig(SourceConfig):
    """upstream: the address of the model's server, "http://host:8000/v1"."""

    upstream: str = ""
    address: Address = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        address = parse_address(self.upstream)
        if address is None or address.url == address.server:
            raise OptionError(f"the upstream is {self.upstream!r}; expected an address like http://host:8000/v1")
        object.__setattr__(self, "address", address)


@dataclass(frozen=True)
class WatchedVideo:
    """The frames of one video of a request. partial: what they were selected from if the video is not ready."""

    video: LibraryVideo
    exhibit: Exhibit
    partial: str

    def record(self, base: str) -> dict[str, Any]:
        """What a reply says about them. base: of the frames' URLs."""
        found = self.exhibit
        rows = [
            {name: row[name] for name in ("time_s", "role", "reason")}
            | {"url": f"{base}{FIELD}/{self.video.id}/{row['time_s']:.3f}.jpg"}
            for row in found.rows()
        ]
        warnings = [public_message(warning, self.video) for warning in found.warnings]
        about = {"name": self.video.name, "duration_s": float(found.info.duration_s), "method": found.method}
        return {**about, "frames": rows, "warnings": warnings} | ({"partial": self.partial} if self.partial else {})


class ChatVideos(VideoSession):
    """What the requests share. All methods may be called from several threads."""

    def __init__(self, config: ProxyConfig, catalog: Catalog | None = None) -> None:
        super().__init__(config, STATE)
        self.catalog = catalog or self.catalog
        self.config = config
        self.downloads.by_name = False  # one client's signature is not for others
        self.images = FrameImages(self.downloads.folder / "frames")
        self._reading = threading.Lock()  # one large request is in memory at a time
        self.reader = lru_cache(MAX_READERS)(lambda model: OpenAIReader(config.upstream, model=model))

    def read(self, content: IO[bytes], headers: Mapping[str, str]) -> ChatRequest | None:
        """The request, once the videos inside it are stored; None for one to be passed on as it is."""
        with self._reading:
            try:
                body = load_json(content.read(), "the body", "a request")
            except InputError:  # for the upstream to refuse
                return None
            if not isinstance(body, dict):
                return None
            parts = list(find_videos(body))
            if not parts and FIELD not in body:
                return None
            options = read_options(headers, body)
            body.pop(FIELD, None)
            for part in parts:
                if part.source.startswith("data:"):
                    with _named(part):
                        part.source = self.receive(io.BytesIO(_decoded(part.source)), part.name).url
                    body["messages"][part.message]["content"][part.position] = None
        return ChatRequest(body, parts, options)

    def receive(self, file: BinaryIO, name: str) -> LibraryVideo:
        """Store a video that a client has sent under an id of its content."""
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))  # type: ignore[arg-type]
        file_id, size, limit = SENT + digest.hexdigest(), file.seek(0, os.SEEK_END), self.config.download_bytes
        if size > limit:
            raise InputError(f"the video is larger than {limit / 1e6:.0f} MB, this server's limit (--max-download)")

        def write(place: Path) -> Path:
            check_disk_space(place, size)
            file.seek(0)
            path = place / safe_name(name)
            with path.open("wb") as copy:
                shutil.copyfileobj(file, copy)
            return path

        if self.downloads.find(file_id) is None:
            self.downloads.store(file_id, write)
        return self.sent(file_id)

    def sent(self, file_id: str) -> LibraryVideo:
        """The video of an id that `receive` gave."""
        found = self.downloads.find(file_id)
        if found is None:
            raise UnknownFile(f"there is no file {file_id[:80]!r}; upload it again")
        return found

    def list_sent(self) -> list[LibraryVideo]:
        return [video for video in self.downloads.videos() if video.url.startswith(SENT)]

    def video(self, name: str, call: Call) -> LibraryVideo:
        """The video of a part: sent, at an http(s) address, or in one of the folders."""
        if name.startswith(SENT):
            return self.sent(name)
        return super().video(unquote(urlsplit(name).path) if name.startswith("file:") else name, call)

    def frame(self, video_id: str, time_s: float) -> bytes:
        """The JPEG of a frame that a reply links to."""
        video = next((video for video in self.videos() if video.id == video_id), None)
        if video is None:
            raise UnknownFile("the video of this frame is not here any more")
        return self.images.full_size(video, time_s)

    def watch(self, chat: ChatRequest, call: Call) -> dict[str, WatchedVideo]:
        """Index the videos of a request where they are new and select frames for its question, by source."""
        stop_when(call.cancelled.is_set)
        if chat.options.method:
            check_method(get_selector(chat.options.method))
        first = {part.source: part for part in reversed(chat.parts)}
        return {source: self._watch_one(part, chat, len(first), call) for source, part in first.items()}

    def _watch_one(self, part: VideoPlace, chat: ChatRequest, count: int, call: Call) -> WatchedVideo:
        with _named(part):
            video = self.video(part.source, call)
            try:
                prepared, partial = self._prepared_for(video, chat, call)
                info, settings = prepared.info, chat.options.selection(self.config.pipeline.selection, count)
                size = self.config.pipeline.reading.size or short_side(info.width, info.height, LONGEST_SIDE)
                with self.work_slots:
                    if call.cancelled.is_set():
                        raise CallCancelled
                    return WatchedVideo(video, prepared.select(chat.question, size=size, **settings), partial)
            except FramesiftError as error:
                raise type(error)(public_message(error, video)) from error

    def _prepared_for(self, video: LibraryVideo, chat: ChatRequest, call: Call) -> tuple[Video, str]:
        """The video's index and text, and a sentence on how far they are; empty for a ready video."""
        with suppress(NotStored):
            return self.catalog.prepared(video), ""
        while True:
            waiting = replace(call, deadline_s=time.monotonic() + POLL_S) if chat.options.partial else call
            try:
                self.run(str(video.path), lambda progress: self.catalog.index(video, progress), waiting)
                return self.catalog.prepared(video), ""
            except StillRunning:
                if self.catalog.unfinished.count(video):
                    return self.catalog.prepared_so_far(video)

    def content(
        self, chat: ChatRequest, watched: Mapping[str, WatchedVideo], owners: Mapping[str, str], as_video: bool
    ) -> tuple[bytes, bool]:
        """The request with frames in the form that the upstream takes best, and whether that is a video.

        owners: of the upstream's models. Settings of a video hold for all of a request, so several are sent as images.
        """
        reader = self.reader(chat.model)
        as_video = as_video and len(watched) == 1 and "media_io_kwargs" not in chat.body
        frames = {}
        more: dict[str, Any] = {}
        for source, one in watched.items():
            with self.work_slots:
                text_mode = self.config.pipeline.reading.text_mode
                frames[source], more = reader.message_parts(one.exhibit, text_mode, owners, as_video=as_video)
        return chat.with_frames(frames, more), bool(more)


@contextmanager
def _named(part: VideoPlace) -> Iterator[None]:
    """Errors inside the block say which part of the request they are about."""
    try:
        yield
    except FramesiftError as error:
        raise type(error)(f"{part.label}: {error}") from error


def _decoded(url: str) -> bytes:
    head, comma, text = url.partition(",")
    try:
        if not comma or not head.endswith(";base64"):
            raise ValueError
        return base64.b64decode(text)
    except ValueError:  # also what is not base64
        raise InputError("the data URL can't be decoded; expected data:video/mp4;base64,…") from None
