"""Timelines in the store: the packets of a video are scanned once, not by every command that needs its frames."""

import json
import logging
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from pathlib import Path

import numpy as np

from framesift._utils.files import FileIdentity
from framesift.errors import FramesiftError
from framesift.store.fingerprint import WatchedFile
from framesift.store.store import Arrays, Store, absolute_source, unpack_arrays
from framesift.video.clock import ClockShifts, Jump
from framesift.video.timeline import Timeline, keep_timeline

KIND = "timeline"

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
        version = _version_of(self.file.identity)

        def read(file: Path, manifest: dict[str, object]) -> Timeline | None:
            return timeline_from(unpack_arrays(file.read_bytes())) if manifest["file"] == version else None

        return Store(self.root).load_entry(folder, KIND, read)

    def save(self, timeline: Timeline) -> None:
        """Store the timeline beside an index or events of the file, if the store can be written."""
        manifest = {
            "video": {"path": absolute_source(self.source or self.file.path)},
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


def pack_timeline(timeline: Timeline) -> Arrays:
    """The payload of an entry: the arrays, and the other fields as JSON in one more. Fractions are texts: "1/12800"."""
    values = {each.name: getattr(timeline, each.name) for each in fields(Timeline)}
    arrays = {name: values.pop(name) for name in [*values] if isinstance(values[name], np.ndarray)}
    text = json.dumps(
        values, default=lambda value: asdict(value) if isinstance(value, Jump | ClockShifts) else str(value)
    )
    return arrays | {"values": np.frombuffer(text.encode(), dtype=np.uint8)}


def timeline_from(arrays: Arrays) -> Timeline:
    """The timeline of an entry's payload."""
    values = json.loads(arrays.pop("values").tobytes())
    values |= {name: Fraction(values[name]) for name in ("tick", "origin")}
    values["jumps"] = [Jump(**jump) for jump in values["jumps"]]
    values["shifts"] = ClockShifts(
        tuple(values["shifts"]["positions"]), tuple(map(Fraction, values["shifts"]["shifts"]))
    )
    return Timeline(**values | arrays)


def _version_of(identity: FileIdentity | None) -> dict[str, int]:
    """What distinguishes versions of a file in a manifest; copies on other file systems keep it."""
    return {} if identity is None else {"size": identity.size, "modified_ns": identity.modified_ns}
