"""Writing direction: the Unicode bidirectional algorithm (UAX #9) for text without formatting codes.

The codes are removed before, because in subtitles they are more often errors than intended. The rest of the algorithm
is small, and the libraries for it return reordered text instead of the levels that shaping needs. Rule numbers are
those of the annex.
"""

import unicodedata
from collections.abc import Sequence

_NEUTRAL = {"B", "S", "WS", "ON"}
_LEVELS_UP = {0: {"R": 1, "AN": 2, "EN": 2}, 1: {"L": 1, "AN": 1, "EN": 1}}  # I1, I2
_OPENING = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "「": "」", "『": "』", "（": "）", "【": "】"}
_CLOSING = {closing: opening for opening, closing in _OPENING.items()}


def base_level(text: str) -> int:
    """Return 1 if the first strong character is right-to-left, else 0 (P2, P3)."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return int(kind != "L")
    return 0


def levels(text: str, base: int) -> list[int]:
    """Return the embedding level of each character; odd levels are right-to-left."""
    kinds = [unicodedata.bidirectional(c) or "L" for c in text]
    if base == 0 and not {"R", "AL", "AN"} & set(kinds):
        return [0] * len(text)
    edge = "R" if base else "L"
    _resolve_weak(kinds, edge)
    _resolve_brackets(text, kinds, edge)
    _resolve_neutral(kinds, edge)
    result = [base + _LEVELS_UP[base].get(kind, 0) for kind in kinds]
    for k in reversed(range(len(text))):  # L1: trailing whitespace has the level of the paragraph
        if not text[k].isspace():
            break
        result[k] = base
    return result


def visual_order(levels: Sequence[int]) -> list[int]:
    """Return the indices in order from left to right (L2)."""
    order = list(range(len(levels)))
    for level in range(max(levels, default=0), 0, -1):
        k = 0
        while k < len(order):
            end = k
            while end < len(order) and levels[order[end]] >= level:
                end += 1
            order[k:end] = reversed(order[k:end])
            k = end + 1
    return order


def _resolve_weak(kinds: list[str], edge: str) -> None:
    before = strong = edge
    for k, kind in enumerate(kinds):  # W1, W2, W3
        if kind in ("NSM", "BN"):
            kinds[k] = before
        elif kind == "EN" and strong == "AL":
            kinds[k] = "AN"
        elif kind in ("L", "R", "AL"):
            strong = kind
        before = kinds[k]
    for k, kind in enumerate(kinds):  # W4
        if kind in ("ES", "CS") and 0 < k < len(kinds) - 1:
            around = {kinds[k - 1], kinds[k + 1]}
            if around == {"EN"} or (kind == "CS" and around == {"AN"}):
                kinds[k] = kinds[k - 1]
    _resolve_terminators(kinds)
    strong = edge
    for k, kind in enumerate(kinds):  # W3, W6, W7
        if kind == "AL":
            kinds[k] = "R"
        elif kind in ("ES", "ET", "CS"):
            kinds[k] = "ON"
        elif kind == "EN" and strong == "L":
            kinds[k] = "L"
        if kinds[k] in ("L", "R"):
            strong = kinds[k]


def _resolve_terminators(kinds: list[str]) -> None:
    """W5: terminators such as % and € next to a number take its type."""
    for steps in (range(len(kinds)), reversed(range(len(kinds)))):
        before = ""
        for k in steps:
            if kinds[k] == "ET" and before == "EN":
                kinds[k] = "EN"
            before = kinds[k]


def _resolve_brackets(text: str, kinds: list[str], edge: str) -> None:
    """N0: both brackets of a pair take the direction of their contents."""
    other = "L" if edge == "R" else "R"
    for start, end in _pairs(text, kinds):
        inside = {_strong(kind) for kind in kinds[start + 1 : end]}
        if edge in inside:
            kinds[start] = kinds[end] = edge
        elif other in inside:
            before = next((s for s in map(_strong, reversed(kinds[:start])) if s), edge)
            kinds[start] = kinds[end] = other if before == other else edge


def _pairs(text: str, kinds: Sequence[str]) -> list[tuple[int, int]]:
    """Matching brackets, sorted by their start (BD16)."""
    pairs, opened = [], []
    for k, character in enumerate(text):
        if kinds[k] != "ON":
            continue
        if character in _OPENING:
            opened.append(k)
        elif character in _CLOSING:
            match = next((j for j in reversed(opened) if text[j] == _CLOSING[character]), None)
            if match is not None:
                pairs.append((match, k))
                del opened[opened.index(match) :]
    return sorted(pairs)


def _strong(kind: str) -> str:
    return "R" if kind in ("EN", "AN") else kind if kind in ("L", "R") else ""


def _resolve_neutral(kinds: list[str], edge: str) -> None:
    """N1, N2: neutrals between two characters of one direction take it, else the paragraph's."""
    k = 0
    while k < len(kinds):
        if kinds[k] not in _NEUTRAL:
            k += 1
            continue
        end = k
        while end < len(kinds) and kinds[end] in _NEUTRAL:
            end += 1
        before = _strong(kinds[k - 1]) if k else edge
        after = _strong(kinds[end]) if end < len(kinds) else edge
        kinds[k:end] = [before if before == after else edge] * (end - k)
        k = end
