"""A store that can't be written but holds the index: everything that only reads works, and nothing is kept."""

import pytest

import framesift as fs
from framesift.cli import main
from framesift.search.search import search
from framesift.store import store as store_module
from framesift.text import speech
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.read_only import make_read_only
from helpers.sounds import noise, write_sound

LINE = "the store {} can't be written (Read-only file system): results are used but not stored"
EVENTS = [fs.Event(1.0, 2.0, "a blue wall"), fs.Event(3.0, 4.0, "nothing")]


@pytest.fixture
def clip(tmp_path):
    return make_clip(tmp_path / "clip.mp4", seconds=8)


@pytest.fixture
def store(tmp_path, clip, monkeypatch):
    """A store with the index of the clip, not writable from here on."""
    fs.index(clip, GridEncoder(), 1.0, store=tmp_path / "store")
    monkeypatch.setattr(store_module, "_unwritable", set())
    make_read_only(monkeypatch, tmp_path / "store")
    return tmp_path / "store"


def files(store):
    return sorted(path for path in store.rglob("*") if path.is_file())


def test_selection_and_answer_work_with_one_log_line(clip, store, tmp_path, caplog):
    before = files(store)
    for _ in range(2):
        video = fs.open(clip, events=EVENTS, encoder=GridEncoder(), fps=1.0, store=store, budget=4)
        found = video.select("What is said of the wall?")
    assert len(found) == 4
    found.save(tmp_path / "out")
    assert caplog.messages == [LINE.format(store)]
    assert files(store) == before


def test_recognised_speech_is_used(tmp_path, store, monkeypatch, caplog):
    clip = write_sound(tmp_path / "sound.mkv", noise(2.0), pictures_s=2.0)
    monkeypatch.setattr(speech, "engine_name", lambda engine: "fake")
    monkeypatch.setattr(speech, "recognise", lambda *_: EVENTS[:1])
    assert fs.find_events(clip, store=store) == EVENTS[:1]
    assert caplog.messages == [LINE.format(store)]


def test_search_finds_the_same_as_in_a_writable_store(clip, store, tmp_path, monkeypatch, caplog):
    before = files(store)
    hits = search("blue", encoder=GridEncoder(), store=store)
    assert caplog.messages == [LINE.format(store)]
    assert files(store) == before
    monkeypatch.undo()
    assert search("blue", encoder=GridEncoder(), store=store) == hits != []


def test_missing_index_is_one_sentence(tmp_path, store):
    other = make_clip(tmp_path / "other.mp4", seconds=3, seed=1)
    with pytest.raises(fs.FramesiftError, match="can't be written .Read-only file system.; free some space or choose"):
        fs.index(other, GridEncoder(), 1.0, store=store)


def test_pruning_reports_what_it_can_not_remove(clip, store, capsys):
    clip.unlink()
    assert main(["library", "--prune", "--store", str(store)]) == 2
    assert "can't be removed" in capsys.readouterr().err
