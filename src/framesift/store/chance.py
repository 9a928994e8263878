"""Chance levels in the store: what unrelated questions score is computed once for a video's vectors and text."""

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

from framesift._utils.json import load_json
from framesift._utils.records import read_value
from framesift.errors import FramesiftError, InputError
from framesift.store.manifests import CHANCE_RULES
from framesift.store.store import Store, absolute_source, log_unwritable
from framesift.types.vectors import Array

KIND = "chance"
Levels = tuple[float, float, float]


def levels_name(frames: Array, parts: Sequence[object]) -> str:
    """The name of an entry: it identifies the frames' vectors and the other parts that its levels depend on."""
    digest = hashlib.blake2b(json.dumps([CHANCE_RULES, *parts]).encode(), digest_size=8)
    digest.update(frames.tobytes())
    return f"{KIND}-{digest.hexdigest()}"


def load_levels(store: Store, video: str, name: str) -> Levels | None:
    """The levels stored for the video with this fingerprint: of frames, low and high, and of words."""
    return store.load_entry(store.root / video / name, KIND, lambda data, _: levels_from(data))


def save_levels(store: Store, video: str, name: str, levels: Levels, path: str) -> None:
    """Store levels beside the video's index, if it has one and the store can be written."""
    folder = store.root / video / name
    if not folder.parent.is_dir():
        return
    manifest: dict[str, Any] = {"video": {"path": absolute_source(path)}, "rules": CHANCE_RULES}
    payload = json.dumps([level if math.isfinite(level) else None for level in levels]).encode()
    try:
        store.save_entry(folder, KIND, payload, manifest)
    except FramesiftError as error:
        log_unwritable(store.root, error.__cause__ or error)


def levels_from(payload: bytes) -> Levels:
    """The levels of an entry's payload; InputError if they are damaged."""
    low, high, words = read_value(
        tuple[float, float, float | None], load_json(payload, "the levels", "three numbers"), "the levels"
    )
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError("the levels are not finite")
    return low, high, -math.inf if words is None else words
