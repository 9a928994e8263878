"""The body of a chat request: the videos among its parts, the question, and what it sets about the frames."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePosixPath
from typing import Any

from framesift._utils.json import parse_scalar
from framesift._utils.records import Seconds, read_record, read_value
from framesift._utils.settings import check_names
from framesift.errors import OptionError
from framesift.pipeline.config import SelectionSettings
from framesift.selection.lexical import content_terms
from framesift.server.models import MAX_BUDGET
from framesift.video.files import VIDEO_SUFFIXES

FIELD = "framesift"  # of a request's body and of a reply
HEADER = "x-framesift-"
KINDS = ("video_url", "input_video", "file")
PLACES = ("url", "video_url", "file_data", "data", "file_id")  # of the video in a part
FRAMES = "data:video/jpeg"  # frames that the client has chosen itself
SENT = "file-framesift-"  # the ids of videos that clients have sent
SHORTEST_QUESTION = 2  # words that say something; one with fewer is read with the messages before it
LONGEST_QUESTION = 4000  # characters
NO_QUESTION = "What happens in this video?"


@dataclass(frozen=True)
class FrameOptions:
    """What a request may set, in its field `framesift` or in headers `X-Framesift-…`.

    window: the part of the video to consider, [600, 750] or "10:00-12:30". links: end the reply with links to the
    frames. partial: answer from key frames while the video is being indexed.
    """

    budget: int | None = None
    method: str | None = None
    window: tuple[Seconds, Seconds] | str | None = None
    links: bool = False
    partial: bool = False

    def __post_init__(self) -> None:
        if self.budget is not None and not 1 <= self.budget <= MAX_BUDGET:
            raise OptionError(f"budget is {self.budget}; expected 1 to {MAX_BUDGET}")
        if isinstance(self.window, str) and self.window.count("-") != 1:
            raise OptionError(f"window is {self.window!r}; expected two times, as in 10:00-12:30")

    def selection(self, default: SelectionSettings, videos: int) -> dict[str, Any]:
        """The settings of selecting for one of so many videos, which share the budget."""
        window = self.window.split("-") if isinstance(self.window, str) else self.window
        settings: dict[str, Any] = {"budget": max(1, (self.budget or default.most) // videos)}
        settings |= {"method": self.method} if self.method else {}
        return settings | dict(zip(("from_s", "to_s"), window or (), strict=False))


@dataclass
class VideoPlace:
    """A part with a video: where it is, where the video comes from, and its file's name."""

    message: int
    position: int
    source: str
    name: str

    @property
    def label(self) -> str:
        return f"messages[{self.message}].content[{self.position}]"


@dataclass(frozen=True)
class ChatRequest:
    """A request whose videos are replaced. The sources in `parts` are not data URLs any more."""

    body: dict[str, Any]
    parts: Sequence[VideoPlace]
    options: FrameOptions

    @property
    def model(self) -> str:
        return str(self.body.get("model") or "")

    @property
    def question(self) -> str:
        """The last user message; one that says little by itself is read with those before it."""
        texts: list[str] = []
        for message in reversed(_messages(self.body)):
            text = _text(message) if message.get("role") == "user" else ""
            texts = [text, *texts] if text else texts
            if len(content_terms(" ".join(texts))) >= SHORTEST_QUESTION:
                break
        return "\n".join(texts)[-LONGEST_QUESTION:] or NO_QUESTION

    def with_frames(self, frames: Mapping[str, list[dict[str, Any]]], more: Mapping[str, Any]) -> bytes:
        """The body with frames by source in place of the videos; of a repeated video the last place."""
        last = {part.source: part for part in self.parts}
        by_place = {(part.message, part.position): part for part in self.parts}
        messages = list(self.body["messages"])
        for k in {part.message for part in self.parts}:
            content = []
            for position, given in enumerate(messages[k]["content"]):
                part = by_place.get((k, position))
                if part is None:
                    content.append(given)
                elif last[part.source] is part:
                    content += frames[part.source]
                else:
                    content.append({"type": "text", "text": "[The frames of this video follow below.]"})
            messages[k] = {**messages[k], "content": content}
        return json.dumps({**self.body, **more, "messages": messages}).encode()


def read_options(headers: Mapping[str, str], body: Mapping[str, Any]) -> FrameOptions:
    """The options of a request; those of its body take precedence."""
    own = read_value(dict[str, Any], body.get(FIELD) or {}, FIELD)
    check_names(own, FrameOptions)
    names = [f.name for f in fields(FrameOptions) if f"{HEADER}{f.name}" in headers]
    options = {name: parse_scalar(headers[f"{HEADER}{name}"]) for name in names}
    return read_record(FrameOptions, {**options, **own}, FIELD)


def find_videos(body: Mapping[str, Any]) -> Iterator[VideoPlace]:
    """The parts with a video of any message; what is malformed is left to the upstream."""
    for k, message in enumerate(_messages(body)):
        content = message.get("content")
        for position, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, Mapping) and (found := _source(part)):
                yield VideoPlace(k, position, *found)


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        return []
    return messages


def _source(part: Mapping[str, Any]) -> tuple[str, str] | None:
    """Where the video of a part comes from and its file's name; None for any other part."""
    kind = part.get("type")
    if kind not in KINDS:
        return None
    given = part.get(kind) or part
    given = given if isinstance(given, Mapping) else {"url": given}
    field, source = next(((name, s) for name in PLACES if isinstance(s := given.get(name), str) and s), ("", ""))
    name = given.get("filename")
    name = name if isinstance(name, str) else "video.mp4"
    is_named = kind != "file" or ("filename" in given and PurePosixPath(name).suffix.lower() in VIDEO_SUFFIXES)
    if field in ("data", "file_data") and is_named and not source.startswith(("data:", "http:", "https:")):
        source = f"data:;base64,{source}"
    is_own = source.startswith(SENT) if field == "file_id" else is_named or source.startswith("data:video/")
    return (source, name) if source and is_own and not source.startswith(FRAMES) else None


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
