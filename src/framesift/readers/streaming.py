"""A reply in pieces, made safe to show as it arrives."""

import re
from collections.abc import Iterable, Iterator

from framesift.readers.address import hide_secrets_in_pieces
from framesift.readers.parsing import remove_control

# Longer than any tag of reasoning, with white space before it.
_TAG_CHARACTERS = 32
_OPENING = re.compile(r"\s*<think(?:ing)?>", re.I)
_CLOSING = re.compile(r"</think(?:ing)?>\s*", re.I)


def readable_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """Yield a reply in pieces without reasoning at its start, control characters and registered secrets."""
    for piece in hide_secrets_in_pieces(_without_reasoning(pieces)):
        text = remove_control(piece)
        if text:
            yield text


def _without_reasoning(pieces: Iterable[str]) -> Iterator[str]:
    held = ""
    state = "start"
    for piece in pieces:
        if state == "reply":
            yield piece
            continue
        held += piece
        if state == "start":
            if _OPENING.match(held):
                state = "reasoning"
            elif _may_become_tag(held):
                continue
            else:
                state = "reply"
                yield held
        if state == "reasoning":
            closing = _CLOSING.search(held)
            # White space after the tag may come in the next piece.
            if closing and closing.end() < len(held):
                state = "reply"
                yield held[closing.end() :]
            elif not closing:
                held = held[-_TAG_CHARACTERS:]
    if state == "start":
        yield held


def _may_become_tag(text: str) -> bool:
    start = text.lstrip().lower()
    return len(text) <= _TAG_CHARACTERS and any(tag.startswith(start) for tag in ("<think>", "<thinking>"))
