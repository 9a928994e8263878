"""Timelines in the store: scanned once, restored only for the file they were made from, and never a cause of errors."""

import json
import os
import shutil
from fractions import Fraction

import numpy as np
import pytest

import framesift as fs
from framesift._utils.json import with_digest
from framesift.store import timelines
from framesift.store.fingerprint import fingerprint, watch
from framesift.store.maintenance import describe, prune
from framesift.store.store import MANIFEST, PAYLOADS, Store
from framesift.store.timelines import pack_timeline, timeline_from
from framesift.video import timeline as video_timeline
from framesift.video.clock import ClockShifts, Jump
from framesift.video.timeline import Timeline, read_timeline, scan_packets
from helpers.clips import keep_parts, make_clip
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

    def counted(video):
        scanned.append(video.path)
        return scan_packets(video)

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


def assert_same(one, other):
    assert pack_timeline(one) == pack_timeline(other)
    assert (one.tick, one.origin, one.end) == (other.tick, other.origin, other.end)


def test_timeline_of_an_indexed_video_is_not_scanned_again(place, scans):
    restored = open_again(place)
    assert scans == []
    forget()
    assert_same(restored, read_timeline(place / "clip.mp4"))
    assert len(scans) == 1


def test_loading_an_index_does_not_read_the_timeline(place, monkeypatch):
    monkeypatch.setattr(timelines, "timeline_from", lambda payload: pytest.fail("it was read"))
    forget()
    assert len(fs.index(place / "clip.mp4", GridEncoder(), 1.0, store=place / "store"))


def test_every_field_is_restored():
    count = 3
    flags = [np.array(row, dtype=bool) for row in ([1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0])]
    names = ("is_key", "is_fresh", "is_closed", "is_needed", "is_broken")
    made = Timeline(
        tick=Fraction(1, 90000),
        origin=Fraction(-7, 3),
        ticks=np.array([0, 7200, 3600]),
        raw=np.array([-1, 2**62, 3]),
        sizes=np.arange(1, count + 1),
        **dict(zip(names, flags, strict=True)),
        shown=np.array([0, 2, 1]),
        end=10800,
        in_order=True,
        is_cut=True,
        is_last_incomplete=True,
        jumps=[Jump(1, -90000)],
        shifts=ClockShifts((188, 376), (Fraction(1, 3), Fraction(-5))),
    )
    restored = timeline_from(pack_timeline(made))
    for name, value in vars(made).items():
        other = getattr(restored, name)
        assert (other == value).all() if isinstance(value, np.ndarray) else other == value, name


def test_selection_and_exhibit_are_the_same_with_it_and_without(place, scans, tmp_path):
    def run(out):
        forget()
        pipeline = fs.Pipeline(fs.PipelineConfig(encoder=GridEncoder(), fps=1.0, store=place / "store", budget=4))
        video = pipeline.prepare(place / "clip.mp4", events=[fs.Event(2.0, 3.0, "a blue wall")])
        pipeline.exhibit(video, pipeline.select(video, "Which wall?")).save(out)
        return {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}

    restored = run(tmp_path / "with")
    assert scans == []
    shutil.rmtree(entry_folder(place))
    assert run(tmp_path / "without") == restored
    assert len(scans) == 1


def test_index_without_a_timeline_gets_one_when_it_is_needed(place, scans):
    shutil.rmtree(entry_folder(place))
    open_again(place)
    open_again(place)
    assert len(scans) == 1


def test_gaps_and_jumps_of_a_recording_are_restored(tmp_path, scans):
    whole = make_clip(tmp_path / "whole.ts", seconds=30)
    clip = keep_parts(whole, tmp_path / "clip.ts", [0, 1, 4, 2, 3])
    fs.index(clip, GridEncoder(), 1.0, store=tmp_path / "store")
    made = read_timeline(clip)
    assert made.jumps
    assert_same(open_again(tmp_path, clip.name), made)
    assert len(scans) == 1


def test_timeline_of_a_video_whose_time_changed_is_scanned_again(place, scans):
    os.utime(place / "clip.mp4", ns=(1, 1))
    open_again(place)
    assert len(scans) == 1
    open_again(place)
    assert len(scans) == 1


def test_timeline_by_other_rules_is_scanned_again_and_replaced(place, scans):
    manifest = entry_folder(place) / MANIFEST
    current = json.loads(manifest.read_text())
    change_manifest(manifest.parent, rules="0")
    open_again(place)
    assert len(scans) == 1
    assert json.loads(manifest.read_text())["rules"] == current["rules"]


def test_damaged_timeline_is_scanned_again_and_replaced(place, scans, caplog):
    file = entry_folder(place) / PAYLOAD
    sound = file.read_bytes()
    file.write_bytes(sound[:-1] + b"?")
    open_again(place)
    assert len(scans) == 1 and "is damaged" in caplog.text
    assert file.read_bytes() == sound


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
