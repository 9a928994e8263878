"""Formats for other programs, each opened by one that reads it."""

from dataclasses import replace

import av
import pytest

import framesift as fs
from framesift.rendering.formats.base import Export
from helpers.clips import make_clip
from helpers.showcase import make_selection

TIMES_S = (5.0, 9.0, 30.0)  # the first two are neighbours


@pytest.fixture(scope="module")
def shown(video):
    """Frames at TIMES_S, of which the last has a text."""
    return fs.exhibit(video, selection_at(video, TIMES_S))


@pytest.fixture(scope="module")
def both(video, tmp_path_factory):
    """Frames of two videos: the second starts at 60 s of their joint timeline."""
    other = make_clip(tmp_path_factory.mktemp("other") / "other.mp4", seconds=10)
    joint = fs.open([video, other], encoder="offline", store=other.parent / "store", subtitles="none", speech="none")
    return joint.select("Why does the colour change?", budget=4, method="uniform")


def selection_at(video, times_s):
    selection = make_selection(video)
    nearest = [min(selection.basis.times_s.tolist(), key=lambda time_s, at=at: abs(time_s - at)) for at in times_s]
    indices = [selection.basis.times_s.tolist().index(time_s) for time_s in nearest]
    events = {2: selection.basis.events[-1]}
    slots = [fs.Slot(i, t, "visual", 0.1, events.get(k)) for k, (i, t) in enumerate(zip(indices, nearest, strict=True))]
    return replace(selection, slots=tuple(slots), method="mine")


@pytest.fixture(scope="module")
def saved(shown, tmp_path_factory):
    return shown.save(tmp_path_factory.mktemp("saved") / "all", formats=["clips"])


def test_moments_hold_their_text_and_neighbours_join(shown, tmp_path):
    moments = Export(shown, tmp_path, {}).moments
    assert [(moment.start_s, moment.end_s) for moment in moments] == [(2.0, 12.0), (27.0, 33.0)]
    assert [len(moment.frames) for moment in moments] == [2, 1]
    assert moments[1].title == "It ends <b>loudly</b> & soon."


def test_each_moment_is_a_clip_with_its_text(saved):
    clips = sorted(path.name for path in (saved / "clips").iterdir())
    assert clips == ["0001_00-00-02.000_00-00-12.000.mp4", "0002_00-00-27.000_00-00-33.000.mp4"]
    with av.open(str(saved / "clips" / clips[1])) as container:
        assert [stream.type for stream in container.streams] == ["video", "subtitle"]
        assert 6 <= container.duration / 1e6 < 10


def test_clips_of_several_videos_are_in_a_folder_each(both, tmp_path):
    folder = both.save(tmp_path / "x", formats=["clips-exact"])
    assert {path.name for path in (folder / "clips").iterdir()} == {"clip.mp4", "other.mp4"}
    for path in (folder / "clips").rglob("*.mp4"):
        if path.is_file():
            with av.open(str(path)) as container:
                assert 0 < container.duration / 1e6 <= 40
