"""Timelines in the store: scanned once, restored only for the file they were made from, and never a cause of errors."""

import json
import os
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import framesift as fs
from framesift._utils.json import with_digest
from framesift.store import timelines
from framesift.store.fingerprint import fingerprint, watch
from framesift.store.maintenance import describe, prune
from framesift.store.store import MANIFEST, PAYLOADS, Store, pack_arrays
from framesift.store.timelines import pack_timeline, timeline_from
from framesift.video import timeline as video_timeline
from framesift.video.clock import ClockShifts, Jump
from framesift.video.timeline import read_timeline, scan_packets
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.read_only import make_read_only

PAYLOAD = PAYLOADS["timeline"]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A video, and a store with its index."""
    folder = tmp_path_factory.mktemp("original")
    fs.index(make_clip(folder / "clip.mp4", seconds=8), GridEncoder(), 1.0, store=folder / "store")
    return folder


@pytest.fixture
def place(original, tmp_path):
    shutil.copytree(original, tmp_path / "copy")  # with the times of modification
    return tmp_path / "copy"


@pytest.fixture
def scans(monkeypatch):
    """The videos whose packets are scanned, without those of earlier tests in the caches."""
    scanned = []

    def counted(video, *watch):
        scanned.append(video.path)
        return scan_packets(video, *watch)

    monkeypatch.setattr(video_timeline, "scan_packets", counted)
    forget()
    return scanned


def forget():
    """As in a new process."""
    video_timeline._timeline_of.cache_clear()
    video_timeline._keepers.clear()


def open_again(place, name="clip.mp4"):
    """Load the index and read the timeline, as a new process does."""
    forget()
    fs.index(place / name, GridEncoder(), 1.0, store=place / "store")
    return read_timeline(place / name)


def entry_folder(place):
    return place / "store" / fingerprint(place / "clip.mp4") / "timeline"


def change_manifest(folder, **changes):
    """Change fields of the manifest, with a digest that matches."""
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(with_digest(manifest | changes)))


def test_timeline_of_an_indexed_video_is_not_scanned_again(place, scans):
    restored = open_again(place)
    assert scans == []
    forget()
    scanned = read_timeline(place / "clip.mp4")
    assert pack_arrays(pack_timeline(restored)) == pack_arrays(pack_timeline(scanned))
    assert (restored.tick, restored.origin, restored.end) == (scanned.tick, scanned.origin, scanned.end)
    assert len(scans) == 1


def test_loading_an_index_does_not_read_the_timeline(place, monkeypatch):
    monkeypatch.setattr(timelines, "timeline_from", lambda payload: pytest.fail("it was read"))
    forget()
    assert len(fs.index(place / "clip.mp4", GridEncoder(), 1.0, store=place / "store"))


def test_every_field_is_restored(place):
    plain = read_timeline(place / "clip.mp4")
    made = replace(
        plain,
        origin=Fraction(-7, 3),
        raw=plain.raw + 2**60,
        is_broken=plain.is_key,
        in_order=not plain.in_order,
        is_cut=True,
        is_last_incomplete=True,
        jumps=[Jump(1, -90000)],
        shifts=ClockShifts((188, 376), (Fraction(1, 3), Fraction(-5))),
    )
    restored = timeline_from(pack_timeline(made))
    for name, value in vars(made).items():
        other = getattr(restored, name)
        assert (other == value).all() if isinstance(value, np.ndarray) else other == value, name


def damage(place):
    file = entry_folder(place) / PAYLOAD
    file.write_bytes(file.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda place: os.utime(place / "clip.mp4", ns=(1, 1)), ""),
        (lambda place: change_manifest(entry_folder(place), rules="0"), ""),
        (lambda place: shutil.rmtree(entry_folder(place)), ""),
        (damage, "is damaged"),
    ],
    ids=["other time of the video", "other rules", "removed", "damage"],
)
def test_unusable_timeline_is_scanned_again_and_replaced(place, scans, caplog, change, problem):
    change(place)
    for _ in range(2):  # the second time it is restored
        open_again(place)
        assert len(scans) == 1
    assert problem in caplog.text


def test_read_only_store_keeps_nothing_and_says_nothing(place, scans, monkeypatch, caplog):
    shutil.rmtree(entry_folder(place))
    make_read_only(monkeypatch, place / "store")
    open_again(place)
    assert len(scans) == 1
    assert not entry_folder(place).exists()
    assert caplog.messages == []


def test_timeline_of_a_file_without_entries_is_not_stored(original, tmp_path, scans):
    with watch(original / "clip.mp4") as file:
        timelines.StoredTimeline(tmp_path / "store", file).save(read_timeline(file.path))
    assert not (tmp_path / "store").exists()


def test_timeline_is_listed_and_pruned_with_its_video(place):
    change_manifest(entry_folder(place), video={"path": "/gone.mp4"})
    (row,) = (row for row in map(describe, Store(place / "store").entries()) if row["kind"] == "timeline")
    assert row["problem"] == "the video no longer exists"
    assert [row["folder"] for row in prune(Store(place / "store"))] == [str(entry_folder(place))]
