"""Facts about videos, and the cache of indexes and texts."""

import os
import threading
from unittest.mock import Mock

import pytest

import framesift as fs
from framesift.errors import NotStored
from framesift.library.catalog import Catalog, RecentCache
from framesift.library.files import SharedFolders
from framesift.pipeline.config import PipelineConfig
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store
from helpers.running_server import make_video


@pytest.fixture
def catalog(tmp_path):
    make_video(tmp_path / "videos" / "video.mp4", 4, subtitles=False)
    return Catalog(PipelineConfig(store=tmp_path / "store", encoder="offline"), tmp_path / "state")


@pytest.fixture
def video(tmp_path):
    return SharedFolders((tmp_path / "videos",)).find("video.mp4")


def test_file_is_probed_once_per_version(catalog, video, tmp_path, monkeypatch):
    assert catalog.known_facts(video) is None  # a listing does not wait
    facts = catalog.facts(video)
    monkeypatch.setattr("framesift.library.catalog.probe", lambda _: pytest.fail("probed again"))
    assert catalog.facts(video) == facts and facts.duration_s == 4
    again = Catalog(catalog.config, tmp_path / "state")
    assert again.known_facts(video) == facts  # cached on disk


def test_facts_of_earlier_versions_are_deleted(catalog, video, tmp_path):
    counts = []
    for second in range(3):
        os.utime(video.path, (second, second))
        assert catalog.facts(video).duration_s == 4
        counts.append(sum(path.is_file() for path in (tmp_path / "state").rglob("*")))
    assert counts[0] == counts[-1] > 0


def test_fixed_problem_is_not_reported_again(catalog, video, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("framesift.library.catalog.probe", Mock(side_effect=fs.InputError("it may not be read")))
        assert catalog.facts(video).problem == "it may not be read"
    assert Catalog(catalog.config, tmp_path / "state").facts(video).problem == ""


def test_video_indexed_elsewhere_is_ready_once_its_text_is_stored(catalog, video, monkeypatch):
    store = catalog.config.index.store
    catalog.facts(video)
    fs.index(video.path, "offline", store=store)

    def slow_search(*_):
        raise NotStored("the speech is not stored")

    with monkeypatch.context() as patch:
        patch.setattr("framesift.library.catalog.search_events", slow_search)
        catalog.summarise_if_indexed(video)
    assert catalog.index_warnings(video) == [] and not catalog.is_ready(video)
    Store(store).save_events(fingerprint(video.path), "speech", [], str(video.path))
    catalog.summarise_if_indexed(video)
    assert catalog.is_ready(video) and catalog.summary(video).events == 0


def test_quick_of_the_settings_leaves_no_video_without_its_index(catalog, video, tmp_path):
    quick = Catalog(catalog.config.replace(quick=True), tmp_path / "state")
    quick.index(video, lambda *_: None)
    assert quick.is_ready(video) and not quick.index_warnings(video)


def test_cache_keeps_recent_values_and_makes_each_once():
    cache, made = RecentCache(2), []

    def make(key):
        return cache.get(key, lambda: made.append(key) or key)

    assert [make(key) for key in "abac"] == list("abac")
    assert made == ["a", "b", "c"]
    make("a")
    make("b")
    assert made == ["a", "b", "c", "b"]  # b was used longest ago when c came


def test_cache_serves_other_keys_while_a_value_is_being_made():
    cache, begun, release = RecentCache(4), threading.Event(), threading.Event()
    cache.get("quick", lambda: 1)
    slow = threading.Thread(target=cache.get, args=("slow", lambda: begun.set() or release.wait(60)))
    slow.start()
    assert begun.wait(60)
    try:
        assert cache.get("quick", lambda: pytest.fail("made again")) == 1
    finally:
        release.set()
        slow.join()


def test_cache_retries_a_value_that_failed():
    cache = RecentCache(2)
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: 1 / 0)
    assert cache.get("a", lambda: 5) == 5
