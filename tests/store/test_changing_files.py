"""Files that change while they are read: a result is stored under the fingerprint of the content it is from."""

import shutil
from pathlib import Path

import pytest

import framesift as fs
from framesift.store.fingerprint import fingerprint
from framesift.store.store import Store
from framesift.text import finding, speech
from framesift.video.timeline import read_timeline
from helpers.changing_files import (
    CHANGES,
    ChangingEncoder,
    fresh_payload,
    grow,
    overwrite,
    overwrite_keeping_times,
    stored_payloads,
)
from helpers.clips import make_clip
from helpers.sounds import noise, write_sound
from helpers.text_search import search_events

SECONDS = 150  # one part is stored before the end


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Two videos of the same length; Matroska can be read when it is cut or still written."""
    folder = tmp_path_factory.mktemp("originals")
    return [make_clip(folder / f"{seed}.mkv", seconds=SECONDS, fps=1, seed=seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A folder for indexes of files that do not change."""
    return tmp_path_factory.mktemp("fresh")


@pytest.mark.parametrize("change", CHANGES)
def test_index_is_that_of_the_file_after_the_change(originals, fresh, tmp_path, caplog, change):
    for batch in (-1, 0, 17):
        folder = tmp_path / str(batch)
        folder.mkdir()
        clip = Path(shutil.copy(originals[0], folder / "clip.mkv"))
        encoder = ChangingEncoder(lambda clip=clip: change(clip, originals[1]), [batch])
        caplog.clear()
        fs.index(clip, encoder, 1.0, store=folder / "store")
        assert stored_payloads(folder / "store") == {fingerprint(clip): fresh_payload(clip, fresh)}, batch
        assert caplog.messages == [
            f"{clip} changed while it was read; what was computed from it is discarded and computed again"
        ]


def test_file_swapped_only_while_it_is_opened_is_noticed(originals, fresh, tmp_path):
    clip = Path(shutil.copy(originals[0], tmp_path / "clip.mkv"))
    aside = tmp_path / "aside.mkv"

    def swap():
        if aside.exists():
            aside.replace(clip)
        else:
            clip.rename(aside)
            shutil.copy(originals[1], clip)

    fs.index(clip, ChangingEncoder(swap, [-1, 0]), 1.0, store=tmp_path / "store")
    assert stored_payloads(tmp_path / "store") == {fingerprint(clip): fresh_payload(originals[0], fresh)}


def test_file_that_changes_twice_is_one_error_and_nothing_is_stored(originals, tmp_path):
    clip = Path(shutil.copy(originals[0], tmp_path / "clip.mkv"))
    encoder = ChangingEncoder(lambda: grow(clip, originals[1]), [8, 17])
    with pytest.raises(fs.InputError, match="is being written: it changed again while it was read; try again when"):
        fs.index(clip, encoder, 1.0, store=tmp_path / "store")
    assert list(Store(tmp_path / "store").entries()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [(Path.unlink, "does not exist"), (lambda clip: clip.write_text("no video"), "expected a video")],
    ids=["removed", "unreadable"],
)
def test_file_that_is_no_video_any_more_is_the_error_of_that_file(originals, tmp_path, change, message):
    clip = Path(shutil.copy(originals[0], tmp_path / "clip.mkv"))
    with pytest.raises(fs.InputError, match=message):
        fs.index(clip, ChangingEncoder(lambda: change(clip), [-1]), 1.0, store=tmp_path / "store")
    assert list(Store(tmp_path / "store").entries()) == []


@pytest.fixture(params=["speech", "screen text"])
def find(request, monkeypatch):
    """Finds the text of a video without a model: the event names the content that was read; then `change` is called."""

    def find(clip, store, change):
        def recognise(path, *rest):
            event = fs.Event(1.0, 2.0, fingerprint(path))
            change()
            return [event]

        monkeypatch.setattr(speech, "engine_name", lambda engine: "fake")
        monkeypatch.setattr(speech, "recognise", recognise)
        monkeypatch.setattr(finding, "read_screen", lambda frames, **_: list(frames) and recognise(frames.info.path))
        is_speech = request.param == "speech"
        return search_events(clip, store=store, recognise_speech=is_speech, screen_text=not is_speech)

    return find


@pytest.fixture(scope="module")
def with_sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sounds")
    return [write_sound(folder / f"{k}.mkv", noise(2.0, level), pictures_s=2.0) for k, level in enumerate((0.1, 0.2))]


def test_recognised_text_is_that_of_the_file_after_the_change(with_sound, tmp_path, find, caplog):
    clip = Path(shutil.copy(with_sound[0], tmp_path / "clip.mkv"))
    pending = [overwrite]
    found = find(clip, tmp_path / "store", lambda: pending and pending.pop()(clip, with_sound[1]))
    assert [event.text for event in found.events] == [fingerprint(clip)]
    store = Store(tmp_path / "store")
    (entry,) = store.entries()
    assert store.load_events(fingerprint(clip), entry.manifest["made_by"])[0] == list(found.events)
    assert len(caplog.messages) == 1


def test_timeline_of_an_earlier_file_at_the_same_path_is_not_used(originals, tmp_path):
    clip = Path(shutil.copy(originals[0], tmp_path / "clip.mkv"))
    before = read_timeline(clip)
    overwrite_keeping_times(clip, originals[1])
    assert read_timeline(clip) is not before
