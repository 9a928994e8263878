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
        except (ValueError, LookupError, TypeError, AttributeError):
            return content
        return json.dumps({**reply, FIELD: self.record}).encode() if isinstance(reply, dict) else content

    async def to_stream(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The lines of a streamed reply unchanged, the links before its last text ends, the record before [DONE]."""
        rest, is_added = b"", False
        chunk: dict[str, Any] = {}
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                name, _, data = line.partition(b":")
                data = data.strip() if name == b"data" else b""
                if data == DONE and not is_added:
                    yield event(_chunk(chunk, {}) | {FIELD: self.record})
                    is_added = True
                elif data.startswith(b"{"):
                    ended = _ended(data)
                    chunk = ended or chunk or _parsed(data)
                    if ended and self.has_links:
                        yield event(_chunk(chunk, {"content": self.line}))
                yield line + b"\n"
        yield rest
        if not is_added:
            yield event(_chunk(chunk, {}) | {FIELD: self.record})


def event(data: Mapping[str, Any] | None) -> bytes:
    """An event of a stream; None ends it."""
    return b"data: " + (DONE if data is None else json.dumps(data).encode()) + b"\n\n"


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except ValueError:
        return {}
    return chunk if isinstance(chunk, dict) else {}


def _ended(data: bytes) -> dict[str, Any]:
    """The chunk that ends the reply's text; empty for another."""
    if b'"finish_reason"' not in data:
        return {}
    chunk = _parsed(data)
    choices = chunk.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    return chunk if isinstance(choice, dict) and choice.get("finish_reason") else {}


def _chunk(like: Mapping[str, Any], delta: Mapping[str, Any]) -> dict[str, Any]:
    """A chunk of the same reply as another. It has a choice: many clients look at the first one of every chunk."""
    same = {name: like[name] for name in ("id", "created", "model", "system_fingerprint") if name in like}
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return {"object": "chat.completion.chunk", **same, "choices": [choice]}
