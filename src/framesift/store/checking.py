"""Checks of the entries of a store: each against itself, and against its video where that can be read."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from framesift.errors import FramesiftError, InputError, StoreError
from framesift.progress import Progress, ignore_progress
from framesift.store.arrays import unpack_arrays
from framesift.store.chance import levels_from
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store, StoreEntry, events_from, index_from, read_payload
from framesift.store.timelines import pack_timeline, timeline_from
from framesift.types.vectors import Array
from framesift.video.frames import Fps, Mode, probe, sample
from framesift.video.timeline import read_timeline

# The text of a subtitle file of pictures is stored under the fingerprint of that file, not of the video.
PICTURE_FILES = "pictures-"
# Differences between lengths that are due to rounding.
ROUNDING_S = 0.01
# Without its video, an index that ends earlier than this share of the length before the end is taken for incomplete.
MISSING_SHARE = 0.1
DECODED_SIDE = 16


@dataclass(frozen=True)
class Fault:
    """An entry of the store that should not be used, and why."""

    entry: StoreEntry
    reason: str

    def to_dict(self) -> dict[str, str]:
        kind = str(self.entry.manifest.get("kind", ""))
        return {"folder": str(self.entry.folder), "kind": kind, "video": self.entry.video_path, "reason": self.reason}


def find_faults(store: Store, progress: Progress = ignore_progress) -> tuple[int, list[Fault]]:
    """Check all finished entries; returns their number, and those that fail.

    The vectors themselves are not computed again: those of another video with the same length, size and codec pass.
    """
    entries = [entry for entry in store.entries() if entry.problem != "unfinished"]
    read_fingerprint = cache(fingerprint)
    faults = []
    for done, entry in enumerate(entries, 1):
        try:
            reason = next(_faults_of(entry, read_fingerprint), "")
        except FileNotFoundError:
            reason = "its data are missing"
        except (FramesiftError, KeyError, TypeError, ValueError, OSError) as error:
            reason = f"damaged: {error}"
        if reason:
            faults.append(Fault(entry, reason))
        progress("checking", done, len(entries))
    return len(entries), faults


def _faults_of(entry: StoreEntry, read_fingerprint: Any) -> Iterator[str]:
    if not entry.manifest:
        yield entry.problem
        return
    kind = entry.manifest["kind"]
    payload = read_payload(entry.folder, kind, entry.manifest)
    if kind == "texts":
        _check_rows(unpack_arrays(payload)["vectors"], entry.manifest["texts"])
        return
    if kind == "reply":
        return
    video = _reachable(entry.video_path)
    content = entry.folder.parent.name
    if video and not entry.manifest.get("made_by", "").startswith(PICTURE_FILES) and read_fingerprint(video) != content:
        yield f"{video} has another content than the video of this entry"
        return
    faults_of = {
        "index": _index_faults,
        "events": _event_faults,
        "timeline": _timeline_faults,
        "chance": _levels_faults,
    }[kind]
    yield from faults_of(entry, payload, video)


def _index_faults(entry: StoreEntry, payload: bytes, video: str) -> Iterator[str]:
    manifest = entry.manifest
    arrays = unpack_arrays(payload)
    times_s = arrays["times_s"]
    _check_rows(arrays["frames"], len(times_s))
    if not entry.problem:  # made by the current rules
        index_from(payload, manifest, entry.video_path)
        blank = int(arrays["is_blank"].sum())
        if blank != manifest["blank"]:
            yield f"it has {blank} blank candidates; its manifest says {manifest['blank']}"
    if not len(times_s) or len(times_s) != manifest["candidates"]:
        yield f"it has {len(times_s)} candidates; its manifest says {manifest['candidates']}"
        return
    if manifest["key"]["video"] != entry.folder.parent.name:
        yield "it is the index of another content"
    steps = np.diff(times_s)
    if not np.isfinite(times_s).all() or (steps <= 0).any():
        yield "its times do not ascend"
        return
    last_s, duration_s = float(times_s[-1]), float(manifest["video"]["duration_s"])
    if last_s > duration_s + ROUNDING_S:
        yield f"its last candidate is at {last_s:.2f} s, after the end at {duration_s:.2f} s"
    if video:
        yield from _faults_against_video(entry, video, last_s)
        return
    step_s = 1 / float(manifest["sampling"]["fps_used"])
    expected_s = max(2 * step_s, MISSING_SHARE * duration_s, float(steps.max()) if len(steps) else 0.0)
    if duration_s - last_s > expected_s:
        yield f"its last candidate is at {last_s:.2f} s of {duration_s:.2f} s"


def _faults_against_video(entry: StoreEntry, video: str, last_s: float) -> Iterator[str]:
    """Compare what the index says of its video with the file, and its end with the candidates that can be decoded."""
    stored, sampling = entry.manifest["video"], entry.manifest["sampling"]
    info = probe(video)
    # Earlier versions computed some lengths otherwise.
    tolerance_s = 1.0 if entry.problem else ROUNDING_S
    if abs(stored["duration_s"] - info.duration_s) > tolerance_s:
        yield f"it is of a video of {stored['duration_s']:.2f} s; {video} has {info.duration_s:.2f} s"
    for name in ("codec", "width", "height"):
        if stored[name] != getattr(info, name):
            yield f"it is of a video with {name} {stored[name]}; that of {video} is {getattr(info, name)}"
    later_s = _first_after(video, last_s, sampling["fps"], sampling["mode"])
    if later_s is not None:
        yield f"its last candidate is at {last_s:.2f} s; {video} has one at {later_s:.2f} s"


def _first_after(video: str, last_s: float, fps: Fps, mode: Mode) -> float | None:
    """The time of the first undamaged candidate after `last_s`."""
    try:
        with sample(video, fps, mode, short_side=DECODED_SIDE, after_s=last_s) as rest:
            return next((t for t, _ in rest if t > last_s and rest.damaged_s[-1:] != [t]), None)
    except InputError:  # none can be decoded
        return None


def _event_faults(entry: StoreEntry, payload: bytes, video: str) -> Iterator[str]:
    events = events_from(payload)
    if len(events) != entry.manifest["events"]:
        yield f"it has {len(events)} events; its manifest says {entry.manifest['events']}"
    recognised = [event for event in events if event.source in ("speech", "screen")]
    if not video or not recognised:
        return
    duration_s = probe(video).duration_s
    last_s = max(event.start_s for event in recognised)
    if last_s > duration_s + 1:
        yield f"it has text at {last_s:.2f} s; {video} ends at {duration_s:.2f} s"


def _timeline_faults(entry: StoreEntry, payload: bytes, video: str) -> Iterator[str]:
    if entry.problem:  # made by other rules, and not used
        return
    timeline = timeline_from(payload)
    if len(timeline.ticks) != entry.manifest["packets"]:
        yield f"it has {len(timeline.ticks)} packets; its manifest says {entry.manifest['packets']}"
    if video and pack_timeline(read_timeline(video)) != payload:
        yield f"its packets are not those of {video}"


def _levels_faults(entry: StoreEntry, payload: bytes, _video: str) -> Iterator[str]:
    if entry.problem:  # computed by other rules, and not used
        return
    low, high, _ = levels_from(payload)
    if low > high:
        yield f"its levels are {low:.3f} and {high:.3f}; expected the lower one first"


def _check_rows(vectors: Array, count: int) -> None:
    if vectors.ndim != 2 or len(vectors) != count:
        raise StoreError(f"the vectors have shape {vectors.shape}; expected {count} rows")
    if not np.isfinite(vectors).all():
        raise StoreError("the vectors are not finite")


def _reachable(path: str) -> str:
    """The path of a video that is on this machine; "" for others."""
    return path if path and "://" not in path and Path(path).is_file() else ""
