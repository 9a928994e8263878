"""The store: whole or not at all, and damage is noticed."""

import json
import logging
import os
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import framesift as fs
from framesift._utils.json import with_digest
from framesift.store.maintenance import describe, prune
from framesift.store.store import INDEX, MANIFEST, IndexKey, Store, StoredCandidates

KEY = IndexKey("ab" * 16, "some/encoder", "f" * 16, "auto", "exact", "reuse")
TIMES = np.array([0.0, 1.0 / 3, 2.0])
FRAMES = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float16)


def candidates(times_s=TIMES, is_blank=(False, True, False), is_damaged=(False, False, True)):
    return StoredCandidates(times_s, FRAMES, np.array(is_blank), np.array(is_damaged), np.array([0.5]))


def manifest(path="video.mp4"):
    info = {"path": str(path), "duration_s": 3.0, "width": 4, "height": 3, "fps": 25.0, "codec": "h264"}
    info |= {"start_s": 0.0, "has_audio": False, "subtitle_tracks": [{"index": 2, "codec": "mov_text"}]}
    return {"video": info, "candidates": 3}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def filled(store, tmp_path):
    (tmp_path / "video.mp4").write_bytes(b"video")
    store.save(KEY, candidates(), manifest(tmp_path / "video.mp4"))
    return store


def test_stored_index_is_loaded_unchanged(filled):
    index = filled.load(KEY, "moved/video.mp4")
    assert index.times_s.tolist() == TIMES.tolist()
    assert index.info.path == "moved/video.mp4"
    assert index.info.subtitle_tracks[0].codec == "mov_text"
    assert index.encoder == "some/encoder"
    assert index.is_blank.tolist() == [False, True, False]
    assert index.is_damaged.tolist() == [False, False, True]
    assert index.frames.dtype == np.float32
    expected = FRAMES.astype(np.float64) / np.linalg.norm(FRAMES.astype(np.float64), axis=1, keepdims=True)
    assert index.frames == pytest.approx(expected, abs=1e-6)


def test_damaged_entry_is_logged_and_removed(filled, caplog):
    for name, damage in (
        (INDEX, lambda data: data[:-1]),
        (INDEX, lambda data: data[:200] + b"?" + data[201:]),
        (INDEX, lambda data: b""),
        (MANIFEST, lambda data: b"{"),
        (MANIFEST, lambda data: b"[]"),
        (MANIFEST, lambda data: data.replace(b'"duration_s": 3.0', b'"duration_s": 4.0')),
        (MANIFEST, lambda data: data.replace(b'"digest"', b'"other"')),
    ):
        filled.save(KEY, candidates(), manifest())
        file = filled.root / KEY.folder / name
        file.write_bytes(damage(file.read_bytes()))
        caplog.clear()
        assert filled.load(KEY, "video.mp4") is None and not file.exists()
        assert "is damaged" in caplog.text and str(KEY.folder) in caplog.text


def test_only_the_file_of_a_killed_process_is_pruned_after_a_day(filled):
    file = filled.root / KEY.video / ".tmp-1-abc.json"
    file.write_bytes(b"half")
    (filled.root / KEY.video / ".tmp-1-abc").mkdir()
    assert prune(filled, older_than_s=3600, max_bytes=1e9) == []
    os.utime(file, (0, 0))
    assert [row["reason"] for row in prune(filled)] == ["unfinished for a day"]
    assert not file.exists() and filled.index_warnings(KEY) is not None


def test_second_run_to_finish_keeps_the_first_index(filled):
    before = (filled.root / KEY.folder / INDEX).stat().st_mtime_ns
    filled.save(KEY, candidates(), manifest())
    assert (filled.root / KEY.folder / INDEX).stat().st_mtime_ns == before
    assert [path.name for path in (filled.root / KEY.video).iterdir()] == [KEY.folder.name]


def test_index_by_other_sampling_rules_is_not_read_and_is_replaced(filled, caplog):
    file = filled.root / KEY.folder / MANIFEST
    record = json.loads(file.read_text())
    del record["digest"]
    file.write_text(json.dumps(with_digest(record | {"rules": 1})))
    (entry,) = filled.entries()
    assert describe(entry)["problem"] == "made by an earlier version; built again when the video is used"
    with caplog.at_level(logging.INFO):
        assert filled.load(KEY, "video.mp4") is None
    assert "other rules" in caplog.text
    assert "damaged" not in caplog.text
    assert filled.index_warnings(KEY) is None
    filled.save(KEY, candidates(), manifest())
    assert filled.index_warnings(KEY) == ()
    assert len(filled.load(KEY, "video.mp4")) == 3


