"""Frames that a user wants among those selected, and frames that were removed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from framesift.errors import OptionError
from framesift.pipeline.data import Opened
from framesift.rendering.exhibit import Exhibit
from framesift.rendering.reasons import explain
from framesift.types import Slot
from framesift.types.vectors import Array

NEAR_S = 2.0  # a removed frame's neighbours mostly look the same


def without_frames(video: Opened, removed_s: Sequence[float], pinned_s: Sequence[float] = ()) -> Opened:
    """The video without the candidates within two seconds of these times, but for the pinned ones."""
    if not (removed_s or pinned_s):
        return video
    if video.videos:
        raise OptionError(f"frames were pinned or removed in {len(video.videos)} videos; expected one video")
    index = video.index
    kept = (np.abs(index.times_s[:, None] - np.array(removed_s)) > NEAR_S).all(axis=1)
    kept[_nearest(index.times_s, pinned_s)] = True
    if not kept.any():
        raise OptionError("every frame of the video is near a removed one; put one back")
    rows = {name: getattr(index, name)[kept] for name in ("times_s", "frames", "is_blank", "is_damaged")}
    return replace(video, index=replace(index, **rows))


def with_pinned(found: Exhibit, pinned_s: Sequence[float]) -> Exhibit:
    """The frames with the candidates at these times, which take the places of the weakest beyond the budget."""
    selection, basis = found.selection, found.selection.basis
    if not pinned_s or basis is None:
        return found
    pinned = set(_nearest(basis.times_s, pinned_s)) & set(basis.considered)
    new = sorted(pinned - set(selection.indices))
    slots = []
    for k, time_s in zip(new, basis.times_s[new].tolist(), strict=True):
        said = [event for event in basis.events if event.start_s <= time_s <= event.end_s]
        latest = max(said, key=lambda event: event.start_s, default=None)
        slots.append(Slot(k, time_s, "visual", float(basis.relevance[k]), latest))
    ranked = sorted(zip(explain(selection), selection, strict=True), key=lambda pair: -pair[0].strength)
    slots += [slot for slot in selection if slot.index in pinned]
    others = [slot for _, slot in ranked if slot.index not in pinned]
    slots += others[: max(0, selection.budget - len(pinned))]
    return replace(found, selection=replace(selection, slots=tuple(slots)).with_trace(pinned=new))


def _nearest(times_s: Array, wanted_s: Sequence[float]) -> list[int]:
    return [int(np.abs(times_s - time_s).argmin()) for time_s in wanted_s]
