"""What is added to an upstream's reply, complete or streamed: a field with the frames, and a line of links to them."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from framesift.proxy.conversation import FIELD
from framesift.selection.explainer import short_clock

DONE = b"[DONE]"


@dataclass(frozen=True)
class Addition:
    """record: the field. has_links: whether the text ends with links."""

    record: Mapping[str, Any]
    has_links: bool

    @property
    def line(self) -> str:
        frames = [frame for video in self.record["videos"] for frame in video["frames"]]
        return "\n\nFrames: " + " ".join(f"[{short_clock(row['time_s'])}]({row['url']})" for row in frames)

    def to_json(self, content: bytes) -> bytes:
        """A complete reply with the addition; anything that is not one comes back unchanged."""
        try:
            reply = json.loads(content)
            for choice in reply["choices"] if self.has_links else ():
                message = choice["message"]
                if isinstance(message.get("content"), str):
                    message["content"] += self.line
            return json.dumps({**reply, FIELD: self.record}).encode()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return content

    async def to_stream(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The lines of a streamed reply unchanged, the links before its text ends, the record before [DONE]."""
        rest, is_added = b"", False
        last: dict[str, Any] = {}
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                chunk = _chunk(line)
                last = chunk or last
                if self.has_links and any(choice.get("finish_reason") for choice in chunk.get("choices", ())):
                    yield _addition(chunk, {"content": self.line}, {})
                if _is_done(line) and not is_added:
                    is_added = True
                    yield _addition(last, {}, {FIELD: self.record})
                yield line + b"\n"
        added = b"" if is_added else _addition(last, {}, {FIELD: self.record})
        yield added + rest if is_added or _is_done(rest) else rest + b"\n\n" + added


def event(data: Mapping[str, Any] | None) -> bytes:
    """An event of a stream; None ends it."""
    return b"data: " + (DONE if data is None else json.dumps(data).encode()) + b"\n\n"


def _is_done(line: bytes) -> bool:
    return line.removeprefix(b"data:").strip() == DONE


def _chunk(line: bytes) -> dict[str, Any]:
    """The chunk of a reply on a line of the stream; empty for any other line."""
    try:
        chunk = json.loads(line.removeprefix(b"data:")) if line.startswith(b"data:") else {}
        return chunk if all(isinstance(choice, dict) for choice in chunk["choices"]) else {}
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}


def _addition(like: Mapping[str, Any], delta: Mapping[str, Any], more: Mapping[str, Any]) -> bytes:
    """A chunk of the same reply as another. It has a choice: many clients look at the first one of every chunk."""
    same = {name: like[name] for name in ("id", "created", "model", "system_fingerprint") if name in like}
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return event({"object": "chat.completion.chunk", **same, "choices": [choice], **more})