def test_parts_by_other_sampling_rules_are_ignored(store, monkeypatch):
    monkeypatch.setattr("framesift.store.store.SAMPLING_RULES", 1)
    store.save_part(KEY, 0, candidates())
    monkeypatch.undo()
    assert list(store.load_parts(KEY)) == []


def test_parts_are_loaded_in_order_and_removed_with_the_finished_index(store):
    store.save_part(KEY, 0, candidates())
    store.save_part(KEY, 3, candidates(TIMES + 3))
    assert prune(store) == []
    parts = list(store.load_parts(KEY))
    assert [part.times_s.tolist() for part in parts] == [TIMES.tolist(), (TIMES + 3).tolist()]
    assert (parts[1].frames == FRAMES).all()
    store.save(KEY, candidates(), manifest())
    assert list(store.load_parts(KEY)) == []


def test_parts_after_a_gap_or_damage_are_ignored(store):
    for start in (0, 3, 9):
        store.save_part(KEY, start, candidates())
    assert len(list(store.load_parts(KEY))) == 2
    first = next(path for path in (store.root / KEY.video).rglob("000000*"))
    first.write_bytes(first.read_bytes()[:-40] + b"x" * 40)
    assert list(store.load_parts(KEY)) == []


def test_folder_names_are_safe_for_any_encoder_name():
    key = IndexKey("ab" * 16, "../../etc/passwd\n;rm", "f" * 16, "1", "exact", "reuse")
    assert ".." not in key.folder.parts
    assert len(key.folder.parts) == 2


def test_listing_shows_video_length_encoder_and_size(filled, tmp_path):
    row = describe(next(filled.entries()))
    assert row["video"] == str(tmp_path / "video.mp4")
    assert (row["duration_s"], row["encoder"], row["problem"]) == (3.0, "some/encoder", "")
    assert row["bytes"] > 0


def test_prune_removes_indexes_of_missing_videos(filled, tmp_path):
    (tmp_path / "video.mp4").unlink()
    assert "no longer exists" in prune(filled)[0]["reason"]
    assert list(filled.entries()) == []


def test_prune_by_age_and_by_size(filled):
    assert prune(filled, max_bytes=10)[0]["reason"] == "the store exceeds the size limit"
    filled.save(KEY, candidates(), manifest(filled.root))
    assert "not used for" in prune(filled, older_than_s=-1)[0]["reason"]


def test_stored_events_are_loaded_unchanged(store):
    events = [fs.Event(0.5, 2.0, "Ünï </script>", "speech"), fs.Event(3.0, 3.0, "")]
    assert store.load_events("ab" * 16, "speech-moonshine") is None
    store.save_events("ab" * 16, "speech-moonshine", events, "video.mp4")
    assert store.load_events("ab" * 16, "speech-moonshine") == (events, ())
    assert store.load_events("ab" * 16, "speech-whisper") is None
    store.save_events("ab" * 16, "speech-whisper", [], "video.mp4")
    assert store.load_events("ab" * 16, "speech-whisper") == ([], ())


def test_text_vectors_are_keyed_by_texts_and_encoder(store):
    vectors = np.eye(2, 4, dtype=np.float32)
    encoder, other = (SimpleNamespace(name="some/encoder", fingerprint=letter * 16) for letter in "fe")
    store.save_texts(encoder, ["a", "b"], vectors)
    assert (store.load_texts(encoder, ["a", "b"]) == vectors).all()
    assert store.load_texts(encoder, ["b", "a"]) is None
    assert store.load_texts(other, ["a", "b"]) is None
    assert prune(store) == []


def test_file_as_store_is_rejected(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(fs.InputError, match="is a file; expected a directory"):
        Store(tmp_path / "file")


def test_memory_of_an_index_that_is_saved_and_loaded_is_that_of_its_vectors(store):
    count, none = 6000, np.zeros(6000, dtype=bool)
    frames = np.random.default_rng(0).standard_normal((count, 256)).astype(np.float16)
    made = StoredCandidates(np.arange(count) / count, frames, none, none, np.zeros(0))
    store.save(replace(KEY, video="another"), candidates(), manifest())  # what is imported for it takes memory, too
    tracemalloc.start()
    store.save(KEY, made, manifest())
    assert tracemalloc.get_traced_memory()[1] < frames.nbytes / 2
    index = store.load(KEY, "video.mp4")
    assert tracemalloc.get_traced_memory()[1] < 1.5 * index.frames.nbytes
    tracemalloc.stop()
