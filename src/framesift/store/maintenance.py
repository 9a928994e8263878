"""Maintenance: listing and pruning the store."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from framesift._utils.files import StrPath
from framesift._utils.text import counted
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store, StoreEntry
from framesift.video.frames import sample

DAY_S = 86400.0


def describe(entry: StoreEntry) -> dict[str, Any]:
    """An entry as a row of a listing."""
    video = entry.manifest.get("video", {})
    return {
        "kind": entry.manifest.get("kind", ""),
        "video": entry.video_path,
        "duration_s": video.get("duration_s"),
        "encoder": entry.manifest.get("key", {}).get("encoder") or entry.manifest.get("made_by", ""),
        "candidates": entry.manifest.get("candidates"),
        "sampling": entry.manifest.get("sampling", {}),
        "bytes": entry.bytes,
        "used_s": entry.used_s,
        "folder": str(entry.folder),
        "warnings": list(entry.warnings),
        "problem": entry.problem or ("the video no longer exists" if _is_orphan(entry) else ""),
    }


def describe_size(store: Store, entries: Sequence[StoreEntry]) -> str:
    """How much a store holds, in words."""
    size = f"{sum(entry.bytes for entry in entries) / 1e6:.1f} MB"
    counts = f"{counted(index_count(entries), 'index', 'indexes')}, {counted(len(entries), 'entry', 'entries')} in all"
    return f"{counts}, {size} in {store.root}"


def index_count(entries: Sequence[StoreEntry]) -> int:
    return sum(entry.manifest.get("kind") == "index" for entry in entries)


def video_warnings(store: Store, video: StrPath) -> tuple[str, ...]:
    """The warnings of the video's index that was used last; without one, those about its container."""
    indexes = [entry for entry in store.entries(fingerprint(video)) if entry.manifest.get("kind") == "index"]
    if indexes:
        return max(indexes, key=lambda entry: entry.used_s).warnings
    with sample(video) as sampling:
        return tuple(sampling.warnings)


def prune(store: Store, *, older_than_s: float | None = None, max_bytes: float | None = None) -> list[dict[str, str]]:
    """Remove stale entries, then those unused for `older_than_s`, then the least recently used beyond `max_bytes`.

    Stale are damaged entries, those of a video that no longer exists at its path, and parts unfinished for a day.
    """
    now, removed = time.time(), {}
    left = []
    for entry in store.entries():
        reason = _stale(entry, now)
        if not reason and older_than_s is not None and now - entry.used_s > older_than_s:
            reason = f"not used for {counted(round((now - entry.used_s) / DAY_S), 'day')}"
        if reason:
            removed[entry.folder] = reason
            store.remove(entry)
        else:
            left.append(entry)
    left.sort(key=lambda entry: -entry.used_s)
    while left and max_bytes is not None and sum(entry.bytes for entry in left) > max_bytes:
        entry = left.pop()
        removed[entry.folder] = "the store exceeds the size limit"
        store.remove(entry)
    return [{"folder": str(folder), "reason": reason} for folder, reason in removed.items()]


def _stale(entry: StoreEntry, now: float) -> str:
    if entry.problem == "unfinished":
        return "unfinished for a day" if now - entry.used_s > DAY_S else ""
    if entry.problem:
        return entry.problem
    return f"{entry.video_path} no longer exists" if _is_orphan(entry) else ""


def _is_orphan(entry: StoreEntry) -> bool:
    """Whether its video no longer exists; text vectors have none, and URLs are not checked."""
    path = entry.video_path
    return bool(path) and "://" not in path and not Path(path).exists()
