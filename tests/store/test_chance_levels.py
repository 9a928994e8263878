"""Stored chance levels: computed once, checked, and pruned when the rules change."""

import math

import numpy as np

from framesift.store import store as stores
from framesift.store.maintenance import prune
from framesift.store.store import Store, levels_name
from framesift.types.vectors import UnitRows

FRAMES = np.eye(3, dtype=np.float32)


def saved(tmp_path, levels=(0.1, 0.2, -math.inf)):
    store, name = Store(tmp_path), levels_name(UnitRows(FRAMES), ["encoder", ["a text"]])
    (tmp_path / "content").mkdir()
    store.save_levels("content", name, levels, "")
    return store, name


def test_levels_are_read_back_also_without_words(tmp_path):
    store, name = saved(tmp_path)
    assert store.load_levels("content", name) == [0.1, 0.2, -math.inf]


def test_name_changes_with_the_vectors_and_with_the_text(tmp_path):
    names = {
        levels_name(UnitRows(FRAMES), ["a"]),
        levels_name(UnitRows(-FRAMES), ["a"]),
        levels_name(UnitRows(FRAMES), ["b"]),
    }
    assert len(names) == 3


def test_levels_of_a_video_without_an_index_are_not_stored(tmp_path):
    Store(tmp_path).save_levels("content", "chance-1", (0.1, 0.2, 0.3), "")
    assert not (tmp_path / "content").exists()


def test_levels_by_other_rules_are_pruned(tmp_path, monkeypatch):
    store, _ = saved(tmp_path)
    assert prune(store) == []
    monkeypatch.setattr(stores, "CHANCE_RULES", 0)
    assert [row["reason"][:26] for row in prune(store)] == ["made by an earlier version"]
