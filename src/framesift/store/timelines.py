"""Timelines in the store: the packets of a video are scanned once, not by every command that needs its frames."""

import json
import logging
import re
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from framesift._utils.files import FileIdentity
from framesift._utils.json import load_json
from framesift._utils.records import read_record
from framesift.errors import FramesiftError, StoreError
from framesift.store.fingerprint import WatchedFile
from framesift.store.manifests import is_current
from framesift.store.store import Store, absolute_source, pack_arrays, unpack_arrays
from framesift.types.vectors import Array
from framesift.video.clock import ClockShifts, Jump
from framesift.video.timeline import TIMELINE_RULES, Timeline, keep_timeline

KIND = "timeline"
_PER_PACKET = {
    "ticks": np.int64,
    "raw": np.int64,
    "sizes": np.int64,
    "is_key": np.bool_,
    "is_fresh": np.bool_,
    "is_closed": np.bool_,
    "is_needed": np.bool_,
    "is_broken": np.bool_,
}
_TYPES = _PER_PACKET | {"shown": np.int64, "values": np.uint8}
_LARGEST_TICK = 2**62 - 1  # differences of two of them fit in 64 bits
_FRACTION = re.compile(r"-?[0-9]{1,40}(/[0-9]{1,40})?")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredTimeline:
    """The timeline of one file, stored by its content: a `TimelineKeeper`.

    It is used while the file has the size and time of modification it was made from; the fingerprint of a large file
    does not cover all of its bytes. source: the URL of which the file is a copy. Two of one store are equal: the
    first has its fingerprint already.
    """

    root: Path
    file: WatchedFile = field(compare=False)
    source: str | None = field(default=None, compare=False)

    def load(self) -> Timeline | None:
        try:
            folder = self.root / self.file.fingerprint / KIND
        except FramesiftError:  # the file can't be read, which whoever reads it reports
            return None
        if not is_current(folder):
            return None
        version = _version_of(self.file.identity)

        def read(payload: bytes, manifest: dict[str, object]) -> Timeline | None:
            return timeline_from(payload) if manifest["file"] == version else None

        return Store(self.root).load_entry(folder, KIND, read)

    def save(self, timeline: Timeline) -> None:
        """Store the timeline beside an index or events of the file, if the store can be written."""
        manifest = {
            "video": {"path": absolute_source(self.source or self.file.path)},
            "rules": TIMELINE_RULES,
            "file": _version_of(self.file.identity),
            "packets": len(timeline.ticks),
        }
        try:
            folder = self.root / self.file.fingerprint / KIND
            if folder.parent.is_dir():
                self.file.check_content()
                Store(self.root).save_entry(folder, KIND, pack_timeline(timeline), manifest, replace=True)
        except FramesiftError as error:
            log.debug("the timeline of %s is not stored: %s", self.file.path, error)


def use_stored_timeline(file: WatchedFile, store: Store) -> None:
    """Read the timeline of this file from the store when it is needed, and add it to the store if it is missing."""
    keep_timeline(file.path, file.identity, StoredTimeline(store.root, file))


@dataclass(frozen=True)
class _TimelineValues:
    """The fields of a timeline that are not arrays. Fractions are texts: "1/12800"."""

    tick: str
    origin: str
    end: int
    in_order: bool
    is_cut: bool
    is_last_incomplete: bool
    jumps: tuple[tuple[int, int], ...]
    shift_positions: tuple[int, ...]
    shifts: tuple[str, ...]


def pack_timeline(timeline: Timeline) -> bytes:
    """The payload of an entry: the arrays, and the other fields as JSON in one more."""
    values = _TimelineValues(
        tick=str(timeline.tick),
        origin=str(timeline.origin),
        end=timeline.end,
        in_order=timeline.in_order,
        is_cut=timeline.is_cut,
        is_last_incomplete=timeline.is_last_incomplete,
        jumps=tuple((jump.packet, jump.step) for jump in timeline.jumps),
        shift_positions=timeline.shifts.positions,
        shifts=tuple(map(str, timeline.shifts.shifts)),
    )
    arrays = {name: getattr(timeline, name).astype(kind) for name, kind in _TYPES.items() if name != "values"}
    text = json.dumps(asdict(values))
    return pack_arrays(**arrays, values=np.frombuffer(text.encode(), dtype=np.uint8))


def timeline_from(payload: bytes) -> Timeline:
    """The timeline of an entry's payload; StoreError or InputError if it is damaged."""
    arrays = unpack_arrays(payload)
    for name, kind in _TYPES.items():
        if arrays[name].ndim != 1 or arrays[name].dtype != kind:
            raise StoreError(f"{name} is {arrays[name].dtype} of shape {arrays[name].shape}; expected a list of {kind}")
    text = arrays.pop("values").tobytes()
    values = read_record(_TimelineValues, load_json(text, "the timeline", "its values"), "the timeline")
    _check_arrays(arrays, values)
    return Timeline(
        **{name: arrays[name] for name in _TYPES if name != "values"},
        tick=_fraction(values.tick),
        origin=_fraction(values.origin),
        end=values.end,
        in_order=values.in_order,
        is_cut=values.is_cut,
        is_last_incomplete=values.is_last_incomplete,
        jumps=[Jump(packet, step) for packet, step in values.jumps],
        shifts=ClockShifts(values.shift_positions, tuple(map(_fraction, values.shifts))),
    )


def _check_arrays(arrays: dict[str, Array], values: _TimelineValues) -> None:
    ticks, shown = arrays["ticks"], arrays["shown"]
    count = len(ticks)
    if any(len(arrays[name]) != count for name in _PER_PACKET):
        raise StoreError("its arrays are of different lengths")
    if not len(shown) or shown.min() < 0 or shown.max() >= count:
        raise StoreError("its frames are not among its packets")
    if max(abs(int(ticks.min())), abs(int(ticks.max())), abs(values.end)) > _LARGEST_TICK:
        raise StoreError("its times are out of range")
    if (np.diff(ticks[shown]) <= 0).any():
        raise StoreError("its times do not ascend")
    if any(not 0 <= packet < count for packet, _ in values.jumps):
        raise StoreError("its jumps are not among its packets")
    if len(values.shifts) != len(values.shift_positions):
        raise StoreError("its clock shifts have no positions")
    if not (_fraction(values.tick) > 0 and _fraction(values.origin) < values.end):
        raise StoreError("its clock does not advance")


def _fraction(text: str) -> Fraction:
    if not _FRACTION.fullmatch(text):
        raise StoreError(f"a fraction is {text[:60]!r}; expected one like 1/12800")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise StoreError(f"a fraction is {text[:60]!r}; expected one like 1/12800") from None


def _version_of(identity: FileIdentity | None) -> dict[str, int]:
    """What distinguishes versions of a file in a manifest; copies on other file systems keep it."""
    return {} if identity is None else {"size": identity.size, "modified_ns": identity.modified_ns}
