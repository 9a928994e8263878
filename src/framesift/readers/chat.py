"""A chat model on an OpenAI-type server for selectors, with its replies kept in the store.

A selection that was interrupted, or that is made again, asks only what has no stored reply.
"""

import hashlib
from collections.abc import Callable, Sequence

from framesift._utils.credentials import parse_address
from framesift._utils.files import StrPath
from framesift.errors import InputError
from framesift.readers.openai import OpenAIReader
from framesift.store.store import Store
from framesift.types.vectors import Array

MAX_TOKENS = 4096  # of a reply: a tree, a list of rewards, or sessions with their key frames


class ChatModel:
    """Callable with the parts of one message, texts and uint8 RGB images (height, width, 3); returns the reply.

    on_reply: called after each reply, a stored one as well.
    """

    def __init__(
        self,
        address: str,
        store: StrPath | None,
        *,
        on_reply: Callable[[], object] = lambda: None,
    ) -> None:
        self._on_reply = on_reply
        parts = parse_address(address)
        if parts is None or parts.url == parts.server:
            raise InputError(f"model is {address!r}; expected an address like http://host:8000/v1")
        self._reader = OpenAIReader(address, max_tokens=MAX_TOKENS)
        self._store = Store(store)

    @property
    def name(self) -> str:
        """The server and its model; one that was not named is looked up."""
        if not self._reader.model:
            self._reader.check()
        return self._reader.name

    def __call__(self, parts: Sequence[str | Array]) -> str:
        from PIL import Image

        digest = message_digest(parts)
        reply = self._store.load_reply(self.name, digest)
        if reply is None:
            reply = self._reader.reply([part if isinstance(part, str) else Image.fromarray(part) for part in parts])
            self._store.save_reply(self.name, digest, reply)
        self._on_reply()
        return reply


def message_digest(parts: Sequence[str | Array]) -> str:
    """A digest of the texts, and of the size and pixels of the images, in order."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = (
            part.encode("utf-8", "surrogatepass")
            if isinstance(part, str)
            else repr(part.shape).encode() + part.tobytes()
        )
        digest.update(f"{type(part).__name__}:{len(data)}:".encode() + data)
    return digest.hexdigest()
