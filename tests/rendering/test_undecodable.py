"""Frames that the index has but that can't be decoded for the exhibit: left out everywhere, with a warning."""

import json
from dataclasses import replace

import av
import numpy as np
import pytest

import framesift as fs
from framesift.pipeline import PreparedVideo
from framesift.rendering import rendered_selection
from framesift.store.events import FoundEvents
from framesift.video.frames import fetch_available
from helpers.clips import two_colours, write_frames
from helpers.encoders import GridEncoder

LOST = [2.0, 2.5, 3.0, 3.5]
WARNING = (
    "4 selected frames are left out, because the video can't be decoded there: 0:00:02, 0:00:02.5, 0:00:03, 0:00:03.5"
)


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """A clip with a keyframe every second, and one with the packets of seconds 2 and 3 overwritten."""
    folder = tmp_path_factory.mktemp("video")
    colours = np.random.default_rng(0).integers(0, 256, (6, 2, 3), dtype=np.uint8)
    frames = [two_colours(colours[k // 10], k) for k in range(60)]
    options = {"g": "10", "x264-params": "keyint=10:scenecut=0:bframes=0"}
    clip = write_frames(folder / "clip.mp4", frames, fps=10, codec="libx264", **options)
    data = bytearray(clip.read_bytes())
    with av.open(str(clip)) as container:
        packets = [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]
    for position, size in packets[20:40]:
        data[position : position + size] = bytes(size)
    damaged = folder / "damaged.mp4"
    damaged.write_bytes(data)
    return clip, damaged


@pytest.fixture(scope="module")
def index(video, tmp_path_factory):
    """The index of the sound clip, with a warning as the index of a damaged one has."""
    made = fs.index(video[0], GridEncoder(), 2.0, store=tmp_path_factory.mktemp("store"))
    return replace(made, warnings=("damaged",))


def select(index, budget=12, **options):
    return fs.select(index, "Which colour?", budget=budget, method="uniform", encoder=GridEncoder(), **options)


def test_frames_that_can_not_be_decoded_are_left_out_everywhere(video, index, tmp_path):
    selection = select(index)
    shown = fs.exhibit(video[1], selection)
    times_s = [time_s for time_s in selection.times_s if time_s not in LOST]
    assert len(times_s) == 8 and shown.selection.times_s == times_s
    assert shown.selection.warnings == ("damaged", WARNING)
    assert len(shown) == len(shown.frames) == len(list(shown.pictures())) == 8
    assert shown.numbers == tuple(round(time_s * 10) for time_s in times_s)
    saved = shown.save(tmp_path / "out", formats=["frame_idx"])
    written = json.loads((saved / "selection.json").read_text())
    assert [slot["time_s"] for slot in written["slots"]] == times_s
    assert written["warnings"] == ["damaged", WARNING]
    assert len(list((saved / "frames").iterdir())) == 8
    assert "4 selected frames are left out" in (saved / "report.html").read_text()


class FrameListReader:
    """A reader that returns the frames it was given."""

    name = "frames"

    def answer(self, exhibit, question, text_mode="aligned"):
        assert len(list(exhibit.pictures())) == len(exhibit.numbers)
        return fs.Answer("", None, "", times_s=tuple(exhibit.selection.times_s), frames=exhibit.numbers)


def test_reader_sees_the_frames_that_are_left(video, index):
    shown = fs.exhibit(video[1], select(index))
    answer = fs.ask(shown, fs.Question("Which colour?", options=["red", "blue"]), reader=FrameListReader())
    assert list(answer.times_s) == shown.selection.times_s and answer.frames == shown.numbers


def test_pipeline_leaves_them_out_too(video, index):
    pipeline = fs.Pipeline(fs.PipelineConfig(encoder=GridEncoder(), fps=2.0, budget=12, method="uniform"))
    prepared = PreparedVideo(video[1], index, FoundEvents((), (), (), 6.0))
    shown = pipeline.exhibit(prepared, pipeline.select(prepared, "Which colour?"))
    assert len(shown) == 8 and shown.selection.warnings == ("damaged", WARNING)


def test_alternatives_that_can_not_be_decoded_have_no_image(video, index, tmp_path):
    selection = select(index)
    slots = tuple(slot for slot in selection.slots if slot.time_s in (0.0, 5.5))
    saved = fs.exhibit(video[1], replace(selection, slots=slots)).save(tmp_path / "out")
    assert len(list((saved / "frames").iterdir())) == 2


def test_report_of_every_method_is_written_without_them(video, index, tmp_path):
    events = [fs.Event(2.0, 3.0, "a red wall"), fs.Event(4.0, 5.0, "a blue wall")]
    for method in ("gcr", "aks", "topk", "mdp3"):
        selection = fs.select(index, "Which wall?", events=events, budget=8, method=method, encoder=GridEncoder())
        saved = fs.exhibit(video[1], selection).save(tmp_path / method)
        left = [time_s for time_s in selection.times_s if time_s not in LOST]
        assert len(list((saved / "frames").iterdir())) == len(left)


def test_selection_of_such_frames_alone_is_an_error(video, index):
    selection = select(index)
    slots = tuple(slot for slot in selection.slots if slot.time_s in LOST)
    with pytest.raises(fs.InputError, match="none of the selected frames can be decoded"):
        fs.exhibit(video[1], replace(selection, slots=slots))


def test_video_without_warnings_is_decoded_only_for_its_images(video, index, monkeypatch):
    monkeypatch.setattr(rendered_selection, "fetch_available", lambda *_, **__: pytest.fail("decoded"))
    assert len(fs.exhibit(video[0], select(replace(index, warnings=())))) == 12


def test_selected_frames_are_decoded_once(video, index, tmp_path, monkeypatch):
    fetched_s = []

    def count(path, times_s, **options):
        fetched_s.extend(times_s)
        return fetch_available(path, times_s, **options)

    monkeypatch.setattr(rendered_selection, "fetch_available", count)
    events = [fs.Event(2.0, 3.0, "a red wall"), fs.Event(4.0, 5.0, "a blue wall")]
    selection = fs.select(index, "Which wall?", events=events, budget=4, encoder=GridEncoder())
    shown = fs.exhibit(video[1], selection)
    shown.save(tmp_path / "out")
    assert shown.selection.times_s
    assert all(fetched_s.count(time_s) == 1 for time_s in shown.selection.times_s)
